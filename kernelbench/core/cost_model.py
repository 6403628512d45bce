"""A cost function that ranks the candidates of kernels, and what was measured of candidates to fit it.

Part of the records; files under kernels/ import them from `kernelbench`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.operations import Case


@dataclass(frozen=True)
class Constant:
    """A constant of a cost function: default value, unit, what it is, bounds of a fit."""

    value: float
    unit: str
    what: str
    least: float = 0.0  # with 0 and infinity, a fit keeps it near the value
    most: float = inf


@dataclass(frozen=True, eq=False)
class CostModel:
    """A cost function that ranks the candidates of kernels. Several kernels may share one.

    `quantities`: physical quantities of each candidate of a case, in the order of `Tunable.candidates`. `seconds`: the
    time that these quantities cost with constants by name; quantities are numbers, or arrays of as many candidates.
    """

    name: str
    constants: Mapping[str, Constant]
    quantities: Callable[[Case, DeviceProperties], Sequence[Mapping[str, float]]]
    seconds: Callable[[Mapping[str, Any], Mapping[str, float]], Any]

    @property
    def known(self) -> dict[str, float]:
        """The constants where nothing was fitted."""
        return {name: one.value for name, one in self.constants.items()}


@dataclass(frozen=True)
class CandidateTime:
    """One candidate of a case and its time, as recorded."""

    gpu: str
    kernel: str  # softmax/one_read_rows
    source: str  # hash of the kernel's source, see planning.tuned.source_hash
    case: str  # its key
    values: str  # see tunable.values_text
    is_rule: bool  # what the plan's own rule chooses
    status: str
    reason: str
    method: str  # graph or events; '' without a time
    seconds: float | None  # cold median
    floor_s: float | None  # of an empty kernel by this method
    noise: float | None  # half the 95 % interval of its time over the rule's, as a share

    @property
    def net_s(self) -> float:
        """The time beyond an empty kernel's."""
        assert self.seconds is not None
        return max(1e-8, self.seconds - (self.floor_s or 0.0))


Sample = tuple[CandidateTime, Mapping[str, float]]  # with the quantities of the candidate
