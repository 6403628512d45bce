"""What a search of launch parameters found, as records: candidates with their times, and what is kept of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kernelbench.core.records import Status
from kernelbench.planning.tuned import Entry

# `left out`: the time was up before its turn.
CandidateStatus = Literal["ok", "wrong", "failed", "unsupported", "skipped", "left out"]


@dataclass(frozen=True)
class Candidate:
    """Values for the arguments of a plan, and what came of them beside the plan's rule, in the same rounds."""

    values: Mapping[str, int]  # empty: the rule
    status: CandidateStatus = "ok"
    reason: str = ""
    seconds: float | None = None  # cold median
    share: float | None = None  # of the rule's time
    low: float | None = None  # 95 % interval of the share
    high: float | None = None
    final: bool = False  # measured again beside the rule, with all samples of a row


@dataclass(frozen=True)
class Tuned:
    """One case of one implementation, searched."""

    gpu: str
    operation: str
    implementation: str
    case: str  # its key
    size: int  # candidates that there are
    candidates: tuple[Candidate, ...] = ()  # the rule first
    alike: int = 0  # further candidates, launched as the rule or another candidate is
    complete: bool = False  # whether the search came to its end before its time was up
    entry: Entry | None = None  # for the table; None where too little was measured to say anything
    status: Status = "ok"  # of the rule
    reason: str = ""  # why nothing could be searched

    @property
    def failed(self) -> bool:
        """Whether something is broken: the rule, or a candidate that gives wrong numbers."""
        return self.status in ("failed", "wrong") or any(one.status == "wrong" for one in self.candidates)
