"""Rows of results.csv as records, into which a run on disk is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import isfinite
from typing import Annotated, Any, get_args, get_type_hints

from kernelbench.core import columns, dtypes
from kernelbench.core.columns import Count, Number, csv_column
from kernelbench.core.counters import Counters
from kernelbench.core.launch_texts import MOST_DIGITS, read_launch
from kernelbench.core.operations import key_words, read_shape
from kernelbench.core.records import Launch, Status

# Counters with a column of their own; results.csv has thread_instructions as lanes_per_instruction.
COUNTER_COLUMNS = tuple(one.name for one in fields(Counters) if one.name != "thread_instructions")


@dataclass(frozen=True)
class Row:
    """An implementation on a case: measured, with one cache state and one method, or counted, or the reason why not.

    A column of results.csv is a field of this class, or a counter of the simulator; a cell is empty where it is None.
    A field named like one of `Measurement` or `Check` takes its value from there; `rows.py` makes the others.
    """

    suite: Annotated[str, csv_column("name of the suite")]
    case: Annotated[str, csv_column("key of the case, unique within the suite")]
    operation: Annotated[str, csv_column("name of the operation")]
    shape: Annotated[tuple[int, ...], csv_column("extents, as 32x64x16x16")]
    axis: Annotated[int, csv_column("axis of the operation, as in the suite", negative=True)]
    dtype: Annotated[str, csv_column("element type", choices=dtypes.NAMES)]
    axes: Annotated[str, csv_column("values of the suite's axes, as seq=16")]
    implementation: Annotated[str, csv_column("name of the implementation")]
    role: Annotated[
        str, csv_column("kernel, peer, yardstick or specimen", choices=("", "kernel", "peer", "yardstick", "specimen"))
    ]
    arithmetic: Annotated[str, csv_column("accurate or fast", choices=("", "accurate", "fast"))]
    status: Annotated[str, csv_column("ok, wrong, failed, unsupported or skipped", choices=get_args(Status))]
    reason: Annotated[str, csv_column("why there is no time, or a remark on it", any_length=True)] = ""
    cache: Annotated[
        str,
        csv_column(
            "cold: L2 cleared before every sample; warm: L2 with the kernel's own data", choices=("", "cold", "warm")
        ),
    ] = ""
    method: Annotated[
        str,
        csv_column(
            "events: two events around the launch; graph: difference of two graphs", choices=("", "events", "graph")
        ),
    ] = ""
    samples: Annotated[Count, csv_column("number of samples")] = None
    median_s: Annotated[Number, csv_column("median time", "s")] = None
    low_s: Annotated[Number, csv_column("lower end of the 95 % interval of the median", "s")] = None
    high_s: Annotated[Number, csv_column("upper end of the 95 % interval of the median", "s")] = None
    min_s: Annotated[Number, csv_column("shortest sample", "s", negative=True)] = None
    p5_s: Annotated[Number, csv_column("5th percentile of the samples", "s", negative=True)] = None
    p95_s: Annotated[Number, csv_column("95th percentile of the samples", "s")] = None
    stopped: Annotated[str, csv_column("why sampling ended: precise, sample limit or time limit")] = ""
    bytes_moved: Annotated[Count, csv_column("least traffic: each input read once, each output written once", "B")] = (
        None
    )
    bandwidth_bytes_per_s: Annotated[Number, csv_column("bytes_moved / median_s", "B/s")] = None
    share_of_ceiling: Annotated[
        Number, csv_column("bandwidth over the bandwidth of the best copy on this GPU in this run")
    ] = None
    floor_limited: Annotated[str, csv_column("yes: median below 3 times the time of an empty kernel")] = ""
    check: Annotated[
        str,
        csv_column(
            "passed, failed, graded (a library that is off by its own rounding), or empty where nothing was checked",
            choices=("", "passed", "graded", "failed"),
        ),
    ] = ""
    max_absolute_error: Annotated[Number, csv_column("largest |got - expected| over all elements", infinite=True)] = (
        None
    )
    max_relative_error: Annotated[
        Number, csv_column("largest |got - expected| / |expected| over all elements", infinite=True)
    ] = None
    max_error_ulp: Annotated[
        Number,
        csv_column(
            "largest |got - expected| over the spacing of the output's type at expected", infinite=True, later=True
        ),
    ] = None
    relative_tolerance: Annotated[Number, csv_column("allowed |got - expected| / |expected|", infinite=True)] = None
    absolute_tolerance: Annotated[Number, csv_column("allowed |got - expected| in addition", infinite=True)] = None
    seed: Annotated[Count, csv_column("seed of the random inputs that were timed")] = None
    launch_texts: Annotated[
        tuple[str, ...],
        csv_column(
            "each launch as entry<<<grid, block, shared bytes>>>, separated by ;", name="launches", any_length=True
        ),
    ] = ()
    registers: Annotated[Count, csv_column("registers per thread, the most of all launches")] = None
    static_shared_bytes: Annotated[
        Count, csv_column("static shared memory per block, the most of all launches", "B")
    ] = None
    spill_bytes: Annotated[Count, csv_column("spill stores plus loads per thread, the most of all launches", "B")] = (
        None
    )
    input_loads: Annotated[
        Mapping[str, int],
        csv_column("global load instructions per input, as x=4; 0: the input is never read", any_length=True),
    ] = field(default_factory=dict)
    binary: Annotated[str, csv_column("hash of the source, its headers, flags, architecture and compiler")] = ""
    sm_clock_hz: Annotated[Number, csv_column("SM clock during the row's samples", "Hz")] = None
    power_w: Annotated[
        Number,
        csv_column("power draw during the row's samples: of all implementations of the case, which take turns", "W"),
    ] = None
    temperature_c: Annotated[Number, csv_column("GPU temperature during the row's samples", "C", negative=True)] = None
    throttle: Annotated[str, csv_column("NVML's reasons for a lowered clock during the row's samples")] = ""
    energy_j: Annotated[
        Number,
        csv_column(
            "run --energy: energy per call of the whole board, while the kernel runs back to back", "J", later=True
        ),
    ] = None
    disturbed: Annotated[
        str,
        csv_column("samples that were kept although disturbed, as 12 of 40 samples beside another process", later=True),
    ] = ""
    sampled: str = ""  # "64 of 262144 blocks"
    least_conflict_ways: int | None = None  # None without bank conflicts
    most_conflict_ways: int | None = None
    counters: Counters | None = None  # over all launches; None if nothing was counted

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """Its launches, without arguments; calls of host code are left out."""
        return tuple(launch for text in self.launch_texts if (launch := read_launch(text)))

    @property
    def times(self) -> tuple[float, float, float] | None:
        """(low, median, high) of the 95 % interval; None for a row that was not timed."""
        if self.status != "ok" or not (self.low_s and self.median_s and self.high_s):
            return None
        return self.low_s, self.median_s, self.high_s

    @property
    def bytes_per_j(self) -> float | None:
        """Least traffic per joule; None where no energy was measured."""
        return self.bytes_moved / self.energy_j if self.bytes_moved and self.energy_j else None

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The words of the key of the case, by name: axes, shape, axis, dtype, parameters, inputs."""
        return key_words(self.case)


