"""Cases of the simulator side by side, each in a thread: much of a case keeps one core busy, and the others idle."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Protocol

from kernelbench.core import processes
from kernelbench.core.records import CasePlan, Result

if TYPE_CHECKING:
    from kernelbench.measure.case_run import Settings

POLL_S = 0.2  # longest delay until a signal is handled
STOP_S = 0.02  # between two attempts to end what is running

Tell = Callable[[float], None]  # the finished share of a case
Keep = Callable[[Sequence[Result]], None]


class ParallelBench(Protocol):
    """A Bench, of which there are several."""

    def run(self, plan: CasePlan, settings: Settings, progress: Tell) -> list[Result]: ...

    def stop(self) -> None:
        """End the launches of the case that another thread runs on it."""

    def spent(self) -> Mapping[str, float]: ...


def run_side_by_side(
    benches: Sequence[ParallelBench], plans: Sequence[CasePlan], settings: Settings, tellers: Sequence[Tell], keep: Keep
) -> None:
    """Run each case on the bench that is free first. `keep` and the tellers, one per case, are called in this thread,
    and `keep` in the order of the plans. An error ends the cases that are running; those that are finished are kept."""
    free: SimpleQueue[ParallelBench] = SimpleQueue()
    told: SimpleQueue[tuple[int, float]] = SimpleQueue()
    stopped = Event()
    for bench in benches:
        free.put(bench)

    def tell(place: int, share: float) -> None:
        if stopped.is_set():  # as if the signal had come to this thread
            raise KeyboardInterrupt
        told.put((place, share))

    def run(place: int) -> list[Result]:
        bench = free.get()
        try:
            tell(place, 0.0)
            results = bench.run(plans[place], settings, lambda share: tell(place, share))
            tell(place, 1.0)
            return results
        finally:
            free.put(bench)

    with ThreadPoolExecutor(len(benches), thread_name_prefix="case") as pool:
        left = [pool.submit(run, place) for place in range(len(plans))]
        try:
            while left:
                wait(left[:1], POLL_S)
                while not told.empty():
                    place, share = told.get()
                    tellers[place](share)
                if left[0].done():
                    keep(left.pop(0).result())
        except BaseException:  # such as KeyboardInterrupt, of which only this thread hears
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            _end(left, benches)
            for one in left:
                if not one.cancelled() and one.exception() is None:
                    keep(one.result())
            raise


def _end(cases: Sequence[Future[list[Result]]], benches: Sequence[ParallelBench]) -> None:
    """Return once no case is running: the memory that launches use must not be freed before."""
    while not all(one.done() for one in cases):
        for bench in benches:
            bench.stop()  # again and again: each ends only the launch that is running
        processes.end_all()  # of a library of the simulator that is being built
        time.sleep(STOP_S)


def shares_of_time(spent: Iterable[Mapping[str, float]], passed_s: float) -> dict[str, float]:
    """Seconds that cases side by side took, by activity, cut to shares of the time that passed."""
    together = Counter[str]()
    for one in spent:
        together.update(one)
    share = min(1.0, passed_s / max(sum(together.values()), passed_s, 1e-9))
    return {what: share * seconds for what, seconds in together.items()}
