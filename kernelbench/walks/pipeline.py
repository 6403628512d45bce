"""The walk: suite -> cases -> plan -> build -> verify -> measure -> results -> compare -> report.

The only module that knows the order of the rooms. It prints nothing: progress goes to the `Progress` it
is given, results come back as records.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbench.core import places
from kernelbench.core.errors import InputError, NoDevice
from kernelbench.core.progress import Progress
from kernelbench.core.records import DeviceProperties, Limits, Operation, Result, Suite
from kernelbench.core.stopwatch import BUILDING, LIMITS, OTHER, REPORTING, STARTING, Stopwatch
from kernelbench.devices.gpu_lock import gpu_to_itself
from kernelbench.measure.bench import Bench, CaseLost, make_thorough, shares, total_weight
from kernelbench.measure.ready import built, machine_code_of, made_ready, measured_limits
from kernelbench.measure.worker import PATIENCE_S, open_bench
from kernelbench.planning.case_plans import CasePlan, plan_suite, tuned_text
from kernelbench.planning.catalog import Catalog, load_catalog
from kernelbench.planning.tuned import Tables, tables_for
from kernelbench.planning.twins import twins_text, with_twins
from kernelbench.runs.folders import expected_text, folder_to_itself, new_folder
from kernelbench.runs.results import Run, Store, read_run
from kernelbench.runs.rows import rows_of, samples_of
from kernelbench.walks import answers, environment
from kernelbench.walks.answers import Answer
from kernelbench.walks.resuming import earlier_session, resumed, unfinished

if TYPE_CHECKING:
    from kernelbench.build import Compiler

DEFAULT_SEED = 20260401


@dataclass(frozen=True)
class Request:
    """What the user asked for; the defaults are those of the command line."""

    suites: Sequence[str]
    device: str = "auto"
    only: Sequence[str] = ()
    filters: Sequence[str] = ()
    caches: Sequence[str] = ()
    quick: bool = False
    self_test: bool = False  # every implementation beside a twin of itself
    resume: bool = False
    out: Path | None = None
    nvcc: Path | None = None
    seed: int = DEFAULT_SEED
    specimens: bool = False
    kernels: Sequence[Path] = ()  # the user's own folders; their implementations join every suite of their operation
    full: bool = False  # on the simulator: every block of every grid
    strict: bool = False  # on the simulator: every check it knows
    in_process: bool = False  # on a GPU: no worker, for debuggers and profilers
    wait: bool = True  # for another run that uses the GPU
    patience_s: float = PATIENCE_S  # of a kernel without a sign of life, until its process is ended
    inputs: Sequence[str] = ()  # distributions that `check` verifies on; none: all that the operation has
    arguments: Sequence[str] = ()  # the command line, for environment.json


# ---- run -----------------------------------------------------------------------------------------


def run(request: Request, progress: Progress) -> Iterator[Answer]:
    """Measure the suites one after the other; each answer comes when its suite is done and on disk."""
    from kernelbench.build import find_compiler

    stopwatch = Stopwatch()
    catalog = load_catalog(specimens=True, own=request.kernels)
    suites = read_suites(request, catalog)
    if not request.in_process:  # else what is imported here holds up who measures here
        answers.prepare()
    with ExitStack() as stack:
        with stopwatch.on(STARTING):
            bench = stack.enter_context(opened(request, catalog, progress))
        if bench.counting and request.self_test:
            raise InputError(f"--self-test: {bench.name} times nothing; it needs a GPU")
        compiler, limits = find_compiler(request.nvcc), None
        if not bench.counting:
            part = request.only or request.filters or request.caches or request.quick or request.self_test
            if not part and (expected := expected_text([suite.name for suite in suites])):
                progress.say(expected)
            with stopwatch.on(LIMITS):
                limits = measured_limits(bench, compiler, progress)
        for suite in suites:
            folder = request.out or new_folder(suite, bench.name, progress, resume=request.resume)
            with folder_to_itself(folder):
                done = run_suite(suite, folder, request, catalog, bench, compiler, limits, progress, stopwatch)
            with stopwatch.on(REPORTING):
                yield answers.answer(done)
            stopwatch.lap()  # which is none of the next suite's
    if not bench.counting:
        progress.say(stopwatch.line())


def run_suite(
    suite: Suite,
    folder: Path,
    request: Request,
    catalog: Catalog,
    bench: Bench,
    compiler: Compiler,
    limits: Limits | None,
    progress: Progress,
    stopwatch: Stopwatch,
) -> Run:
    """Plan, build and measure one suite; every finished case is on disk before the next begins."""
    from kernelbench.compare.self_test import self_test
    from kernelbench.measure.case import Settings
    from kernelbench.measure.rounds import QUICK, Precision
    from kernelbench.measure.timing import CACHES

    started = time.monotonic()
    plans = plan_suite(suite, catalog, bench.properties, tables_of(bench))
    plans = tuple(with_twins(plan) for plan in plans) if request.self_test else plans
    state = _state(suite, request, bench, limits, plans, catalog.own)
    earlier = earlier_session(folder, state, resume=request.resume)
    state = resumed(earlier, state) if earlier else state
    store = Store(folder)
    store.write_environment(state)

    with stopwatch.on(BUILDING):
        plans, builds = made_ready(plans, bench, compiler, progress)
    state.update(
        builds=builds,
        flags=builds["flags"],
        code={**state.get("code", {}), **machine_code_of(plans)},
        versions={**state["versions"], "nvcc": compiler.version},
    )
    store.write_environment(state)

    precision = QUICK if request.quick else Precision()
    caches = [cache for cache in CACHES if cache in (request.caches or suite.caches)]
    plans = unfinished(earlier, plans, () if bench.counting else caches, progress)
    settings = Settings(request.seed, caches, precision, limits)
    doing = "Counting" if bench.counting else "Measuring"
    with progress.stage(f"{doing} {suite.name} on {bench.name}", total_weight(bench.counting, plans)) as advance:
        for plan in plans:
            operation, done = catalog.operations[plan.case.operation], shares(advance, bench.counting, plan)
            try:
                with stopwatch.on(OTHER):
                    results = bench.run(plan, settings, done)
                    stopwatch.move(bench.spent())
                _append(store, suite, operation, results, limits)
            except CaseLost as error:
                _append(store, suite, operation, error.results, limits)
                raise
            done(1.0)
    seconds = {what: round(taken, 2) for what, taken in stopwatch.lap().items()}
    state.update(finished=environment.now(), wall_s=round(time.monotonic() - started, 1), seconds=seconds)
    store.write_environment(state)
    if request.self_test:
        state["self_test"] |= self_test(read_run(folder))
        store.write_environment(state)
    return read_run(folder)


def _state(
    suite: Suite,
    request: Request,
    bench: Bench,
    limits: Limits | None,
    plans: Sequence[CasePlan],
    own: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """environment.json as far as it is known before anything is built."""
    names = [one.implementation for plan in plans for one in plan.planned]
    return {
        **environment.start_environment(suite, request.seed, request.arguments),
        "device": dict(bench.environment()),
        "limits": environment.limits_text(limits) if limits else {},
        "implementations": environment.implementations_text(names),
        **({"calls": calls} if (calls := environment.calls_text(names, own)) else {}),
        **({"self_test": {"twins": twins_text(plans)}} if request.self_test else {}),
        **({"tuned": tuned} if (tuned := tuned_text(plans)) else {}),
    }


def _append(store: Store, suite: Suite, operation: Operation, results: Sequence[Result], limits: Limits | None) -> None:
    rows = [rows_of(suite.name, operation, result, limits) for result in results]
    samples = [line for result, own in zip(results, rows, strict=True) for line in samples_of(result, own)]
    store.append([row for own in rows for row in own], samples)


def tables_of(bench: Bench) -> Tables | None:
    """What was tuned on this GPU; the simulator counts what the plans' own rules give."""
    return None if bench.counting else tables_for(bench.properties.name)


