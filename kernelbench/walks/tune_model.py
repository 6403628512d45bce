"""tune --model: kernels and cases -> build all candidates -> time, record -> fit a cost function -> its constants."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import kernelbench
from kernelbench.core import places
from kernelbench.core.cost_model import CostModel
from kernelbench.core.errors import InputError
from kernelbench.core.progress import Progress
from kernelbench.core.records import DeviceProperties, Implementation
from kernelbench.devices.known import KNOWN, known_gpu
from kernelbench.measure.binaries import measured_limits
from kernelbench.measure.candidate_times import Job, build_candidates, time_candidates
from kernelbench.measure.opening import opened_to_tune
from kernelbench.planning.candidate_quantities import with_quantities
from kernelbench.planning.catalog import Catalog, load_catalog
from kernelbench.planning.cost_constants import SUFFIX, Fitted, write_fitted
from kernelbench.planning.cost_fit import Fit, fit
from kernelbench.planning.overrides import overrides
from kernelbench.planning.tuned import file_name, source_hash, write_table
from kernelbench.runs.candidate_times import append_times, read_times, recorded_cases
from kernelbench.runs.environment import now
from kernelbench.suite.to_tune import cases_to_rank, kernels_to_rank
from kernelbench.walks.request import Request, read_suites

WITHIN = 2.0  # slower candidates, as the cost function expects before it is fitted, are not timed
SLICE = 24  # cases whose candidates are built together, before they are timed


@dataclass(frozen=True)
class ModelFit:
    """A cost function's fit, from which file, and the file of its constants."""

    model: str
    gpu: str
    fit: Fit
    unknown: int  # timed candidates that are no longer listed
    recorded: Path
    constants: Path
    table: Path
    entries: int  # added to the table


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
        paths = {_model(one).name: folder / _recorded_name(bench.properties.name, _model(one)) for one in kernels}
        sources = {f"{one.operation}/{one.name}": source_hash(one.source) for one in kernels}
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
                    append_times(paths[_model(job[0]).name], found)
                done += 1
        if done < len(left):
            progress.say(f"The time is up: {len(left) - done} of {len(jobs)} cases are left; run it again to go on")
        return bench.properties


def fit_models(
    operation: str,
    names: Sequence[str],
    request: Request,
    folder: Path,
    here: DeviceProperties | None = None,
    out: Path | None = None,
) -> Iterator[ModelFit]:
    """Fit the kernels' cost functions to what `folder` holds of any known GPU, or of the GPU that is `here`, and write
    the constants beside it; and into the table `out`, or the one beside it, what is faster than the choices."""
    catalog = load_catalog(specimens=True, own=request.kernels)
    models = {_model(one).name: _model(one) for one in kernels_to_rank(operation, names, catalog.implementations)}
    found = [(path, model) for model in models.values() for path in sorted(folder.glob(f"*.{model.name}.csv"))]
    if not found:
        raise InputError(f"{folder}: no times of candidates of {', '.join(models)}; leave out --refit to measure them")
    for path, model in found:
        times = read_times(path)
        gpus = {one.gpu for one in times}
        if len(gpus) != 1:
            raise InputError(f"{path}: times of {', '.join(sorted(gpus)) or 'no GPU'}; expected those of one GPU")
        (gpu,) = gpus
        properties = _properties(gpu, here, path)
        samples = with_quantities(times, properties, catalog)
        fitted = fit(model, samples)
        place = folder / f"{Path(file_name(gpu)).stem}.{model.name}{SUFFIX}"
        document = _document(gpu, model, fitted, path)
        write_fitted(place, document, model)
        table = out or folder / file_name(gpu)
        entries = list(overrides(fitted, properties, catalog, path.name, document.date))
        if entries:
            write_table(table, gpu, entries)
        yield ModelFit(model.name, gpu, fitted, len(times) - len(samples), path, place, table, len(entries))


def _properties(gpu: str, here: DeviceProperties | None, path: Path) -> DeviceProperties:
    found = [one for one in (here, *KNOWN.values()) if one is not None and one.name == gpu]
    if not found:
        raise InputError(f"{path}: times of {gpu}, whose properties are not known; fit them on it, without --refit")
    return found[0]


def _document(gpu: str, model: CostModel, found: Fit, recorded: Path) -> Fitted:
    return Fitted(
        gpu=gpu,
        model=model.name,
        run=recorded.name,
        date=now(),
        kernelbench=kernelbench.__version__,
        cases=found.cases,
        candidates=found.candidates,
        within_3_percent=round(found.validated.within_3_percent, 3),
        within_10_percent=round(found.validated.within_10_percent, 3),
        constants=found.constants,
    )


def _jobs(kernels: Sequence[Implementation], request: Request, catalog: Catalog) -> list[Job]:
    suites = read_suites(request, catalog) if request.suites else []
    return cases_to_rank(kernels, suites, request.filters, request.seed)


def _model(one: Implementation) -> CostModel:
    assert one.tunable is not None
    assert one.tunable.model is not None
    return one.tunable.model


def _recorded_name(gpu: str, model: CostModel) -> str:
    """`nvidia-h200.softmax.csv`."""
    return f"{Path(file_name(gpu)).stem}.{model.name}.csv"


def default_folder() -> Path:
    """Where plans read constants; InputError if there is no such folder."""
    if (folder := places.own_tuned()) is None:
        raise InputError("no folder to keep constants in; name one by --times or in KERNELBENCH_TUNED")
    return folder
