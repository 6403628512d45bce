"""Rows of results.csv as records: what a run on disk is read into, once."""

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
# Columns of whole numbers.
WHOLE = ("axis", "samples", "bytes_moved", "seed", "registers", "static_shared_bytes", "spill_bytes")
_MOST_DIGITS = 18  # of a count of loads; a file may say more


@dataclass(frozen=True)
class Row:
    """An implementation on a case: measured, with one cache state by one method, or counted, or the reason why not.

    Fields are called as their columns, and `core.columns` says what each means. None is an empty cell.
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
    launch_texts: tuple[str, ...] = ()  # each launch as it is written, or the call of host code in its place
    registers: int | None = None
    static_shared_bytes: int | None = None
    spill_bytes: int | None = None
    input_loads: Mapping[str, int] = field(default_factory=dict)  # by input
    binary: str = ""
    sm_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    throttle: str = ""
    disturbed: str = ""
    sampled: str = ""  # "64 of 262144 blocks"
    counters: Counters | None = None  # of all launches together; None where nothing was counted

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """Its launches, which are read without their arguments; a call of host code is none."""
        return tuple(launch for text in self.launch_texts if (launch := read_launch(text)))

    @property
    def times(self) -> tuple[float, float, float] | None:
        """The median between the ends of its interval; None for a row that was not timed."""
        if self.status != "ok" or not (self.low_s and self.median_s and self.high_s):
            return None
        return self.low_s, self.median_s, self.high_s

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The words of the case's key by their names: axes, shape, axis, dtype, parameters, inputs."""
        return key_words(self.case)


def row_of(values: Mapping[str, Any]) -> Row:
    """The record of a checked row. `values`: by column, texts as str and numbers as float, or None for an empty one."""
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


_PLAIN = tuple(
    one.name for one in fields(Row) if one.name not in (*WHOLE, "shape", "launch_texts", "input_loads", "counters")
)  # as they are read


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
