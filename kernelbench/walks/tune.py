"""tune: kernels and their cases -> device -> candidates, planned, built, verified and timed -> what a table keeps."""

import time
from collections.abc import Iterator, Sequence

from kernelbench.core.progress import Progress
from kernelbench.measure import kernel_tuner
from kernelbench.measure.opening import opened_to_tune
from kernelbench.measure.search import Search
from kernelbench.planning.candidates import Tuned
from kernelbench.planning.catalog import load_catalog
from kernelbench.suite.to_tune import cases_to_tune, kernels_to_tune
from kernelbench.walks.request import Request, read_suites

BUDGET_S = 300.0


def tune(
    operation: str, names: Sequence[str], request: Request, progress: Progress, *, budget_s: float = BUDGET_S
) -> Iterator[Tuned]:
    """Search each case; the cases share the time that is left evenly.

    `names`: implementations; none: all of the operation that can be tuned. A request without suites means the cases
    that these implementations name.
    """
    from kernelbench.build import find_compiler

    catalog = load_catalog(specimens=True, own=request.kernels)
    kernels = kernels_to_tune(operation, names, catalog.implementations)
    if any(one.tunable and one.tunable.candidates is None for one in kernels):
        kernel_tuner.load()  # an error before anything is measured
    jobs = cases_to_tune(kernels, read_suites(request, catalog) if request.suites else (), request.filters)
    with opened_to_tune(request, catalog, progress) as bench:
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
