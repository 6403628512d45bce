"""Records of the explanation of a case: metrics that differ, sentences, bounds, and published statements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelbench.core.counters import Counters
from kernelbench.core.hardware_counters import CountedLaunch
from kernelbench.core.units import time_text
from kernelbench.explain.counted import Counted
from kernelbench.explain.evidence import Evidence


@dataclass(frozen=True)
class Link:
    """A published explanation to which a sentence is relevant."""

    claim: str  # id in the ledger
    decision: str  # confirmed or contradicted


@dataclass(frozen=True)
class Sentence:
    """The sentence of one rule about one implementation, without its name."""

    rule: str
    implementation: str
    text: str
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Bound:
    """A lower bound on the time: that of the resource that needs longest, used without a pause."""

    seconds: float
    resource: str  # "DRAM bytes"
    gpu: str
    issue_seconds: float | None = None  # to issue the instructions of the PTX; not a bound, see explain/bounds.py

    def __str__(self) -> str:
        return f"takes at least {time_text(self.seconds)} on {self.gpu} ({self.resource})"


@dataclass(frozen=True)
class Line:
    """One line of a .cu or header, with its counters over all launches."""

    number: int
    text: str  # '' if the file cannot be read
    counters: Counters
    top: bool = False  # among the costliest


@dataclass(frozen=True)
class SourceListing:
    """The lines of one file that have counters for one implementation."""

    implementation: str
    path: Path
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class CaseExplanation:
    """One case: the counts of its implementations, the metrics that differ, and the conclusions."""

    case: str  # key
    counted: Mapping[str, Counted]
    metrics: tuple[str, ...]  # metrics that differ, in the order of counted.METRICS
    sentences: tuple[Sentence, ...]
    bounds: Mapping[str, Bound]
    evidence: tuple[Evidence, ...]
    missing: Mapping[str, str] = field(default_factory=dict)  # implementations that were not counted, with the reason
    listings: Sequence[SourceListing] = ()
    suite: str = ""
    launches: Sequence[CountedLaunch] = ()  # with hardware counters, where they were asked for
    unavailable: str = ""  # why there are no hardware counters
