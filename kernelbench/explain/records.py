"""What is said of a case after counting: numbers that differ, sentences, bounds, and what was published about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelbench.core.counters import Counters
from kernelbench.core.units import time_text
from kernelbench.explain.counted import Counted
from kernelbench.explain.evidence import Evidence


@dataclass(frozen=True)
class Link:
    """A published explanation that a sentence bears on."""

    claim: str  # id in the ledger
    decision: str  # confirmed or contradicted


@dataclass(frozen=True)
class Sentence:
    """What one rule says of one implementation, without its name."""

    rule: str
    implementation: str
    text: str
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Bound:
    """A time that no run can be below: the resource that needs longest, used without a pause."""

    seconds: float
    resource: str  # "DRAM bytes"
    gpu: str
    issue_seconds: float | None = None  # to issue as many instructions as the PTX has; no bound, see explain/bounds.py

    def __str__(self) -> str:
        return f"cannot be faster than {time_text(self.seconds)} on {self.gpu}: {self.resource}"


@dataclass(frozen=True)
class Line:
    """One line of a .cu or header, with what it cost over all launches."""

    number: int
    text: str  # '' where the file cannot be read
    counters: Counters
    top: bool = False  # among those that cost most


@dataclass(frozen=True)
class Listing:
    """The lines of one file that cost something for one implementation."""

    implementation: str
    path: Path
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class CaseExplanation:
    """One case: who was counted, which metrics differ, and what follows."""

    case: str  # key
    counted: Mapping[str, Counted]
    metrics: tuple[str, ...]  # those that differ, in the order of counted.METRICS
    sentences: tuple[Sentence, ...]
    bounds: Mapping[str, Bound]
    evidence: tuple[Evidence, ...]
    missing: Mapping[str, str] = field(default_factory=dict)  # who was not counted, and why
    listings: Sequence[Listing] = ()
