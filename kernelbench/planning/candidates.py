"""Results of a search for launch parameters, as records: candidates with their times, and the entry of the table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kernelbench.core.records import Status
from kernelbench.planning.tuned import TunedEntry

# `left out`: the time limit was reached before its turn.
CandidateStatus = Literal["ok", "wrong", "failed", "unsupported", "skipped", "left out"]


@dataclass(frozen=True)
class Candidate:
    """Values for the arguments of a plan, and their result beside that of the plan's rule, from the same rounds."""

    values: Mapping[str, int]  # empty for the rule
    status: CandidateStatus = "ok"
    reason: str = ""
    seconds: float | None = None  # cold median
    share: float | None = None  # over the rule's time
    low: float | None = None  # 95 % interval of the share
    high: float | None = None
    final: bool = False  # measured again beside the rule, with as many samples as a row
    method: str = ""  # that measured `seconds`: graph or events


@dataclass(frozen=True)
class Tuned:
    """The search for one implementation on one case."""

    gpu: str
    operation: str
    implementation: str
    case: str  # its key
    size: int  # number of candidates
    candidates: tuple[Candidate, ...] = ()  # the rule first
    alike: int = 0  # further candidates with the same launches as the rule or another candidate
    complete: bool = False  # whether the search ended before its time limit
    entry: TunedEntry | None = None  # for the table; None if too little was measured
    status: Status = "ok"  # of the rule
    reason: str = ""  # why there was no search

    @property
    def failed(self) -> bool:
        """Whether the rule is broken, or a candidate gives wrong numbers."""
        return self.status in ("failed", "wrong") or any(one.status == "wrong" for one in self.candidates)
