"""Runs cases on a device of this process; gpu_process.py does the same in another process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kernelbench.core.contracts import CountingDevice, Device, Heartbeat, no_heartbeat
from kernelbench.core.errors import DeviceLost
from kernelbench.core.progress import Advance, Progress
from kernelbench.core.records import Binary, Case, DeviceProperties, Limits, Result
from kernelbench.core.stopwatch import OTHER, Stopwatch
from kernelbench.measure.side_by_side import ParallelBench, run_side_by_side, shares_of_time
from kernelbench.planning.case_plans import CasePlan
from kernelbench.planning.catalog import Catalog

if TYPE_CHECKING:
    from kernelbench.measure.case_run import Settings


class CaseLost(DeviceLost):
    """The device was lost during a case; `results` holds what was measured before."""

    def __init__(self, message: str, results: Sequence[Result]) -> None:
        super().__init__(message)
        self.results = tuple(results)


# A case runs alone if its arrays are this many times as large as what it moves, and have more bytes than this.
SPREAD, LARGE_BYTES = 2.0, 2**30


class Bench(Protocol):
    """Runs whole cases on a device."""

    name: str
    properties: DeviceProperties
    counting: bool  # the simulator: counts instead of times

    def environment(self) -> Mapping[str, Any]:
        """The device's entries in environment.json."""

    def prepare(self) -> None:
        """Prepare what every case needs; takes seconds at most."""

    def renew(self) -> None:
        """Begin anew before a suite: in one process with earlier suites, kernels of 2 µs took up to 0.4 µs more."""

    def limits(self, binary: Binary) -> Limits:
        """Measure floor and ceiling with the kernels of common/limits.cu."""

    def run(self, plan: CasePlan, settings: Settings, progress: Callable[[float], None]) -> list[Result]:
        """Results in the order of the plan. `progress` is called with the finished share of the case.

        Raises CaseLost if the device is lost.
        """

    def side_by_side(self, plans: Sequence[CasePlan]) -> Sequence[ParallelBench]:
        """Benches of this device, itself among them, that can run these cases at the same time. None where each case
        must have the device to itself."""

    def spent(self) -> Mapping[str, float]:
        """Seconds that cases took since the last call, by activity; see stopwatch."""

    def close(self) -> None: ...


class InProcessBench:
    def __init__(self, device: Device, catalog: Catalog, heartbeat: Heartbeat = no_heartbeat) -> None:
        self.device, self._catalog, self._heartbeat = device, catalog, heartbeat
        self.name, self.properties = device.name, device.properties
        self.counting = isinstance(device, CountingDevice)
        self._stopwatch = Stopwatch()

    def environment(self) -> Mapping[str, Any]:
        return self.device.environment()

    def prepare(self) -> None:
        if isinstance(self.device, CountingDevice):
            self.device.prepare()

    def renew(self) -> None:
        pass

    def limits(self, binary: Binary) -> Limits:
        from kernelbench.measure.floor_and_ceilings import measure_limits

        return measure_limits(self.device, binary)

    def run(self, plan: CasePlan, settings: Settings, progress: Callable[[float], None]) -> list[Result]:
        from kernelbench.measure.case_run import CaseRun

        operation = self._catalog.operations[plan.case.operation]
        case_run = CaseRun(self.device, operation, plan, self._heartbeat, self._stopwatch)
        try:
            return case_run.run(settings, progress)
        except DeviceLost as error:
            raise CaseLost(str(error), case_run.ordered()) from error

    def side_by_side(self, plans: Sequence[CasePlan]) -> Sequence[ParallelBench]:
        if not isinstance(self.device, CountingDevice) or len(plans) < 2 or any(map(self._fills_memory, plans)):
            return ()
        if self._catalog.own:  # the user's Python can be timed out only in the main thread
            return ()
        other = self.device.beside()
        return () if other is None else (self, InProcessBench(other, self._catalog))

    def _fills_memory(self, plan: CasePlan) -> bool:
        """Whether the case may take gigabytes: where the simulator must run all blocks of a kernel, or where arrays are
        so much larger than what is moved that a kernel touches all of their pages."""
        launches = [launch for one in plan.planned if one.plan for launch in one.plan.launches]
        operation = self._catalog.operations[plan.case.operation]
        nbytes = sum(spec.nbytes for spec in operation.arrays(plan.case))
        spread = nbytes > SPREAD * operation.bytes_moved(plan.case)
        return any(launch.cooperative for launch in launches) or (spread and nbytes > LARGE_BYTES)

    def stop(self) -> None:
        if isinstance(self.device, CountingDevice):
            self.device.stop()

    def spent(self) -> Mapping[str, float]:
        return {what: seconds for what, seconds in self._stopwatch.lap().items() if what != OTHER}

    def close(self) -> None:
        pass


