"""`kernelbench tune`: which cases of which implementations to search launch parameters for, and for how long each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbench.core import dtypes
from kernelbench.core.errors import InputError, NoDevice, Unsupported
from kernelbench.core.progress import Progress
from kernelbench.core.records import Case, Implementation, Suite
from kernelbench.core.tunable import Tunable
from kernelbench.measure.bench import Bench
from kernelbench.measure.worker import PATIENCE_S
from kernelbench.planning.candidates import Tuned
from kernelbench.planning.catalog import Catalog, load_catalog
from kernelbench.walks import tuner
from kernelbench.walks.candidate_search import Search
from kernelbench.walks.pipeline import DEFAULT_SEED, Request, opened, read_suites

if TYPE_CHECKING:
    from kernelbench.build import Compiler

BUDGET_S = 300.0


@dataclass(frozen=True)
class TuneRequest:
    """What the user asked for; the defaults are those of the command line."""

    operation: str
    implementations: Sequence[str] = ()  # none: all of the operation that can be tuned
    suite: str | None = None  # whose cases; None: those that the implementation names
    filters: Sequence[str] = ()
    budget_s: float = BUDGET_S
    device: str = "auto"
    kernels: Sequence[Path] = ()
    nvcc: Path | None = None
    seed: int = DEFAULT_SEED
    in_process: bool = False
    wait: bool = True
    patience_s: float = PATIENCE_S

    def as_run(self) -> Request:
        """The same as a run of the suite asks for it."""
        return Request(
            suites=(self.suite,) if self.suite else (),
            device="cuda" if self.device == "auto" else self.device,
            filters=self.filters,
            nvcc=self.nvcc,
            seed=self.seed,
            kernels=self.kernels,
            in_process=self.in_process,
            wait=self.wait,
            patience_s=self.patience_s,
        )


def tune(request: TuneRequest, progress: Progress) -> Iterator[Tuned]:
    """Each case when it is searched; the time that is left is shared evenly by the cases that are left."""
    from kernelbench.build import find_compiler

    tuner.kernel_tuner()  # said before anything is measured
    catalog = load_catalog(specimens=True, own=request.kernels)
    jobs = jobs_of(request, catalog)
    if request.device.partition(":")[0] == "simulated":
        raise InputError(f"--device {request.device}: tune times candidates, and the simulator times nothing")
    with ExitStack() as stack:
        try:
            bench = stack.enter_context(opened(request.as_run(), catalog, progress))
        except NoDevice as error:
            raise NoDevice(f"tune times candidates, so it needs a GPU. {error}") from error
        yield from tune_all(jobs, request, catalog, bench, find_compiler(request.nvcc), progress)


def tune_all(
    jobs: Sequence[tuple[Implementation, Case]],
    request: TuneRequest,
    catalog: Catalog,
    bench: Bench,
    compiler: Compiler,
    progress: Progress,
) -> Iterator[Tuned]:
    deadline = time.monotonic() + request.budget_s
    for number, (one, case) in enumerate(jobs):
        seconds = (deadline - time.monotonic()) / (len(jobs) - number)
        if number and seconds <= 0:
            progress.say(f"The time is up: {len(jobs) - number} of {len(jobs)} cases are left out (--budget)")
            return
        search = Search(bench, compiler, catalog.operations[case.operation], one, case, request.seed)
        title = f"{case.operation}/{one.name}, case {number + 1} of {len(jobs)}"
        with progress.stage(title, search.size) as advance:
            found = search.run(seconds, advance)
        yield found


def jobs_of(request: TuneRequest, catalog: Catalog) -> list[tuple[Implementation, Case]]:
    """What is to be tuned; of several cases that an entry could not tell apart the first."""
    chosen = _implementations(request, catalog)
    suites = read_suites(request.as_run(), catalog) if request.suite else []
    if suites and not any(case.operation == request.operation for suite in suites for case in suite.cases):
        raise InputError(f"--suite {request.suite}: has no case of {request.operation}; see kernelbench list suites")
    jobs: dict[tuple[Any, ...], tuple[Implementation, Case]] = {}
    for one in chosen:
        assert one.tunable is not None
        cases = [case for suite in suites for case in suite.cases] if suites else _own_cases(one, request)
        for case in cases:
            if case.operation == request.operation:
                jobs.setdefault((one.name, *_place(one.tunable, case)), (one, case))
    return list(jobs.values())


def _place(tunable: Tunable, case: Case) -> tuple[str, str, int]:
    try:
        layout = tunable.layout(case)
    except Unsupported:  # which the plan refuses as well, in words for the user
        layout = case.key
    return case.dtype, layout, case.elements * dtypes.itemsize(case.dtype)


def _implementations(request: TuneRequest, catalog: Catalog) -> list[Implementation]:
    from kernelbench.core.problems import suggest

    able = {name: [one for one in own.values() if one.tunable] for name, own in catalog.implementations.items()}
    if request.operation not in able:
        raise InputError(f"no operation '{request.operation}'{suggest(request.operation, list(able))}")
    found = {one.name: one for one in able[request.operation]}
    if not found:
        others = ", ".join(name for name, own in able.items() if own)
        raise InputError(f"{request.operation}: no kernel of it says what can be tuned; those of {others} do")
    for name in request.implementations:
        if name not in found:
            raise InputError(f"--implementation {name}: {request.operation} has {', '.join(found)} that can be tuned")
    return [found[name] for name in request.implementations or found]


def _own_cases(one: Implementation, request: TuneRequest) -> Sequence[Case]:
    from kernelbench.suite import select_cases

    assert one.tunable is not None
    if not one.tunable.cases:
        raise InputError(f"{one.operation}/{one.name} names no cases to be tuned for; add --suite NAME")
    suite = Suite(f"{one.operation}/{one.name}", Path(), "", one.operation, one.tunable.cases, (one.name,))
    return select_cases(suite, request.filters).cases if request.filters else suite.cases
