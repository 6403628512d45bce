"""One sample at a time. What is between the two events is the work alone, because the host has submitted
everything before the flush in front of it ends; a sample that was not covered so is taken again.

cold events   stage | flush | event | launch | event            the L2 holds nothing of the kernel's data; rehearsed:
              with a launch in front of the flush
warm events   stage | flush | launch | stage | event | launch | event   the L2 holds what the first launch left
cold graph    a graph of n (flush, launch) minus a graph of n flushes, divided by n: no event beside the
              kernel, so its launch overhead of 1.5 to 3 us is not counted. For kernels below ~20 us.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, Protocol

from kernelbench.core.contracts import Clock, Event, Executable, Graph
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import Arrays

FIRST_HOLD_S = 60e-6  # hides the host's time to submit one launch through CuPy, about 10 us
# The flush lasts this many times what submitting takes, so that the GPU has fetched all launches when it ends: behind
# 60 us, five launches in a row took 3 to 6 % more or less from run to run, behind 200 us under 0.5 %.
HOLD_PER_SUBMIT = 10
LONGEST_HOLD_S = 50e-3
GRAPH_REPEATS = 8  # more repeats average more flushes a sample, and cost as much more time

Cache = Literal["cold", "warm"]
Method = Literal["events", "graph"]
CACHES: tuple[Cache, ...] = ("cold", "warm")


class Staging(Protocol):
    """Puts arrays into the state that a sample starts from; see measure.staging."""

    def before(self, places: Sequence[int], last: int) -> None: ...

    def between(self, place: int) -> None: ...

    def start(self, place: int, *, warm: bool = False) -> None: ...

    def stop(self, place: int, returned: Arrays | None) -> None: ...


class Bare:
    """Leaves arrays as they are: for kernels of our own that nobody verifies."""

    def before(self, places: Sequence[int], last: int) -> None: ...

    def between(self, place: int) -> None: ...

    def start(self, place: int, *, warm: bool = False) -> None: ...

    def stop(self, place: int, returned: Arrays | None) -> None: ...


BARE = Bare()


@dataclass
class EventTimer:
    """Samples one implementation by two events. Learns how long the flush must be to hide its submission.

    `executables`: the same work on arrays at different places in memory, taken in turn by the round. `rehearsed`: a
    cold sample begins with a run at another place, so that multiprocessors hold the kernel's code, whoever ran last.
    """

    clock: Clock
    executables: Sequence[Executable]
    cache: Cache
    hold_s: float = FIRST_HOLD_S
    submit_s: float | None = None  # the host's time for one run; the shortest seen
    returned: Arrays | None = None  # outputs of the last sampled run, if it allocates its own
    method: Method = "events"
    rehearsed: bool = False
    staging: Staging = BARE

    def sample(self, number: int = 0) -> float:
        """Seconds of one run, in round `number`. DeviceError when no flush is long enough to hide the submission."""
        place = self.place(number)
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
            hidden = self._still_ahead(start)
            self.staging.stop(place, self.returned)
            self.clock.wait()
            if hidden:
                return self.clock.elapsed(start, stop)
            if lead_s >= LONGEST_HOLD_S:
                raise DeviceError(
                    f"submitting it took the host longer than {LONGEST_HOLD_S * 1e3:.0f} ms, or waits for the GPU "
                    "half-way, so its time cannot be told from the host's"
                )
            self.hold_s = min(2 * lead_s, LONGEST_HOLD_S)

    @property
    def lead_s(self) -> float:
        """How long the flush goes on, that what follows is submitted behind."""
        return max(self.hold_s, min(HOLD_PER_SUBMIT * (self.submit_s or 0.0), LONGEST_HOLD_S))

    def place(self, number: int) -> int:
        """Which of the executables writes last in a sample of round `number`."""
        return number % len(self.executables)

    def _still_ahead(self, start: Event) -> bool:
        """True if the device had not reached the start when the host was done submitting."""
        return not start.done()


@dataclass
class FlushGraph:
    """A graph of flushes alone, that graph samples are compared with."""

    clock: Clock

    def __post_init__(self) -> None:
        self._graph = self.clock.capture((), GRAPH_REPEATS)

    def sample(self) -> float:
        return time_graph(self.clock, self._graph)


@dataclass
class GraphTimer:
    """Samples one implementation inside graphs; seconds include the flushes. Each begins with a run, as a rehearsed
    sample does: else the first of the graph's runs alone would fetch the kernel's code.

    Each graph goes through as many executables as it has repeats; each round takes the next graph.
    """

    clock: Clock
    executables: Sequence[Executable]
    cache: Cache = "cold"
    method: Method = "graph"
    staging: Staging = BARE

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
        """Which of the executables writes last in a sample of round `number`."""
        share = self._shares()[number % len(self._graphs)]
        return share[(GRAPH_REPEATS - 1) % len(share)]

    @property
    def returned(self) -> Arrays | None:
        """Outputs of the last sampled run, if it allocates its own: a graph writes to the same ones each time."""
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
    """Seconds of one launch of a graph, submitted while a flush still runs; `behind` is called right behind it."""
    clock.flush(FIRST_HOLD_S)
    start = clock.record()
    graph.launch()
    stop = clock.record()
    behind()
    clock.wait()
    return clock.elapsed(start, stop)
