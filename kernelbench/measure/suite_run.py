"""A suite that is measured into a run on disk: every case is there once it and those before it are finished."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelbench.core.progress import Progress
from kernelbench.core.records import CasePlan, Limits, Suite
from kernelbench.core.stopwatch import STARTING, Stopwatch
from kernelbench.measure.bench import Bench, run_cases
from kernelbench.measure.opening import MeasureRequest
from kernelbench.planning.catalog import Catalog
from kernelbench.planning.twins import originals_by_twin
from kernelbench.runs.environment import start_environment
from kernelbench.runs.folders import folder_to_itself
from kernelbench.runs.recording import Recording


@dataclass
class SuiteRun:
    """`title`: what is measured, in words; `limits`: None on the simulator, which times nothing."""

    suite: Suite
    title: str
    request: MeasureRequest
    catalog: Catalog
    bench: Bench
    limits: Limits | None
    progress: Progress
    stopwatch: Stopwatch = field(default_factory=Stopwatch)

    def __post_init__(self) -> None:
        self._started = time.monotonic()

    @contextmanager
    def into(
        self,
        folder: Path,
        plans: Sequence[CasePlan],
        *,
        twins: bool,
        resume: bool = False,
        **about: Any,
    ) -> Iterator[Recording]:
        """The run in `folder`, which no other process writes meanwhile. `twins`: whether the plans have some; `about`:
        further entries of environment.json."""
        request, bench, catalog = self.request, self.bench, self.catalog
        with folder_to_itself(folder):
            environment = start_environment(
                *(self.suite, plans, originals_by_twin(plans) if twins else None, bench.environment(), self.limits),
                *(catalog.own, request.seed, request.arguments),
            )
            yield Recording(folder, {**environment, **about}, catalog.operations, self.limits, resume=resume)

    def measure(self, record: Recording, plans: Sequence[CasePlan]) -> None:
        """Measure the cases that `record` has not finished yet; `plans` have their binaries."""
        from kernelbench.measure.case_run import settings_for

        request, bench = self.request, self.bench
        caches = request.caches or self.suite.caches
        settings = settings_for(request.seed, caches, self.limits, quick=request.quick, energy=request.energy)
        left = record.unfinished(plans, settings.caches, self.progress)
        if left:  # so that times do not depend on the suites before
            with self.stopwatch.on(STARTING):
                bench.renew()
        title = f"{'Counting' if bench.counting else 'Measuring'} {self.title} on {bench.name}"
        run_cases(bench, left, settings, title, self.progress, record.append, self.stopwatch)
        record.finish(time.monotonic() - self._started, self.stopwatch.lap())
