"""Writes a run while it is made: environment and rows are on disk as soon as they are known."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelbench.core.hardware_counters import CountedLaunch
from kernelbench.core.progress import Progress
from kernelbench.core.records import CasePlan, Limits, Operation, Result
from kernelbench.runs.environment import utc_now
from kernelbench.runs.hardware_counters import write_counters
from kernelbench.runs.results import Run, Store, read_run
from kernelbench.runs.resuming import earlier_session, resumed_environment, unfinished_plans
from kernelbench.runs.rows import rows_of, samples_of


class Recording:
    """The run in `folder`. ResultsError if the folder has another run, or one that `resume` cannot continue.

    `environment` is the result of `start_environment`; `limits` is None on the simulator, which times nothing.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, Any],
        operations: Mapping[str, Operation],
        limits: Limits | None,
        *,
        resume: bool,
    ) -> None:
        self._earlier = earlier_session(folder, environment, resume=resume)
        self._environment = resumed_environment(self._earlier, environment) if self._earlier else dict(environment)
        self._operations, self._limits, self._store = operations, limits, Store(folder)
        self._store.write_environment(self._environment)

    def built(self, builds: Mapping[str, Any], code: Mapping[str, Any], versions: Mapping[str, str]) -> None:
        """Note the builds, the machine code of each binary, and the versions of nvcc and its headers."""
        self._note(
            builds=builds,
            flags=builds["flags"],
            code={**self._environment.get("code", {}), **code},
            versions={**self._environment["versions"], **versions},
        )

    def unfinished(
        self, plans: Sequence[CasePlan], caches: Collection[str], progress: Progress
    ) -> tuple[CasePlan, ...]:
        """The cases that an earlier session has not finished, see resuming.unfinished_plans."""
        return unfinished_plans(self._earlier, plans, () if self._limits is None else caches, progress)

    def append(self, results: Sequence[Result]) -> None:
        """Write the rows and samples of one case."""
        suite, operations = self._environment["suite"], self._operations
        rows = [rows_of(suite, operations[one.case.operation], one, self._limits) for one in results]
        samples = [line for result, own in zip(results, rows, strict=True) for line in samples_of(result, own)]
        self._store.append([row for own in rows for row in own], samples)

    def finish(self, wall_s: float, spent: Mapping[str, float]) -> None:
        """Note that every case is measured, how long the run took, and on which tasks."""
        seconds = {what: round(taken, 2) for what, taken in spent.items()}
        self._note(finished=utc_now(), wall_s=round(wall_s, 1), seconds=seconds)

    def add_self_test(self, found: Mapping[str, Any]) -> None:
        self._note(self_test={**self._environment["self_test"], **found})

    def add_counters(self, launches: Iterable[CountedLaunch], about: Mapping[str, Any]) -> None:
        """Write counters.csv; `about`: the pass, for environment.json."""
        write_counters(self._store.folder, launches)
        self._note(counters=dict(about))

    def read(self) -> Run:
        return read_run(self._store.folder)

    def _note(self, **known: Any) -> None:
        self._environment.update(known)
        self._store.write_environment(self._environment)
