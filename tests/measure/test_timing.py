"""What happens in which order for one sample, and what the times mean."""

from collections.abc import Sequence

import pytest

from kernelbench.core.errors import DeviceError
from kernelbench.core.records import Arrays
from kernelbench.measure.timing import (
    FIRST_HOLD_S,
    GRAPH_REPEATS,
    HOLD_PER_SUBMIT,
    LONGEST_HOLD_S,
    EventTimer,
    FlushGraph,
    GraphTimer,
)
from tests.fake_gpu import EVENT_S, FLUSH_S, FakeClock


def kernel(clock: FakeClock, device_s: float, host_s: float = 5e-6):
    return lambda: clock.submit("kernel", device_s, host_s)


@pytest.mark.parametrize(("cache", "first"), [("cold", ["flush"]), ("warm", ["flush", "kernel"])])
def test_a_sample_is_a_launch_between_two_events_behind_a_flush_and_a_warm_one_runs_once_before(
    cache: str, first: list[str]
) -> None:
    clock = FakeClock()
    seconds = EventTimer(clock, [kernel(clock, 8e-6)], cache).sample()
    assert clock.log == [*first, "event", "kernel", "event", "wait"]
    assert seconds == pytest.approx(8e-6 + EVENT_S)


def test_a_sample_that_waited_for_the_host_is_taken_again_behind_a_longer_flush() -> None:
    clock = FakeClock()
    timer = EventTimer(clock, [kernel(clock, 8e-6, host_s=3 * FIRST_HOLD_S)], "cold")
    assert timer.sample() == pytest.approx(8e-6 + EVENT_S)
    assert clock.log.count("flush") == 3  # 60 and 120 us did not hide 180 us, 240 us did
    clock.log.clear()
    timer.sample()
    assert clock.log.count("flush") == 1, "the length that was needed must be remembered"


def test_the_flush_outlasts_what_submitting_takes_up_to_the_longest() -> None:
    clock = FakeClock()
    timer = EventTimer(clock, [kernel(clock, 8e-6, host_s=0.9 * LONGEST_HOLD_S)], "cold", submit_s=20e-6)
    assert timer.lead_s == pytest.approx(HOLD_PER_SUBMIT * 20e-6)
    timer.submit_s = 0.9 * LONGEST_HOLD_S
    assert timer.lead_s == LONGEST_HOLD_S
    assert timer.sample() == pytest.approx(8e-6 + EVENT_S), "the longest flush hides it: no reason to refuse"


def test_a_host_that_no_flush_can_hide_is_refused() -> None:
    clock = FakeClock()
    with pytest.raises(DeviceError, match="longer than 50 ms"):
        EventTimer(clock, [kernel(clock, 8e-6, host_s=2 * LONGEST_HOLD_S)], "cold").sample()


def test_a_host_that_is_busy_for_once_fails_no_kernel() -> None:
    clock = FakeClock()
    quick, slow = (kernel(clock, 8e-6, host_s=host_s) for host_s in (20e-6, 2 * LONGEST_HOLD_S))
    busy = iter([slow, slow, slow])
    timer = EventTimer(clock, [lambda: next(busy, quick)()], "cold")
    assert timer.sample() == pytest.approx(8e-6 + EVENT_S)
    for _ in range(70):
        timer.sample()
    assert timer.hold_s == FIRST_HOLD_S, "later samples need no long flush"


def test_graph_samples_differ_from_the_flushes_alone_by_the_kernel() -> None:
    clock = FakeClock()
    flushes = FlushGraph(clock).sample()
    both = GraphTimer(clock, [kernel(clock, 3e-6, host_s=0.0)]).sample()
    assert flushes == pytest.approx(GRAPH_REPEATS * FLUSH_S + EVENT_S)
    assert (both - flushes) / GRAPH_REPEATS == pytest.approx(3e-6)


def test_graphs_go_through_all_places_a_few_at_a_time() -> None:
    clock = FakeClock()
    log: list[int] = []
    places = 2 * GRAPH_REPEATS + 1
    timer = GraphTimer(clock, [lambda place=place: log.append(place) for place in range(places)])
    seen: set[int] = set()
    for number in range(3):
        log.clear()
        timer.sample(number)
        rehearsed, *graph = log
        assert len(graph) == GRAPH_REPEATS
        assert timer.place(number) == graph[-1] != rehearsed
        seen.update(graph)
    assert seen == set(range(places))


def test_samples_by_events_go_through_the_places_in_turn() -> None:
    clock = FakeClock()
    log: list[int] = []
    timer = EventTimer(clock, [lambda place=place: log.append(place) for place in range(3)], "cold")
    for number in range(4):
        timer.sample(number)
    assert log == [0, 1, 2, 0]


class Spy:
    """Notes in the clock's log when it is called, and for which places."""

    def __init__(self, clock: FakeClock) -> None:
        self.log = clock.log

    def before(self, places: Sequence[int], last: int) -> None:
        self.log.append(f"before {list(places)}, last {last}")

    def between(self, place: int) -> None:
        self.log.append(f"between {place}")

    def start(self, place: int, *, warm: bool = False) -> None:
        self.log.append(f"start {place}")

    def stop(self, place: int, returned: Arrays | None) -> None:
        self.log.append(f"stop {place}")


def test_samples_are_staged_before_the_flush_and_round_the_timed_run() -> None:
    clock = FakeClock()
    executables = [kernel(clock, 8e-6), kernel(clock, 8e-6)]
    EventTimer(clock, executables, "cold", staging=Spy(clock), rehearsed=True).sample(1)
    timed = ["event", "kernel", "event"]
    assert clock.log == ["kernel", "before [1], last 1", "flush", "start 1", *timed, "stop 1", "wait"]
    clock.log.clear()
    EventTimer(clock, executables, "warm", staging=Spy(clock)).sample(1)
    assert clock.log == ["before [1], last 1", "flush", "kernel", "between 1", "start 1", *timed, "stop 1", "wait"]


def test_all_places_of_a_graph_are_staged() -> None:
    clock = FakeClock()
    timer = GraphTimer(clock, [kernel(clock, 3e-6), kernel(clock, 3e-6)], staging=Spy(clock))
    clock.log.clear()
    timer.sample()
    assert clock.log[:6] == ["kernel", "before [0, 1], last 1", "start 1", "flush", "event", "graph"]
    assert clock.log[-3:] == ["event", "stop 1", "wait"]
