"""tune: kernels and their cases -> device -> candidates, planned, built, verified and timed -> what a table keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelbench.core import dtypes
from kernelbench.core.errors import InputError, NoDevice, Unsupported
from kernelbench.core.progress import Progress
from kernelbench.core.records import Case, Implementation, Suite
from kernelbench.core.tunable import Tunable
from kernelbench.measure import kernel_tuner
from kernelbench.measure.opening import opened
from kernelbench.measure.search import Search
from kernelbench.planning.candidates import Tuned
from kernelbench.planning.catalog import Catalog, load_catalog
from kernelbench.walks.request import Request, read_suites

BUDGET_S = 300.0


def tune(
    operation: str, names: Sequence[str], request: Request, progress: Progress, *, budget_s: float = BUDGET_S
) -> Iterator[Tuned]:
    """Search each case; cases share the time that is left evenly.

    `names`: implementations; none: all of the operation that can be tuned. A request without suites means the cases
    that these implementations name.
    """
    from kernelbench.build import find_compiler

    kernel_tuner.load()  # an error before anything is measured
    catalog = load_catalog(specimens=True, own=request.kernels)
    jobs = jobs_of(_implementations(operation, names, catalog), request, catalog)
    if request.device.partition(":")[0] == "simulated":
        raise InputError(f"--device {request.device}: tune times candidates, and the simulator times nothing")
    gpu = replace(request, device="cuda" if request.device == "auto" else request.device)
    with ExitStack() as stack:
        try:
            bench = stack.enter_context(opened(gpu, catalog, progress))
        except NoDevice as error:
            raise NoDevice(f"tune times candidates, so it needs a GPU. {error}") from error
        compiler, deadline = find_compiler(request.nvcc), time.monotonic() + budget_s
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


def jobs_of(chosen: Sequence[Implementation], request: Request, catalog: Catalog) -> list[tuple[Implementation, Case]]:
    """What is to be tuned: the first of all cases that one entry of a table serves."""
    operation, suites = chosen[0].operation, read_suites(request, catalog) if request.suites else []
    if suites and not any(case.operation == operation for suite in suites for case in suite.cases):
        raise InputError(f"--suite {request.suites[0]}: has no case of {operation}; see kernelbench list suites")
    jobs: dict[tuple[Any, ...], tuple[Implementation, Case]] = {}
    for one in chosen:
        assert one.tunable is not None
        cases = [case for suite in suites for case in suite.cases] if suites else _own_cases(one, request.filters)
        for case in cases:
            if case.operation == operation:
                jobs.setdefault((one.name, *_place(one.tunable, case)), (one, case))
    return list(jobs.values())


def _place(tunable: Tunable, case: Case) -> tuple[str, str, int]:
    try:
        layout = tunable.layout(case)
    except Unsupported:  # the plan refuses this case too, and says why
        layout = case.key
    return case.dtype, layout, case.elements * dtypes.itemsize(case.dtype)


def _implementations(operation: str, names: Sequence[str], catalog: Catalog) -> list[Implementation]:
    from kernelbench.core.problems import suggest

    able = {name: [one for one in own.values() if one.tunable] for name, own in catalog.implementations.items()}
    if operation not in able:
        raise InputError(f"no operation '{operation}'{suggest(operation, list(able))}")
    found = {one.name: one for one in able[operation]}
    if not found:
        others = ", ".join(name for name, own in able.items() if own)
        raise InputError(f"{operation}: no kernel of it says what can be tuned; those of {others} do")
    for name in names:
        if name not in found:
            raise InputError(f"--implementation {name}: {operation} has {', '.join(found)} that can be tuned")
    return [found[name] for name in names or found]


def _own_cases(one: Implementation, filters: Sequence[str]) -> Sequence[Case]:
    from kernelbench.suite import select_cases

    assert one.tunable is not None
    if not one.tunable.cases:
        raise InputError(f"{one.operation}/{one.name} names no cases to be tuned for; add --suite NAME")
    suite = Suite(f"{one.operation}/{one.name}", Path(), "", one.operation, one.tunable.cases, (one.name,))
    return select_cases(suite, filters).cases if filters else suite.cases