def row_of(values: Mapping[str, Any]) -> Row:
    """The record of a checked row. `values`: by column, texts as str, numbers as float, empty cells as None."""
    cells = {name: values[name] for name in _PLAIN}
    cells |= {name: None if values[name] is None else round(values[name]) for name in WHOLE}
    launches = values["launches"]
    return Row(
        **cells,
        shape=read_shape(values["shape"]),
        launch_texts=tuple(launches.split("; ")) if launches else (),
        input_loads=_loads(values["input_loads"]),
        counters=_counters(values),
    )


# results.csv: one row per case, implementation, cache and method. In a row without a measurement (status other than ok)
# cache and method are empty.
RESULTS = (*columns.columns_of(Row), *(replace(one, later=True) for one in columns.COUNTERS))

# The types of the fields say how cells are read: texts, whole numbers, and values taken as they are.
_TYPES = get_type_hints(Row)
TEXTS = (*(name for name, kind in _TYPES.items() if kind is str), "shape", "launches", "input_loads")
WHOLE = tuple(name for name, kind in _TYPES.items() if kind in (int, Count))
_PLAIN = tuple(name for name, kind in _TYPES.items() if kind in (str, Number))


def _loads(text: str) -> dict[str, int]:
    """`x=4 mask=0` as {"x": 4, "mask": 0}."""
    parts = (word.partition("=") for word in text.split())
    return {name: int(count) for name, _, count in parts if count.isdecimal() and len(count) <= MOST_DIGITS}


def _counters(values: Mapping[str, Any]) -> Counters | None:
    warps = values["warp_instructions"]
    if warps is None:
        return None
    threads = (values["lanes_per_instruction"] or 0) * warps
    return Counters(
        thread_instructions=round(threads) if isfinite(threads) else 0,
        **{name: round(values[name] or 0) for name in COUNTER_COLUMNS},
    )
