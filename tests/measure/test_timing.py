"""What happens in which order for one sample, and what the times mean."""

from __future__ import annotations

import pytest

from kernelbench.errors import DeviceError
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


def test_cold_sample_is_flush_event_launch_event_wait() -> None:
    clock = FakeClock()
    seconds = EventTimer(clock, [kernel(clock, 8e-6)], "cold").sample()
    assert clock.log == ["flush", "event", "kernel", "event", "wait"]
    assert seconds == pytest.approx(8e-6 + EVENT_S)


def test_warm_sample_runs_the_kernel_once_before_it_is_timed() -> None:
    clock = FakeClock()
    seconds = EventTimer(clock, [kernel(clock, 8e-6)], "warm").sample()
    assert clock.log == ["flush", "kernel", "event", "kernel", "event", "wait"]
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
