"""What a run's seconds went to."""

import pytest

from kernelbench.core import stopwatch
from kernelbench.core.stopwatch import BUILDING, MEASURING, OTHER, VERIFYING, Stopwatch


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be set."""
    now = [100.0]
    monkeypatch.setattr(stopwatch.time, "monotonic", lambda: now[0])
    return now


def test_of_one_thing_within_another_only_the_inner_counts(clock: list[float]) -> None:
    watch = Stopwatch()
    with watch.on(MEASURING):
        clock[0] += 3
        with watch.on(VERIFYING):
            clock[0] += 2
        clock[0] += 1
    clock[0] += 5
    assert watch.lap() == {OTHER: 5.0, MEASURING: 4.0, VERIFYING: 2.0}


def test_what_fails_is_counted_too(clock: list[float]) -> None:
    watch = Stopwatch()

    def fails() -> None:
        clock[0] += 3
        raise ValueError("so it is")

    with pytest.raises(ValueError, match="so it is"), watch.on(MEASURING):
        fails()
    clock[0] += 1
    assert watch.lap() == {OTHER: 1.0, MEASURING: 3.0}


def test_laps_add_up(clock: list[float]) -> None:
    watch = Stopwatch()
    with watch.on(MEASURING):
        clock[0] += 3
    watch.lap()
    clock[0] += 2
    assert watch.lap() == {OTHER: 2.0, MEASURING: 0.0}


def test_what_another_process_did_is_taken_from_the_waiting(clock: list[float]) -> None:
    watch = Stopwatch()
    with watch.on(OTHER):
        clock[0] += 10
        watch.move({MEASURING: 6.0, VERIFYING: 3.0})
    assert watch.lap() == {OTHER: 1.0, MEASURING: 6.0, VERIFYING: 3.0}


def test_the_line_leaves_builds_out_of_the_share(clock: list[float]) -> None:
    watch = Stopwatch()
    with watch.on(BUILDING):
        clock[0] += 10
    with watch.on(MEASURING):
        clock[0] += 15
    clock[0] += 5
    assert watch.line() == (
        "30 s, 75 % of them measuring (builds left out): measuring 15.0 s, building 10.0 s, other 5.0 s"
    )
