"""The records that flow through the walk suite -> cases -> plan -> build -> verify -> measure -> results.

All are frozen; times are seconds, sizes bytes, with the unit in the name. Files under kernels/ import
only this module, `kernelbench.errors`, `kernelbench.dtypes` and NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kernelbench import dtypes
from kernelbench.counters import LaunchCounters
from kernelbench.errors import Unsupported
from kernelbench.gpu import DeviceProperties as DeviceProperties  # noqa: PLC0414 - plans import their words from here
from kernelbench.launching import HostCall as HostCall  # noqa: PLC0414
from kernelbench.launching import Launch as Launch  # noqa: PLC0414
from kernelbench.launching import LaunchPlan as LaunchPlan  # noqa: PLC0414
from kernelbench.launching import Scalar as Scalar  # noqa: PLC0414
from kernelbench.parts import Step

Array = Any  # a numpy or cupy array
Arrays = Mapping[str, Array]  # by name, as an operation's `arrays` names them


# ---- What is asked -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One shape, axis, dtype and set of parameters of an operation."""

    operation: str
    shape: tuple[int, ...]
    axis: int  # as written in the suite: -1 is the last
    dtype: str
    axes: tuple[tuple[str, int | str], ...] = ()  # values of the suite's axes, ("seq", 512); of a step ("part", "relu")
    parameters: tuple[tuple[str, int | float | str | bool], ...] = ()  # of the operation, ("scale", 0.125)

    @cached_property
    def key(self) -> str:
        """The case as one text, unique within a suite: used in CSV, --filter and --resume."""
        words = [f"{name}={value}" for name, value in self.axes]
        words += [f"shape={'x'.join(map(str, self.shape))}", f"axis={self.axis}", f"dtype={self.dtype}"]
        words += [f"{name}={value}" for name, value in self.parameters]
        return " ".join(words)

    @cached_property
    def elements(self) -> int:
        return prod(self.shape)

    @cached_property
    def outer_dim_inner(self) -> tuple[int, int, int]:
        """The shape seen from its axis: elements before it, along it, after it."""
        axis = self.axis % len(self.shape)
        return prod(self.shape[:axis]), self.shape[axis], prod(self.shape[axis + 1 :])

    def parameter(self, name: str, default: Any) -> Any:
        return dict(self.parameters).get(name, default)

    def refuse(self, *names: str) -> None:
        """Unsupported if one of these parameters is set."""
        for name in names:
            if self.parameter(name, False):
                raise Unsupported(f"{name} is not supported")

    def rows_columns(self, max_rows: int | None = None, max_columns: int | None = None) -> tuple[int, int]:
        """The shape as rows along the last axis. Unsupported for another axis, or beyond a limit."""
        rows, columns, inner = self.outer_dim_inner
        if inner != 1:
            raise Unsupported(f"axis must be the last, got axis {self.axis} of {len(self.shape)}")
        if max_rows is not None and rows > max_rows:
            raise Unsupported(f"rows must be at most {max_rows}, got {rows}")
        if max_columns is not None and columns > max_columns:
            raise Unsupported(f"columns must be at most {max_columns}, got {columns}")
        return rows, columns


@dataclass(frozen=True)
class Suite:
    """A suite file, read: its cases and who runs them."""

    name: str  # the file's stem
    path: Path
    title: str
    operation: str  # '' of a step, whose parts have one each
    cases: tuple[Case, ...]
    implementations: tuple[str, ...]
    baseline: str | None = None  # an implementation's name
    claims: tuple[str, ...] = ()  # ids of the ledger
    description: str = ""
    caches: tuple[str, ...] = ("cold", "warm")
    step: Step | None = None

    def names_for(self, case: Case) -> tuple[str, ...]:
        """Who runs this case: every implementation, but of a step those of the case's part."""
        if self.step is None:
            return self.implementations
        own = {name for part in self.step.parts if part.case == case.key for name in part.names}
        return tuple(name for name in self.implementations if name in own)


