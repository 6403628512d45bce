"""tune --model, first half: kernels and cases -> all candidates built -> timed -> recorded."""

import time
from collections.abc import Sequence
from pathlib import Path

from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.progress import Progress
from kernelbench.core.records import Implementation
from kernelbench.devices.known import known_gpu
from kernelbench.measure.binaries import measured_limits
from kernelbench.measure.candidate_times import Job, build_candidates, time_candidates
from kernelbench.measure.opening import opened_to_tune
from kernelbench.planning.catalog import Catalog, load_catalog
from kernelbench.planning.tuned import source_hashes, times_file
from kernelbench.runs.candidate_times import append_times, recorded_cases
from kernelbench.suite.to_tune import cases_to_rank, cost_model, kernels_to_rank
from kernelbench.walks.request import Request, read_suites

WITHIN = 2.0  # times its choice: candidates that the unfitted cost function expects to be slower are not timed
SLICE = 24  # cases whose candidates are built together, before they are timed


def prepare_model(
    operation: str, names: Sequence[str], gpu: str, request: Request, progress: Progress, *, within: float = WITHIN
) -> str:
    """Build all candidates for a GPU that need not be here; returns what was built."""
    from kernelbench.build import find_compiler

    catalog = load_catalog(specimens=True, own=request.kernels)
    jobs = _jobs(kernels_to_rank(operation, names, catalog.implementations), request, catalog)
    device, compiler = known_gpu(gpu), find_compiler(request.nvcc)
    found = build_candidates(jobs, catalog.operations[operation], device, within, compiler, progress)
    return f"{len(jobs)} cases: {found['binaries']} binaries, {found['compiled']} compiled, {found['failed']} failed"


def record_model(
    operation: str,
    names: Sequence[str],
    request: Request,
    progress: Progress,
    folder: Path,
    *,
    budget_s: float,
    within: float = WITHIN,
) -> DeviceProperties:
    """Time the candidates of the cases and add them to the files in `folder`, until the time is up. Cases that are
    there already are passed over. Returns the GPU's properties."""
    from kernelbench.build import find_compiler

    catalog = load_catalog(specimens=True, own=request.kernels)
    kernels = kernels_to_rank(operation, names, catalog.implementations)
    jobs = _jobs(kernels, request, catalog)
    with opened_to_tune(request, catalog, progress, without="; --refit needs none") as bench:
        compiler, deadline, done = find_compiler(request.nvcc), time.monotonic() + budget_s, 0
        paths = {cost_model(one).name: times_file(folder, bench.properties.name, cost_model(one)) for one in kernels}
        sources = {f"{one.operation}/{one.name}": source_hashes(one) for one in kernels}
        there = recorded_cases(paths.values(), sources)
        left = [(one, case) for one, case in jobs if (f"{one.operation}/{one.name}", case.key) not in there]
        limits = measured_limits(bench, compiler, progress)
        operation_ = catalog.operations[operation]
        for start in range(0, len(left), SLICE):
            part = left[start : start + SLICE]
            if not start or time.monotonic() < deadline:
                build_candidates(part, operation_, bench.properties, within, compiler, progress)
            for job in part:
                if done and time.monotonic() >= deadline:
                    break
                title = f"{operation}/{job[0].name}, case {len(jobs) - len(left) + done + 1} of {len(jobs)}"
                found = time_candidates(job, operation_, within, bench, compiler, request.seed, limits, progress, title)
                if found:
                    append_times(paths[cost_model(job[0]).name], found)
                done += 1
        if done < len(left):
            progress.say(f"The time is up: {len(left) - done} of {len(jobs)} cases are left; run it again to go on")
        return bench.properties


def _jobs(kernels: Sequence[Implementation], request: Request, catalog: Catalog) -> list[Job]:
    suites = read_suites(request, catalog) if request.suites else []
    return cases_to_rank(kernels, suites, request.filters, request.seed)
