"""Runs one case: allocate its arrays, verify every implementation, time those that are correct."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from kernelbench.core.contracts import (
    CountingDevice,
    Device,
    Executable,
    Heartbeat,
    no_heartbeat,
)
from kernelbench.core.counters import LaunchCounters
from kernelbench.core.errors import EVERYBODYS, DeviceError, DeviceLost, MissingLibrary, Unsupported, reason_of
from kernelbench.core.launch_texts import unread_inputs
from kernelbench.core.records import CACHES, Arrays, Cache, Check, Limits, Measurement, Operation, Result, Status
from kernelbench.core.stopwatch import FILLING, MEASURING, PREPARING, VERIFYING, Stopwatch
from kernelbench.core.units import rate_text, time_text
from kernelbench.measure.case_data import CaseData
from kernelbench.measure.energy import add_energy
from kernelbench.measure.floor_and_ceilings import ABOVE_CEILING, ABOVE_L2, BELOW_FLOOR
from kernelbench.measure.placements import filled_arrays, place_case
from kernelbench.measure.rounds import WARM_UP_TO_L2, CaseMeasurement
from kernelbench.measure.tracks import QUICK, Contender, Precision
from kernelbench.measure.verify import run_and_check
from kernelbench.planning.case_plans import CasePlan, Planned

NOT_TIMED = "not timed: simulated"  # the reason of a row that has counts instead of times

MOST_NOTES = 3  # of races, per row


@dataclass(frozen=True)
class Settings:
    """How a case is measured. `precision` None: it is verified and not timed."""

    seed: int
    caches: Sequence[Cache] = CACHES
    precision: Precision | None = None
    limits: Limits | None = None
    energy: bool = False  # measured behind the times


def settings_for(
    seed: int, caches: Collection[str], limits: Limits | None, *, quick: bool, energy: bool = False
) -> Settings:
    """Settings for a timed run in these cache states."""
    chosen = [cache for cache in CACHES if cache in caches]
    return Settings(seed, chosen, QUICK if quick else Precision(), limits, energy)


class CaseRun:
    def __init__(
        self,
        device: Device,
        operation: Operation,
        plan: CasePlan,
        heartbeat: Heartbeat = no_heartbeat,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        self.device, self.operation, self.plan, self.heartbeat = device, operation, plan, heartbeat
        self.stopwatch = stopwatch or Stopwatch()
        self.results: dict[str, Result] = {}
        self.counters: dict[str, tuple[LaunchCounters, ...]] = {}  # by name, of correct implementations

    def run(self, settings: Settings, progress: Callable[[float], None] = lambda share: None) -> list[Result]:
        """Results in the order of the plan. After DeviceLost, `ordered` returns those there are."""
        try:
            self._measure(settings, progress)
        except DeviceLost as error:
            self._give_up(f"the GPU's context was lost in this case: {error}")
            raise  # a lost context has no memory to give back
        except (DeviceError, MemoryError) as error:
            self._give_up(reason_of(error))
        with self.stopwatch.on(FILLING):
            self.device.release()
        return self.ordered()

    def _measure(self, settings: Settings, progress: Callable[[float], None]) -> None:
        """Verify, then time. No reference to the case's memory outlives this call."""
        with self.stopwatch.on(FILLING):
            arrays = filled_arrays(self.device, self.operation, self.plan.case, settings.seed)
        data = CaseData(self.device, self.operation, self.plan.case, [arrays], settings.seed)
        counting = isinstance(self.device, CountingDevice)
        alone = counting or not settings.precision  # nothing is timed afterwards
        contenders = self._verify_all(data, settings.seed, progress if alone else lambda share: None)
        if settings.precision and contenders and not counting:
            self._place(data, contenders, settings.seed + 1)
            ready = [contender for contender in contenders if not contender.failure]
            seed = settings.seed + 1
            told = (progress, self.heartbeat, self.stopwatch)
            CaseMeasurement(data, settings.caches, settings.precision, seed, *told).run(ready)
            if settings.energy:
                with self.stopwatch.on(MEASURING):
                    add_energy(data, ready, self.heartbeat)
        for contender in contenders:
            self._finish(contender, settings)

    def ordered(self) -> list[Result]:
        return [self.results[planned.implementation.name] for planned in self.plan.planned]

    # ---- Memory ----

    def _place(self, data: CaseData, contenders: Sequence[Contender], seed: int) -> None:
        """Give all contenders arrays at several places in memory. Their new contents make every result that an
        implementation kept from its verification wrong."""
        with self.stopwatch.on(FILLING):
            scratch = (sum(size for _, size in one.plan.scratch) for one in self.plan.planned if one.plan)
            place_case(data, seed, max(scratch, default=0))
        for contender in contenders:
            self._prepare(contender, data.placements[1:])

    def _prepare(self, contender: Contender, placements: Sequence[Arrays]) -> None:
        """Prepare a contender at further placements; an error fails only its own row."""
        planned = self._planned(contender)
        try:
            contender.executables += [self._executable(planned, arrays) for arrays in placements]
        except (DeviceLost, *EVERYBODYS):
            raise
        except Exception as error:
            contender.failure = reason_of(error)

    def _executable(self, planned: Planned, arrays: Arrays) -> Executable:
        implementation = planned.implementation
        with self.stopwatch.on(PREPARING):
            self.heartbeat(implementation.name, implementation.prepare is not None)
            executable = self.device.executable(implementation, self.plan.case, planned.plan, planned.binary, arrays)
            self.heartbeat(implementation.name)
        return executable

    def _planned(self, contender: Contender) -> Planned:
        return next(one for one in self.plan.planned if one.implementation is contender.implementation)

    # ---- Verify ----

    def _verify_all(self, data: CaseData, seed: int, progress: Callable[[float], None]) -> list[Contender]:
        """Run and check each implementation once; returns the correct ones."""
        contenders = []
        for number, planned in enumerate(self.plan.planned, start=1):
            self.heartbeat(planned.implementation.name)
            contender = self._verify(data, planned, seed)
            if contender is not None:
                contenders.append(contender)
            progress(number / len(self.plan.planned))
        self.heartbeat("")
        return contenders

    def _verify(self, data: CaseData, planned: Planned, seed: int) -> Contender | None:
        implementation = planned.implementation
        if planned.status != "ok":
            self._keep(planned, planned.status, planned.reason)
            return None
        try:
            executable = self._executable(planned, data.placements[0])
            with self.stopwatch.on(VERIFYING):
                check = run_and_check(data, implementation, executable, seed)
            if check.passed and isinstance(self.device, CountingDevice):
                self.counters[implementation.name] = self.device.counts(executable)
        except EVERYBODYS:
            raise
        except Exception as error:  # the other implementations still run
            self._keep(planned, _status_of(error), reason_of(error))
            if isinstance(error, DeviceLost):
                raise
            return None
        if not check.passed:
            self._keep(planned, "wrong", check.message + self._unread(planned), check)
            return None
        return Contender(implementation, [executable], check=check)

    def _unread(self, planned: Planned) -> str:
        """Names inputs that the machine code never loads, which explains a wrong output; '' for none."""
        if planned.plan is None or planned.binary is None:
            return ""
        unread = unread_inputs(planned.plan, planned.binary.facts, self.plan.inputs)
        return f"; it never reads {', '.join(unread)}" if unread else ""

    # ---- Results ----

    def _finish(self, contender: Contender, settings: Settings) -> None:
        planned, check = self._planned(contender), contender.check
        impossible = self._impossible(contender, settings.limits) if settings.limits else ""
        if contender.failure:
            self._keep(planned, "wrong" if check and not check.passed else "failed", contender.failure, check)
        elif impossible:
            self._keep(planned, "failed", impossible, check)
        else:
            notes = [
                *([check.grade] if check and check.grade else []),
                *contender.notes,
                *self._counting_notes(contender, settings),
            ]
            # Outputs that depend on blocks outside the sample cannot be verified.
            self._keep(
                planned, "ok", "; ".join(notes), check if check and check.elements else None, contender.measurements
            )

    def _counting_notes(self, contender: Contender, settings: Settings) -> list[str]:
        """Why a simulated row has no time, how much of it was run and verified, which counts follow the machine code,
        and races that it relies on."""
        launches = self.counters.get(contender.implementation.name)
        if launches is None:
            return []
        sampled = list(dict.fromkeys(one.sampled for one in launches if one.sampled))
        unverified = contender.check is not None and not contender.check.elements
        return [
            *([NOT_TIMED] if settings.precision else []),
            *sampled[:1],
            *list(dict.fromkeys(one.grouping for one in launches if one.grouping))[:1],
            *list(dict.fromkeys(note for one in launches for note in one.notes))[:MOST_NOTES],
            *(["nothing verified: every output of the sample depends on blocks outside it"] if unverified else []),
        ]

    def _impossible(self, contender: Contender, limits: Limits) -> str:
        """Why a time is impossible: below that of an empty kernel, or above the bandwidth of the memory; '' if it is
        not."""
        moved = self.operation.bytes_moved(self.plan.case)
        ceiling, where, allowed = self._ceiling(moved, limits)
        for measured in contender.measurements:
            time = f"{time_text(measured.median_s)} ({measured.cache}, {measured.method})"
            floor = limits.graph_floor_s if measured.method == "graph" else limits.floor_s
            if measured.high_s < BELOW_FLOOR[measured.method] * floor:
                return f"{time} is less than the {time_text(floor)} of an empty kernel: not possible"
            rate = moved / measured.median_s
            if ceiling and rate > allowed * ceiling:
                return f"{time} would be {rate_text(rate)}, above the {rate_text(ceiling)} {where}: not possible"
        return ""

    def _ceiling(self, moved: int, limits: Limits) -> tuple[float | None, str, float]:
        """The bandwidth that bounds a case, how it was measured, and from which multiple of it a rate is an error.
        The L2 bounds data that fit into it: even after a flush, a kernel's own writes may stay there."""
        if moved >= WARM_UP_TO_L2 * self.device.properties.l2_bytes:
            ceiling = limits.ceiling_bytes_per_s(self.operation.read_share(self.plan.case))
            return ceiling, "of kernels that only read and write as much", ABOVE_CEILING
        return limits.l2_bytes_per_s, "of kernels that only read and write within the L2", ABOVE_L2

    def _keep(
        self,
        planned: Planned,
        status: Status,
        reason: str,
        check: Check | None = None,
        measurements: Sequence[Measurement] = (),
    ) -> None:
        self.results[planned.implementation.name] = Result(
            case=self.plan.case,
            implementation=planned.implementation,
            status=status,
            reason=reason,
            plan=planned.plan,
            binary=planned.binary,
            check=check,
            measurements=tuple(measurements),
            counters=self.counters.get(planned.implementation.name, ()) if status == "ok" else (),
        )

    def _give_up(self, reason: str) -> None:
        for planned in self.plan.planned:
            if planned.implementation.name not in self.results:
                status: Status = planned.status if planned.status != "ok" else "failed"
                self._keep(planned, status, planned.reason or reason)


def _status_of(error: Exception) -> Status:
    if isinstance(error, Unsupported):
        return "unsupported"
    return "skipped" if isinstance(error, MissingLibrary) else "failed"