# ---- What is computed ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ArraySpec:
    """One array of a case. Inputs are filled with random values, outputs poisoned before each check."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: Literal["input", "output"]
    fill: Literal["normal", "uniform", "mask", "bits"] = "normal"  # mask: 0 or 1, evenly; bits: uint8, any byte

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * dtypes.itemsize(self.dtype)


@dataclass(frozen=True)
class Tolerance:
    """|got - expected| <= absolute + relative * |expected|, elementwise."""

    relative: float
    absolute: float

    def plus(self, other: Tolerance | None) -> Tolerance:
        if other is None:
            return self
        return Tolerance(self.relative + other.relative, self.absolute + other.absolute)


# reference(xp, case, inputs): inputs are float64 arrays of xp (numpy or cupy) holding a slice of
# `Operation.split` rows; returns the float64 outputs of that slice by name.
Reference = Callable[[Any, Case, Arrays], Arrays]


@dataclass(frozen=True)
class Operation:
    """What is computed, whoever computes it. Defined once, in kernels/<operation>/operation.py."""

    name: str
    summary: str
    arrays: Callable[[Case], tuple[ArraySpec, ...]]  # raises Unsupported for a case that has no meaning
    reference: Reference
    bytes_moved: Callable[[Case], int]  # least traffic: each input read once, each output written once
    flops: Callable[[Case], int]
    tolerance: Callable[[Case], Tolerance]
    parameters: Mapping[str, Any] = field(default_factory=dict)  # name -> default; a suite may set these
    # Arrays whose first `split(case)` dimension is common to all arrays can be checked in slices of
    # it; every array is reshaped to [split, -1]. None: the arrays are checked whole.
    split: Callable[[Case], int] | None = None

    def read_share(self, case: Case) -> float:
        """Bytes of the inputs among those of all arrays."""
        specs = self.arrays(case)
        return sum(one.nbytes for one in specs if one.role == "input") / sum(one.nbytes for one in specs)


# ---- One way to compute it -----------------------------------------------------------------------


@dataclass(frozen=True)
class Origin:
    """Whose algorithm an implementation is."""

    project: str  # "Oneflow-Inc/oneflow", "written here"
    url: str = ""
    commit: str = ""
    differs: str = ""  # what is not as in the original, and why


Plan = Callable[[Case, DeviceProperties], LaunchPlan]
# prepare(case, arrays, stream): `arrays` are device arrays with __cuda_array_interface__ (bfloat16 as
# uint16), `stream` a cudaStream_t as int. Returns the call to be timed; what that call returns, if
# not None, are outputs by name that it allocated itself instead of writing into `arrays`.
Prepare = Callable[[Case, Arrays, int], Callable[[], Arrays | None]]


@dataclass(frozen=True)
class Implementation:
    """One way to compute an operation: a .cu with a plan, or a library call (`prepare`).

    Modules under kernels/<operation>/ end with `IMPLEMENTATIONS = (...)`; the catalog adds
    `operation` and `source` (the .cu of the same stem).
    """

    name: str
    summary: str
    origin: Origin
    plan: Plan | None = None
    prepare: Prepare | None = None
    arithmetic: Literal["accurate", "fast"] = "accurate"
    role: Literal["kernel", "peer", "yardstick", "specimen"] = "kernel"
    extra_tolerance: Tolerance | None = None  # what the published arithmetic deviates by design, stated in origin
    reference: Reference | None = None  # a yardstick computes something else than the operation
    operation: str = ""
    source: Path | None = None

    def __post_init__(self) -> None:
        if (self.plan is None) == (self.prepare is None):
            raise ValueError(f"implementation '{self.name}' needs exactly one of plan and prepare")


# ---- What came out -------------------------------------------------------------------------------


@dataclass(frozen=True)
class EntryFacts:
    """What compiler and PTX say about one kernel."""

    entry: str
    registers: int
    shared_bytes: int  # static
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    parameter_loads: tuple[int, ...]  # by parameter: global load instructions whose address comes from it
    parameter_stores: tuple[int, ...]
    machine_code: str = ""  # where its memory instructions are not those of the PTX; "not available: .." if unknown


@dataclass(frozen=True)
class Binary:
    """A compiled .cu: the cubin (or PTX) image in the cache, how it was made, and its facts."""

    key: str  # hash of all that went into it
    path: Path
    ptx_path: Path
    architecture: str
    command: tuple[str, ...]
    facts: Mapping[str, EntryFacts]  # by entry
    cached: bool  # found in the cache, not compiled now

    @property
    def short_key(self) -> str:
        return self.key[:16]


@dataclass(frozen=True)
class Check:
    """One verification of all outputs against the float64 reference."""

    passed: bool
    seed: int
    elements: int
    mismatches: int
    max_absolute_error: float | None  # None where the output holds NaN against a finite reference
    max_relative_error: float | None
    tolerance: Tolerance
    message: str = ""  # what is wrong, where first: "y[0, 17]: got nan, expected 0.0021"


@dataclass(frozen=True)
class Measurement:
    """Times of one implementation on one case, one sample a round."""

    cache: Literal["cold", "warm"]
    method: Literal["events", "graph"]
    samples_s: tuple[float, ...]
    rounds: tuple[int, ...]  # the round that each sample was taken in
    median_s: float
    low_s: float  # 95 % interval of the median
    high_s: float
    stopped: Literal["precise", "time limit", "sample limit"]
    sm_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    throttle: str = ""  # NVML's reasons while measuring, "" for none


Status = Literal["ok", "wrong", "failed", "unsupported", "skipped"]


@dataclass(frozen=True)
class Result:
    """One case on one implementation: measured or counted, or the reason why not."""

    case: Case
    implementation: Implementation
    status: Status
    reason: str = ""
    plan: LaunchPlan | None = None
    binary: Binary | None = None
    check: Check | None = None
    measurements: tuple[Measurement, ...] = ()
    counters: tuple[LaunchCounters, ...] = ()  # of each launch of the plan, where it ran on the simulator


@dataclass(frozen=True)
class Limits:
    """Floor and ceilings of this GPU, measured once a run."""

    floor_s: float  # an empty kernel between two events, cold
    graph_floor_s: float  # an empty kernel by the graph method
    dram_bytes_per_s: float  # the best of several copies far larger than the L2
    dram_copy: str  # which copy that was
    # The best of several kernels that write only, read two bytes for each that they write, and read only.
    write_bytes_per_s: float | None = None
    add_bytes_per_s: float | None = None
    read_bytes_per_s: float | None = None

    def ceiling_bytes_per_s(self, read_share: float) -> float:
        """The rate of DRAM for work of which that share of the bytes is read; between those measured, on a line."""
        rates = ((0, self.write_bytes_per_s), (1 / 2, self.dram_bytes_per_s), (2 / 3, self.add_bytes_per_s),
                 (1, self.read_bytes_per_s))  # fmt: skip
        known = [(share, rate) for share, rate in rates if rate is not None]
        return float(np.interp(read_share, [share for share, _ in known], [rate for _, rate in known]))


@dataclass(frozen=True)
class Claim:
    """A published comparison: an entry of the ledger (results/published/<id>.yaml)."""

    id: str
    title: str
    kind: str
    suites: tuple[str, ...]
    document: Mapping[str, Any]