def check(request: Request, progress: Progress) -> Iterator[Result]:
    """Verify every implementation on every case with every distribution of its inputs, and time nothing."""
    from kernelbench.build import find_compiler
    from kernelbench.measure.case import Settings
    from kernelbench.suite import with_inputs

    catalog = load_catalog(specimens=True, own=request.kernels)
    suites = [with_inputs(suite, catalog.operations, request.inputs) for suite in read_suites(request, catalog)]
    with opened(request, catalog, progress) as bench:
        compiler = find_compiler(request.nvcc)
        for suite in suites:
            plans = plan_suite(suite, catalog, bench.properties, tables_of(bench))
            plans, _ = made_ready(plans, bench, compiler, progress)
            title = f"Checking {suite.name} on {bench.name}"
            with progress.stage(title, total_weight(bench.counting, plans)) as advance:
                for plan in plans:
                    done = shares(advance, bench.counting, plan)
                    yield from bench.run(plan, Settings(request.seed), done)
                    done(1.0)


@contextmanager
def opened(request: Request, catalog: Catalog, progress: Progress) -> Iterator[Bench]:
    """The device asked for, told how thorough to be, a GPU to itself; says where the simulator stands in for one."""
    bench = open_bench(
        request.device, catalog, request.kernels, in_process=request.in_process, patience_s=request.patience_s
    )
    with closing(bench):
        make_thorough(bench, full=request.full, strict=request.strict)
        if not bench.counting:
            with gpu_to_itself(bench.environment(), progress, wait=request.wait):
                yield bench
            return
        if request.device == "auto":
            progress.say(f"No GPU here: {bench.name} executes the kernels and counts what they do; nothing is timed.")
        yield bench


