"""Takes one sample at a time. The two events enclose only the kernel's work, because the host submits everything
before the flush in front of it ends; otherwise the sample is repeated.

cold events   stage | flush | event | launch | event            the L2 holds none of the kernel's data; rehearsed:
              with a launch before the staging
warm events   stage | flush | launch | stage | event | launch | event   the L2 holds what the first launch left
cold graph    a graph of n (flush, launch) minus a graph of n flushes, divided by n: there is no event next to the
              kernel, so its launch overhead of 1.5 to 3 us is not counted. For short kernels, see rounds.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from kernelbench.core.contracts import Clock, Executable, Graph
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import Arrays, Cache

FIRST_HOLD_S = 60e-6  # hides the host's time to submit one launch through CuPy, about 10 us
# The flush lasts this many times the submission, so that the GPU has fetched all launches when it ends. After a flush
# of 60 us the time of five launches varied by 3 to 6 % from run to run, after 200 us by less than 0.5 %.
HOLD_PER_SUBMIT = 10
LONGEST_HOLD_S, LONGEST_TRIES = 50e-3, 4  # a host that is busy for once must not fail a kernel
GRAPH_REPEATS = 8  # per sample; more of them average better and cost proportionally more time

Method = Literal["events", "graph"]


class Staging:
    """Puts arrays into the state that a sample starts from. This one leaves them as they are, for our own kernels;
    measure.staging has the one for verified kernels."""

    def before(self, places: Sequence[int], last: int) -> None: ...

    def between(self, place: int) -> None: ...

    def start(self, place: int, *, warm: bool = False) -> None: ...

    def stop(self, place: int, returned: Arrays | None) -> None: ...


UNCHANGED = Staging()


@dataclass
class EventTimer:
    """Samples one implementation by two events. Learns how long the flush must be to hide its submission.

    `executables`: the same work at different placements, one per round in turn. `rehearsed`: a cold sample begins with
    a run at another placement, so that the instruction caches hold the kernel, whatever ran before.
    """

    clock: Clock
    executables: Sequence[Executable]
    cache: Cache
    hold_s: float = FIRST_HOLD_S
    submit_s: float | None = None  # the host's time for one run; the shortest seen
    returned: Arrays | None = None  # outputs of the last sampled run, if it allocates its own
    method: Method = "events"
    rehearsed: bool = False
    staging: Staging = UNCHANGED

    def sample(self, number: int = 0) -> float:
        """Seconds of one run, in round `number`. DeviceError if no flush is long enough to hide the submission."""
        place, tries = self.place(number), LONGEST_TRIES
        executable = self.executables[place]
        while True:
            lead_s = self.lead_s
            if self.rehearsed and self.cache == "cold":
                self.executables[self.place(number + 1)]()
            self.staging.before([place], place)
            self.clock.flush(lead_s)
            if self.cache == "warm":
                executable()
                self.staging.between(place)
            self.staging.start(place, warm=self.cache == "warm")
            start = self.clock.record()
            began = time.perf_counter()
            self.returned = executable()
            self.submit_s = min(self.submit_s or LONGEST_HOLD_S, time.perf_counter() - began)
            stop = self.clock.record()
            hidden = not start.done()  # the device has not reached `start` yet
            self.staging.stop(place, self.returned)
            self.clock.wait()
            if hidden:
                self.hold_s = max(FIRST_HOLD_S, 0.9 * self.hold_s)  # what made the host slow may be over
                return self.clock.elapsed(start, stop)
            tries -= lead_s >= LONGEST_HOLD_S
            if not tries:
                raise DeviceError(
                    f"submitting it took the host longer than {LONGEST_HOLD_S * 1e3:.0f} ms, or waits for the GPU "
                    "half-way, so its time cannot be told from the host's"
                )
            self.hold_s = min(2 * lead_s, LONGEST_HOLD_S)

    @property
    def lead_s(self) -> float:
        """Length of the flush, during which the host submits the rest."""
        return max(self.hold_s, min(HOLD_PER_SUBMIT * (self.submit_s or 0.0), LONGEST_HOLD_S))

    def place(self, number: int) -> int:
        """Index of the executable that writes last in a sample of round `number`."""
        return number % len(self.executables)


@dataclass
class FlushGraph:
    """A graph that only flushes, whose time is subtracted from graph samples."""

    clock: Clock

    def __post_init__(self) -> None:
        self._graph = self.clock.capture((), GRAPH_REPEATS)

    def sample(self) -> float:
        return time_graph(self.clock, self._graph)


@dataclass
class GraphTimer:
    """Samples one implementation inside graphs; seconds include the flushes. Each sample begins with an untimed run,
    so that the graph's first run does not load the kernel's code.

    A graph holds one executable per repeat; each round takes the next graph.
    """

    clock: Clock
    executables: Sequence[Executable]
    cache: Cache = "cold"
    method: Method = "graph"
    staging: Staging = UNCHANGED

    def __post_init__(self) -> None:
        self._outputs: list[Arrays | None] = [None] * len(self.executables)
        self._graphs = []
        for places in self._shares():
            self._graphs.append(self.clock.capture([self._remembering(place) for place in places], GRAPH_REPEATS))
        self._number = 0

    def sample(self, number: int = 0) -> float:
        self._number, place = number, self.place(number)
        self.executables[(place + 1) % len(self.executables)]()
        self.staging.before(self._shares()[number % len(self._graphs)], place)
        self.staging.start(place)
        return time_graph(
            self.clock, self._graphs[number % len(self._graphs)], lambda: self.staging.stop(place, self.returned)
        )

    def place(self, number: int) -> int:
        """Index of the executable that writes last in a sample of round `number`."""
        share = self._shares()[number % len(self._graphs)]
        return share[(GRAPH_REPEATS - 1) % len(share)]

    @property
    def returned(self) -> Arrays | None:
        """Outputs of the last sampled run, if it allocates its own; a graph writes to the same ones each time."""
        return self._outputs[self.place(self._number)]

    def _shares(self) -> list[list[int]]:
        places = list(range(len(self.executables)))
        graphs = ceil(len(places) / GRAPH_REPEATS)
        return [places[graph::graphs] for graph in range(graphs)]

    def _remembering(self, place: int) -> Executable:
        def run() -> Arrays | None:
            self._outputs[place] = self.executables[place]()
            return self._outputs[place]

        return run


def time_graph(clock: Clock, graph: Graph, behind: Callable[[], None] = lambda: None) -> float:
    """Seconds of one launch of a graph, submitted while a flush still runs; `behind` is called right after it."""
    clock.flush(FIRST_HOLD_S)
    start = clock.record()
    graph.launch()
    stop = clock.record()
    behind()
    clock.wait()
    return clock.elapsed(start, stop)
