"""An implementation of a case while it is timed: its samples by cache state and method, and when they are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kernelbench.core import statistics
from kernelbench.core.contracts import Executable
from kernelbench.core.records import Check, Implementation, Measurement, Stopped
from kernelbench.measure.conditions import Watch
from kernelbench.measure.timing import GRAPH_REPEATS, EventTimer, GraphTimer

GRAPH_BELOW_S = 20e-6  # below this, events add 10 % or more to a kernel's time, so graphs are used as well
LONG_S = 1e-3  # above this, one pilot sample is enough, and a few samples that agree
# When the time of a case is up, a row of at least GRAPH_BELOW_S whose interval is still this many times too wide goes
# on without the others, for the same time again and up to this many times the samples.
POOR_WIDTHS, MORE_SAMPLES = 2, 4
BESIDE_GRAPH_WIDTH = 0.01  # of the interval of cold events, where a graph times the same kernel: that time is compared


@dataclass(frozen=True)
class Precision:
    """When a track has enough samples. Widths are relative to the median."""

    least_samples: int = 20
    long_samples: int = 7  # instead of least_samples, of a kernel above LONG_S; their interval is their range
    most_samples: int = 400
    interval_width: float = statistics.PRECISION  # of the median's 95 % interval
    seconds_per_case: float = 2.0  # unless least_samples take longer; imprecise rows get the same time again
    every_place: bool = True  # at least one sample per placement, below LONG_S

    def over(self, places: int) -> Precision:
        """The same for arrays at this many placements."""
        return replace(self, least_samples=max(self.least_samples, places)) if self.every_place else self

    @property
    def first_look(self) -> int:
        """Rounds before any track can have enough samples."""
        return min(self.least_samples, self.long_samples)

    def least(self, seconds: float) -> int:
        """Samples that a track of this median needs."""
        return self.first_look if seconds > LONG_S else self.least_samples


QUICK = Precision(least_samples=7, most_samples=50, interval_width=0.02, seconds_per_case=0.5, every_place=False)


@dataclass
class Contender:
    """One implementation of a case, executable at each placement, with its results so far."""

    implementation: Implementation
    executables: list[Executable]
    measurements: list[Measurement] = field(default_factory=list)
    check: Check | None = None  # of the last round
    failure: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class Track:
    """A contender with one cache state and method."""

    contender: Contender
    timer: EventTimer | GraphTimer
    samples: list[float] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    readings: list[int] = field(default_factory=list)  # number of the reading of conditions before each sample
    stopped: Stopped | None = None
    beside_graph: bool = False

    def kept(self, watch: Watch, least: int) -> list[int]:
        """Indices of the samples that count: the undisturbed ones, or all if those are too few."""
        good = [number for number, found in enumerate(watch.disturbances(self.readings)) if not found]
        return good if len(good) >= least else list(range(len(self.samples)))

    def least(self, precision: Precision, samples: Sequence[float]) -> int:
        """Samples that these, taken so far, show to be needed."""
        long = self.timer.method == "events" and len(samples) > 0
        return precision.least(statistics.median_interval(samples)[0]) if long else precision.least_samples

    def why_stop(self, samples: Sequence[float], precision: Precision, flush_s: float, late_s: float) -> Stopped | None:
        """Why sampling stops, or None. `samples`: the undisturbed ones; `flush_s`: the part of a graph's time that is
        not the kernel's; `late_s`: time since the time of the case was up."""
        graph = self.timer.method == "graph"
        poor = len(samples) < self.least(precision, samples)
        if not poor:
            median, low, high = statistics.median_interval(samples)
            own = median - flush_s if graph else median
            width = max(precision.interval_width, BESIDE_GRAPH_WIDTH if self.beside_graph else 0.0)
            if high - low <= max(width * own, 1.01 * self.timer.clock.resolution_s):
                return "precise"
            poor = high - low > POOR_WIDTHS * width * own
            poor = poor and own >= (GRAPH_REPEATS if graph else 1) * GRAPH_BELOW_S
        if len(samples) >= precision.most_samples * (MORE_SAMPLES if poor else 1):
            return "sample limit"
        return "time limit" if late_s >= (precision.seconds_per_case if poor else 0.0) else None