# ---- without a GPU -------------------------------------------------------------------------------


def read_suites(request: Request, catalog: Catalog) -> list[Suite]:
    """The suites asked for, with --only and --filter applied, and the user's own kernels and specimens added."""
    from kernelbench.compare import read_ledger
    from kernelbench.suite import find_suite, read_suite, select_cases, select_implementations

    claims = read_ledger(places.LEDGER)
    suites = []
    for name in request.suites:
        path = find_suite(name, places.SUITES)
        whole = read_suite(path, catalog.operations, catalog.implementations, claims)
        suite = replace(whole, whole=whole)
        if suite.step is None:  # a step has no place for a kernel that is wrong, nor for two that do the same
            there = catalog.implementations[suite.operation]
            added = list(catalog.own.get(suite.operation, ()))
            if request.specimens:
                added += [one.name for one in there.values() if one.role == "specimen"]
            suite = replace(suite, implementations=tuple(dict.fromkeys((*suite.implementations, *added))))
        suite = select_implementations(suite, request.only) if request.only else suite
        suites.append(select_cases(suite, request.filters) if request.filters else suite)
    return suites


def planned(request: Request, gpu: DeviceProperties) -> list[tuple[Suite, tuple[CasePlan, ...]]]:
    """Every suite with its launch plans for `gpu`."""
    catalog, tables = load_catalog(specimens=True, own=request.kernels), tables_for(gpu.name)
    return [(suite, plan_suite(suite, catalog, gpu, tables)) for suite in read_suites(request, catalog)]


def gpu_properties(name: str | None) -> DeviceProperties:
    """A GPU of the table by name; for None the one that is here, else an H200."""
    from kernelbench.devices import SIMULATED_GPU, open_device
    from kernelbench.devices.known import known_gpu

    if name:
        return known_gpu(name)
    try:
        return open_device("cuda").properties
    except NoDevice:
        return known_gpu(SIMULATED_GPU)


def build(
    request: Request, gpu: DeviceProperties, progress: Progress
) -> tuple[list[tuple[Suite, tuple[CasePlan, ...]]], dict[str, Any]]:
    """Compile what the suites need on `gpu`; the plans with their binaries, and a summary."""
    from kernelbench.build import find_compiler

    compiler = find_compiler(request.nvcc)
    found = planned(request, gpu)
    plans, summary = built([plan for _, plans in found for plan in plans], compiler, gpu.architecture, progress)
    rest = iter(plans)
    return [(suite, tuple(next(rest) for _ in own)) for suite, own in found], summary