def run_cases(
    bench: Bench,
    plans: Sequence[CasePlan],
    settings: Settings,
    title: str,
    progress: Progress,
    keep: Callable[[Sequence[Result]], None],
    stopwatch: Stopwatch,
) -> None:
    """Run all cases, side by side where the bench can. `keep` gets the results of each case in the order of the plans,
    as soon as they are there, even if the device was lost."""
    total = sum(len(plan.planned) for plan in plans)
    labels = short_labels([plan.case for plan in plans])
    one_by_one = bench.counting or not settings.precision
    with progress.stage(title, total) as advance:
        tellers = [_shares(advance, plan, labels[plan.case.key], one_by_one=one_by_one) for plan in plans]
        benches = bench.side_by_side(plans)
        try:
            if not benches:
                _run_in_turn(bench, plans, settings, tellers, keep, stopwatch)
                return
            with stopwatch.on(OTHER):
                began = time.monotonic()
                run_side_by_side(benches, plans, settings, tellers, keep)
                spent = [one.spent() for one in benches]
                stopwatch.move(shares_of_time(spent, time.monotonic() - began))
        except CaseLost as error:
            keep(error.results)
            raise


def _run_in_turn(
    bench: Bench,
    plans: Sequence[CasePlan],
    settings: Settings,
    tellers: Sequence[Callable[[float], None]],
    keep: Callable[[Sequence[Result]], None],
    stopwatch: Stopwatch,
) -> None:
    for plan, tell in zip(plans, tellers, strict=True):
        tell(0.0)
        with stopwatch.on(OTHER):
            results = bench.run(plan, settings, tell)
            stopwatch.move(bench.spent())
        keep(results)
        tell(1.0)


def short_labels(cases: Sequence[Case]) -> dict[str, str]:
    """A short name of each case, by its key: its sizes, without those words that all cases share. A single case has
    its axes of the suite, or its shape without any."""
    shared = set.intersection(*(set(case.words.items()) for case in cases)) if cases else set()
    if len(cases) == 1:
        own = {name for name, _ in cases[0].axes} or {"shape"}
        shared = {(name, value) for name, value in shared if name not in own}
    labels = {}
    for case in cases:
        words = {name: value for name, value in case.words.items() if (name, value) not in shared}
        sizes = {name: value for name, value in words.items() if name != "shape"} or words
        labels[case.key] = " ".join(f"{name}={value}" for name, value in sizes.items())
    return labels


def _shares(advance: Advance, plan: CasePlan, label: str, *, one_by_one: bool) -> Callable[[float], None]:
    """A function that turns the finished share of a case into finished rows of the whole suite. Kernels that are timed
    take turns: none of them is named."""
    done, names = 0.0, [one.implementation.name for one in plan.planned]

    def at(share: float) -> None:
        nonlocal done
        rows = max(done, share * len(names))
        place = min(int(rows), len(names) - 1) if one_by_one else len(names)
        advance(rows - done, " ".join(filter(None, [label, *names[place : place + 1]])))
        done = rows

    return at
