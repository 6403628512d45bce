"""Rows of results.csv as records, into which a run on disk is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isfinite
from typing import Any

from kernelbench.core.counters import Counters
from kernelbench.core.launch_texts import read_launch
from kernelbench.core.operations import key_words, read_shape
from kernelbench.core.records import Launch

# Counters with a column of their own; results.csv has thread_instructions as lanes_per_instruction.
COUNTER_COLUMNS = tuple(one.name for one in fields(Counters) if one.name != "thread_instructions")
_MOST_DIGITS = 18  # of a count of loads; a file may have longer numbers


@dataclass(frozen=True)
class Row:
    """An implementation on a case: measured, with one cache state and one method, or counted, or the reason why not.

    Fields have the names of their columns, which `core.columns` explains. None is an empty cell.
    """

    suite: str
    case: str  # its key
    operation: str
    shape: tuple[int, ...]
    axis: int
    dtype: str
    axes: str
    implementation: str
    role: str
    arithmetic: str
    status: str
    reason: str = ""
    cache: str = ""
    method: str = ""
    samples: int | None = None
    median_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    min_s: float | None = None
    p5_s: float | None = None
    p95_s: float | None = None
    stopped: str = ""
    bytes_moved: int | None = None
    bandwidth_bytes_per_s: float | None = None
    share_of_ceiling: float | None = None
    floor_limited: str = ""
    check: str = ""
    max_absolute_error: float | None = None
    max_relative_error: float | None = None
    max_error_ulp: float | None = None
    relative_tolerance: float | None = None
    absolute_tolerance: float | None = None
    seed: int | None = None
    launch_texts: tuple[str, ...] = ()  # each launch as written, or the call of host code
    registers: int | None = None
    static_shared_bytes: int | None = None
    spill_bytes: int | None = None
    input_loads: Mapping[str, int] = field(default_factory=dict)  # by input
    binary: str = ""
    sm_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    energy_j: float | None = None
    throttle: str = ""
    disturbed: str = ""
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


# The types of the fields say how cells are read: texts, whole numbers, and values taken as they are.
_TYPES = {one.name: one.type for one in fields(Row)}
TEXTS = (*(name for name, kind in _TYPES.items() if kind == "str"), "shape", "launches", "input_loads")
WHOLE = tuple(name for name, kind in _TYPES.items() if kind in ("int", "int | None"))
_PLAIN = tuple(name for name, kind in _TYPES.items() if kind in ("str", "float | None"))


def _loads(text: str) -> dict[str, int]:
    """`x=4 mask=0` as {"x": 4, "mask": 0}."""
    parts = (word.partition("=") for word in text.split())
    return {name: int(count) for name, _, count in parts if count.isdecimal() and len(count) <= _MOST_DIGITS}


def _counters(values: Mapping[str, Any]) -> Counters | None:
    warps = values["warp_instructions"]
    if warps is None:
        return None
    threads = (values["lanes_per_instruction"] or 0) * warps
    return Counters(
        thread_instructions=round(threads) if isfinite(threads) else 0,
        **{name: round(values[name] or 0) for name in COUNTER_COLUMNS},
    )
