"""The records that flow through the walk suite -> cases -> plan -> build -> verify -> measure -> results.

All are frozen. Times are in seconds and sizes in bytes, with the unit in the name. Files under kernels/ import these
names from `kernelbench`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kernelbench.core.cost_model import Constant as Constant  # noqa: PLC0414
from kernelbench.core.cost_model import CostModel as CostModel  # noqa: PLC0414
from kernelbench.core.counters import LaunchCounters
from kernelbench.core.gpu import DeviceProperties as DeviceProperties  # noqa: PLC0414 - plans import their words from here
from kernelbench.core.launching import HostCall as HostCall  # noqa: PLC0414
from kernelbench.core.launching import Launch as Launch  # noqa: PLC0414
from kernelbench.core.launching import LaunchPlan as LaunchPlan  # noqa: PLC0414
from kernelbench.core.launching import Scalar as Scalar  # noqa: PLC0414
from kernelbench.core.launching import TensorMap as TensorMap  # noqa: PLC0414
from kernelbench.core.operations import BROADCAST as BROADCAST  # noqa: PLC0414
from kernelbench.core.operations import FLOATS as FLOATS  # noqa: PLC0414
from kernelbench.core.operations import Array as Array  # noqa: PLC0414
from kernelbench.core.operations import Arrays as Arrays  # noqa: PLC0414
from kernelbench.core.operations import ArraySpec as ArraySpec  # noqa: PLC0414
from kernelbench.core.operations import Case as Case  # noqa: PLC0414
from kernelbench.core.operations import Operation as Operation  # noqa: PLC0414
from kernelbench.core.operations import Reference as Reference  # noqa: PLC0414
from kernelbench.core.operations import SpecialValues as SpecialValues  # noqa: PLC0414
from kernelbench.core.operations import Tolerance as Tolerance  # noqa: PLC0414
from kernelbench.core.operations import by_element as by_element  # noqa: PLC0414
from kernelbench.core.operations import quarter_of_range as quarter_of_range  # noqa: PLC0414
from kernelbench.core.operations import root_of_range as root_of_range  # noqa: PLC0414
from kernelbench.core.operations import x_to_y as x_to_y  # noqa: PLC0414
from kernelbench.core.operations import x_to_y_by_element as x_to_y_by_element  # noqa: PLC0414
from kernelbench.core.parts import PART, Step
from kernelbench.core.tensor_maps import Tiling as Tiling  # noqa: PLC0414
from kernelbench.core.tunable import Tunable as Tunable  # noqa: PLC0414

# ---- Requests ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Suite:
    """The contents of a suite file: its cases and implementations."""

    name: str  # the file's stem
    path: Path
    title: str
    operation: str  # '' for a step, whose parts have one each
    cases: tuple[Case, ...]
    implementations: tuple[str, ...]
    baseline: str | None = None  # an implementation's name
    claims: tuple[str, ...] = ()  # ids of the ledger
    description: str = ""
    caches: tuple[str, ...] = ("cold", "warm")
    step: Step | None = None
    whole: Suite | None = None  # the suite of the file, where --only, --filter or the user's kernels changed it

    def names_for(self, case: Case) -> tuple[str, ...]:
        """The implementations that run this case: all of them, or in a step those of the case's part."""
        if self.step is None:
            return self.implementations
        own = {name for part in self.step.parts if part.name == dict(case.axes).get(PART) for name in part.names}
        return tuple(name for name in self.implementations if name in own)


# ---- Implementations -----------------------------------------------------------------------------


WRITTEN_HERE = "written here"  # the origin of our own


@dataclass(frozen=True)
class Origin:
    """The source of an implementation's algorithm."""

    project: str  # "Oneflow-Inc/oneflow", WRITTEN_HERE
    url: str = ""
    commit: str = ""
    differs: str = ""  # differences from the original, and why


@dataclass(frozen=True)
class Deviation:
    """Inputs for which an implementation differs from the operation by design; it is not verified or timed on them."""

    inputs: str  # a distribution, or "nan" or "inf" where one such element suffices
    reason: str  # what it gives and why; its origin states this too


Plan = Callable[..., LaunchPlan]  # called with (Case, DeviceProperties), and by keyword with what `tunable` names
# prepare(case, arrays, stream): `arrays` are device arrays with __cuda_array_interface__ (bfloat16 as uint16), `stream`
# is a cudaStream_t as int. It returns the call to be timed. If that call returns arrays, they are outputs by name that
# it allocated itself instead of writing into `arrays`.
Prepare = Callable[[Case, Arrays, int], Callable[[], Arrays | None]]


