"""gate: two versions of kernels -> pairs whose machine code differs -> measured in the same rounds -> verdicts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kernelbench.compare.gate import GateResult, differing_counts, gate_changes
from kernelbench.core.progress import Progress
from kernelbench.measure.binaries import build_for, machine_code_of, measured_limits
from kernelbench.measure.opening import open_bench
from kernelbench.measure.suite_run import SuiteRun
from kernelbench.measure.versions import (
    BASE,
    common_kernels,
    drop_equal_pairs,
    gate_notes,
    load_versions,
    plans_of_both,
    suites_of,
    with_noise,
)
from kernelbench.walks.request import Request, read_suites


def gate(base: Path, head: Path, request: Request, progress: Progress) -> Iterator[GateResult]:
    """Measure HEAD's kernels beside BASE's, suite by suite, where their machine code differs; without suites those that
    are named like an operation.

    `request.out`: a folder that keeps a run per suite; None keeps none.
    """
    from kernelbench.build import find_compiler

    versions, paths = load_versions(base, head), {"base": str(base), "head": str(head)}
    request = replace(request, kernels=versions.own, suites=request.suites or suites_of(versions, base, head))
    suites = [common_kernels(suite, versions) for suite in read_suites(request, versions.head, progress)]
    compiler, limits = find_compiler(request.nvcc), None
    with TemporaryDirectory() as scratch, open_bench(request, versions.head, progress) as bench:
        for suite in suites:
            both = plans_of_both(bench, suite, versions)
            built, builds = build_for(both, bench, compiler, progress)
            plans = [plan for plan in map(drop_equal_pairs, built) if plan.planned]
            total, differing = (sum(len(plan.planned) // 2 for plan in some) for some in (both, plans))
            about = suite.name, bench.name, bench.counting, total, total - differing
            notes = list(gate_notes(suite, versions))
            if not plans:
                yield GateResult(*about, None, (), notes)
                continue
            if limits is None and not bench.counting:
                limits = measured_limits(bench, compiler, progress)
            plans = plans if bench.counting else [with_noise(plan) for plan in plans]
            title, folder = f"both versions of {suite.name}", (request.out or Path(scratch)) / suite.name
            measuring = SuiteRun(suite, title, request, versions.head, bench, limits, progress)
            with measuring.into(folder, plans, twins=not bench.counting, gate=paths) as record:
                record.built(builds, machine_code_of(plans), compiler.versions)
                measuring.measure(record, plans)
                run = record.read()
            names = {name: name + BASE for name in suite.implementations}
            yield GateResult(*about, gate_changes(run, names, paths), list(differing_counts(run, names)), notes)
