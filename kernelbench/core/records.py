"""The records that flow through the walk suite -> cases -> plan -> build -> verify -> measure -> results.

All are frozen; times are seconds, sizes bytes, with the unit in the name. Files under kernels/ import
these words from `kernelbench`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kernelbench.core.counters import LaunchCounters
from kernelbench.core.gpu import DeviceProperties as DeviceProperties  # noqa: PLC0414 - plans import their words from here
from kernelbench.core.launching import HostCall as HostCall  # noqa: PLC0414
from kernelbench.core.launching import Launch as Launch  # noqa: PLC0414
from kernelbench.core.launching import LaunchPlan as LaunchPlan  # noqa: PLC0414
from kernelbench.core.launching import Scalar as Scalar  # noqa: PLC0414
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
from kernelbench.core.tunable import Tunable as Tunable  # noqa: PLC0414

# ---- What is asked -------------------------------------------------------------------------------


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
    whole: Suite | None = None  # as its file has it, where --only, --filter or kernels of a user changed it

    def names_for(self, case: Case) -> tuple[str, ...]:
        """Who runs this case: every implementation, but of a step those of the case's part."""
        if self.step is None:
            return self.implementations
        own = {name for part in self.step.parts if part.name == dict(case.axes).get(PART) for name in part.names}
        return tuple(name for name in self.implementations if name in own)


# ---- One way to compute it -----------------------------------------------------------------------


WRITTEN_HERE = "written here"  # the origin of our own


@dataclass(frozen=True)
class Origin:
    """Whose algorithm an implementation is."""

    project: str  # "Oneflow-Inc/oneflow", WRITTEN_HERE
    url: str = ""
    commit: str = ""
    differs: str = ""  # what is not as in the original, and why


@dataclass(frozen=True)
class Deviation:
    """Where an implementation by design gives something else than the operation, and so is not verified or timed."""

    inputs: str  # a distribution; "nan" and "inf" where such an element alone brings it about
    reason: str  # what it gives and why; stated in its origin as well


Plan = Callable[..., LaunchPlan]  # of (Case, DeviceProperties), and of what `tunable` names by keyword
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
    deviations: tuple[Deviation, ...] = ()
    tunable: Tunable | None = None  # which arguments of its plan are empirical
    operation: str = ""
    source: Path | None = None

    def __post_init__(self) -> None:
        if (self.plan is None) == (self.prepare is None):
            raise ValueError(f"implementation '{self.name}' needs exactly one of plan and prepare")

    @property
    def is_library(self) -> bool:
        """Whether it is a peer that somebody else wrote: its own rounding is a grade, not a fault."""
        return self.role == "peer" and self.origin.project != WRITTEN_HERE

    def deviation(self, inputs: str) -> str:
        """Why it is not right on these inputs; '' where it is."""
        return next((one.reason for one in self.deviations if one.inputs == inputs), "")


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
    max_error_ulp: float | None = None  # in ulp of the output's type
    grade: str = ""  # of a library beyond the tolerance that passed by the wider bound: how far it is off


Stopped = Literal["precise", "time limit", "sample limit"]  # why no more samples were taken


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
    stopped: Stopped
    sm_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    throttle: str = ""  # NVML's reasons round the samples, "" for none
    disturbed: str = ""  # what some samples were taken under, where too few others could be had; "" for nothing


Status = Literal["ok", "wrong", "failed", "unsupported", "skipped"]


@dataclass(frozen=True)
class Planned:
    """One implementation of one case: its plan (None for a library call), or a refusal."""

    implementation: Implementation
    plan: LaunchPlan | None = None
    binary: Binary | None = None  # once it is built
    status: Status = "ok"
    reason: str = ""
    tuned: Mapping[str, int] = field(default_factory=dict, hash=False)  # arguments of the plan that a table gave


@dataclass(frozen=True)
class CasePlan:
    case: Case
    planned: tuple[Planned, ...]
    inputs: tuple[str, ...] = ()  # names of the arrays that are read


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
    l2_bytes_per_s: float | None = None  # the best of several kernels that read, write or copy what the L2 holds

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
