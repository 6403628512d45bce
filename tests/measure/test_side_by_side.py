"""Cases that run side by side: their order, what an interrupt leaves, and the time that each activity gets."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from kernelbench.measure.side_by_side import run_side_by_side, shares_of_time

WAIT_S = 10.0


class FakeBench:
    """A case is a function of the bench, its results are what the function returns."""

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def run(self, plan: Any, settings: Any, progress: Callable[[float], None]) -> Any:
        results = plan(self)
        progress(0.5)
        return results

    def stop(self) -> None:
        self.stopped.set()

    def spent(self) -> Mapping[str, float]:
        return {}


def run(
    cases: Sequence[Any], keep: Callable[[Any], None], tell: Callable[[int, float], None] = lambda *_: None
) -> None:
    def teller(place: int) -> Callable[[float], None]:
        return lambda share: tell(place, share)

    benches: Any = (FakeBench(), FakeBench())
    run_side_by_side(benches, cases, settings=None, tellers=list(map(teller, range(len(cases)))), keep=keep)  # type: ignore[arg-type]


def until(event: threading.Event) -> None:
    assert event.wait(WAIT_S)


def test_two_cases_run_at_once_and_are_kept_in_order() -> None:
    second_is_done, kept = threading.Event(), []

    def first(bench: FakeBench) -> Any:
        until(second_is_done)
        return ["first"]

    def second(bench: FakeBench) -> Any:
        second_is_done.set()
        return ["second"]

    run([first, second, lambda bench: ["third"]], kept.extend)
    assert kept == ["first", "second", "third"]


def test_progress_and_results_come_in_the_thread_of_the_caller() -> None:
    told, threads = [], set()

    def tell(place: int, share: float) -> None:
        told.append((place, share))
        threads.add(threading.current_thread())

    run([lambda bench: []] * 3, lambda results: threads.add(threading.current_thread()), tell)
    assert threads == {threading.current_thread()}
    assert sorted(told) == [(place, share) for place in range(3) for share in (0.0, 0.5, 1.0)]


def test_an_interrupt_ends_what_is_running_and_keeps_what_is_finished() -> None:
    kept, begun = [], []

    def waits_to_be_stopped(bench: FakeBench) -> Any:
        begun.append(bench)
        until(bench.stopped)
        return ["stopped"]

    def tell(place: int, share: float) -> None:
        if (place, share) == (1, 1.0):
            raise KeyboardInterrupt

    cases = [waits_to_be_stopped, lambda bench: ["finished"], waits_to_be_stopped, waits_to_be_stopped]
    with pytest.raises(KeyboardInterrupt):
        run(cases, kept.extend, tell)
    assert kept == ["finished"]
    assert len(begun) <= 2, "the last case has not begun"
    assert not [one for one in threading.enumerate() if one.name.startswith("case")]


def test_an_error_of_one_case_comes_after_the_cases_before_it() -> None:
    failed, kept = threading.Event(), []

    def first(bench: FakeBench) -> Any:
        until(failed)
        return ["first"]

    def fails(bench: FakeBench) -> Any:
        failed.set()
        raise ValueError("the second")

    with pytest.raises(ValueError, match="the second"):
        run([first, fails], kept.extend)
    assert kept == ["first"]


def test_times_of_cases_side_by_side_are_shares_of_the_time_that_passed() -> None:
    spent = [{"verifying": 6.0, "preparing": 1.0}, {"verifying": 3.0, "filling": 2.0}]
    assert shares_of_time(spent, 6.0) == {"verifying": 4.5, "preparing": 0.5, "filling": 1.0}
    assert shares_of_time(spent, 20.0) == {"verifying": 9.0, "preparing": 1.0, "filling": 2.0}, "they idled meanwhile"
    assert shares_of_time([{}, {}], 0.0) == {}