@dataclass(frozen=True)
class Implementation:
    """One way to compute an operation: a .cu with a plan, or a library call (`prepare`).

    Modules under kernels/<operation>/ end with `IMPLEMENTATIONS = (...)`; the catalog adds `operation`
    and `source`, the .cu of the same stem, unless the module names another, which several may share.
    """

    name: str
    summary: str
    origin: Origin
    plan: Plan | None = None
    prepare: Prepare | None = None
    arithmetic: Literal["accurate", "fast"] = "accurate"
    role: Literal["kernel", "peer", "yardstick", "specimen"] = "kernel"
    extra_tolerance: Tolerance | None = None  # deviation of the published arithmetic by design, stated in origin
    reference: Reference | None = None  # for a yardstick, which does not compute the operation
    deviations: tuple[Deviation, ...] = ()
    tunable: Tunable | None = None  # the empirical arguments of its plan
    operation: str = ""
    source: Path | None = None
    other_sources: tuple[str, ...] = ()  # names of .cu files beside `source` from which some of its plans are built

    def __post_init__(self) -> None:
        if (self.plan is None) == (self.prepare is None):
            raise ValueError(f"implementation '{self.name}' needs exactly one of plan and prepare")

    @property
    def is_library(self) -> bool:
        """Whether it is a peer that somebody else wrote: its own rounding is a grade, not a fault."""
        return self.role == "peer" and self.origin.project != WRITTEN_HERE

    def deviation(self, inputs: str) -> str:
        """Why it is not right on these inputs; '' if it is."""
        return next((one.reason for one in self.deviations if one.inputs == inputs), "")


# ---- Results -------------------------------------------------------------------------------------


# States of the cache, and the timing methods by which implementations are compared: always the same on all sides.
Cache = Literal["cold", "warm"]
CACHES: tuple[Cache, ...] = ("cold", "warm")
METHODS = ("graph", "events")  # preferred first: graphs carry no event overhead


def shared_method(*timed: Container[str]) -> str | None:
    """The preferred method among those by which every side was timed; None if there is none."""
    return next((method for method in METHODS if all(method in methods for methods in timed)), None)


@dataclass(frozen=True)
class EntryFacts:
    """Facts about one kernel from ptxas and the PTX."""

    entry: str
    registers: int
    shared_bytes: int  # static
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    parameter_loads: tuple[int, ...]  # by parameter: global load instructions whose address comes from it
    parameter_stores: tuple[int, ...]


@dataclass(frozen=True)
class Binary:
    """A compiled .cu: the cubin (or PTX) image in the cache, how it was made, and its facts."""

    key: str  # hash of everything it was made from
    path: Path
    ptx_path: Path
    architecture: str
    command: tuple[str, ...]
    facts: Mapping[str, EntryFacts]  # by entry
    cached: bool  # found in the cache

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
    max_absolute_error: float | None  # None where the output has NaN and the reference a number
    max_relative_error: float | None
    tolerance: Tolerance
    message: str = ""  # the first error: "y[0, 17]: got nan, expected 0.0021"
    max_error_ulp: float | None = None  # in ulp of the output's type
    grade: str = ""  # of a library beyond the tolerance that passed by the wider bound: how far it is off
    share_of_tolerance: float | None = None  # the largest error over what the tolerance allows its element


Stopped = Literal["precise", "time limit", "sample limit"]  # why no more samples were taken


@dataclass(frozen=True)
class Measurement:
    """Times of one implementation on one case, one sample per round."""

    cache: Cache
    method: Literal["events", "graph"]
    samples_s: tuple[float, ...]
    rounds: tuple[int, ...]  # the round of each sample
    median_s: float
    low_s: float  # 95 % interval of the median
    high_s: float
    stopped: Stopped
    sm_clock_hz: float | None = None
    power_w: float | None = None
    energy_j: float | None = None  # per call, of the whole board, back to back
    temperature_c: float | None = None
    throttle: str = ""  # NVML's reasons during the samples, "" for none
    disturbed: str = ""  # which samples were disturbed, kept because too few others were had; "" for none


Status = Literal["ok", "wrong", "failed", "unsupported", "skipped"]


@dataclass(frozen=True)
class Planned:
    """One implementation of one case: its plan (None for a library call), or the reason why it has none."""

    implementation: Implementation
    plan: LaunchPlan | None = None
    binary: Binary | None = None  # after the build
    status: Status = "ok"
    reason: str = ""
    tuned: Mapping[str, int] = field(default_factory=dict, hash=False)  # arguments of the plan from a table


@dataclass(frozen=True)
class CasePlan:
    case: Case
    planned: tuple[Planned, ...]
    inputs: tuple[str, ...] = ()  # names of the input arrays


@dataclass(frozen=True)
class Result:
    """One implementation on one case: measured or counted, or the reason why not."""

    case: Case
    implementation: Implementation
    status: Status
    reason: str = ""
    plan: LaunchPlan | None = None
    binary: Binary | None = None
    check: Check | None = None
    measurements: tuple[Measurement, ...] = ()
    counters: tuple[LaunchCounters, ...] = ()  # per launch of the plan, if it ran on the simulator


@dataclass(frozen=True)
class Limits:
    """Floor and ceilings of this GPU, measured once per run."""

    floor_s: float  # an empty kernel between two events, cold
    graph_floor_s: float  # an empty kernel by the graph method
    dram_bytes_per_s: float  # the best of several copies far larger than the L2
    dram_copy: str  # the name of that copy
    # The best of several kernels that only write, that read two bytes per byte written, and that only read.
    write_bytes_per_s: float | None = None
    add_bytes_per_s: float | None = None
    read_bytes_per_s: float | None = None
    l2_bytes_per_s: float | None = None  # the best of several kernels that read, write or copy what the L2 holds

    def ceiling_bytes_per_s(self, read_share: float) -> float:
        """The DRAM bandwidth for work that reads this share of its bytes, interpolated between the measured rates."""
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
