"""Plans a suite for a device and compiles its kernels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernelbench.core import places
from kernelbench.core.errors import BuildError, InputError
from kernelbench.core.launch_texts import input_loads
from kernelbench.core.progress import Progress
from kernelbench.core.records import Binary, Limits, Suite
from kernelbench.measure.bench import Bench
from kernelbench.planning.case_plans import CasePlan, Planned, plan_suite
from kernelbench.planning.catalog import Catalog
from kernelbench.planning.tuned import tables_for

if TYPE_CHECKING:
    from kernelbench.build import BuildRequest, Compiler

LIMITS_SOURCE = places.KERNELS / "common" / "limits.cu"


def plans_for(bench: Bench, suite: Suite, catalog: Catalog) -> tuple[CasePlan, ...]:
    """The suite's plans: with the tuned launches of a GPU, or by the plans' own rules on the simulator."""
    tables = None if bench.counting else tables_for(bench.properties.name)
    return plan_suite(suite, catalog, bench.properties, tables)


def build_for(
    plans: Sequence[CasePlan], bench: Bench, compiler: Compiler, progress: Progress
) -> tuple[tuple[CasePlan, ...], dict[str, Any]]:
    """`build_plans` for a device, which prepares itself at the same time: the simulator's runtime is compiled once."""
    architecture = bench.properties.architecture
    with ThreadPoolExecutor(1) as pool:
        prepared = pool.submit(bench.prepare)
        found = build_plans(plans, compiler, architecture, progress, notes=bench.counting)
        if prepared.done():
            prepared.result()  # raises what went wrong
        else:
            with progress.stage("Building the simulator, once", 1) as advance:
                prepared.result()
                advance(1, "")
    return found


def build_plans(
    plans: Sequence[CasePlan], compiler: Compiler, architecture: str, progress: Progress, notes: bool = False
) -> tuple[tuple[CasePlan, ...], dict[str, Any]]:
    """The plans with their binaries, and a summary of the build. What does not compile gets the status "failed".

    `notes`: as build() has it, for the simulator.
    """
    from kernelbench.build import FLAGS, build

    started = time.monotonic()
    requests = {one: _request_of(one, architecture) for plan in plans for one in plan.planned}
    wanted = {request for request in requests.values() if request and not isinstance(request, BuildError)}
    with progress.stage("Building kernels", len(wanted)) as advance:
        binaries = build(
            wanted, compiler, places.cache(), on_done=lambda request, *_: advance(1, request.source.stem), notes=notes
        )
    summary = {
        "binaries": len(wanted),
        "compiled": sum(isinstance(binary, Binary) and not binary.cached for binary in binaries.values()),
        "failed": sum(isinstance(binary, BuildError) for binary in binaries.values()),
        "seconds": round(time.monotonic() - started, 2),
        "flags": list(FLAGS),
    }
    if compiler.environment:  # NVCC_APPEND_FLAGS and the like change what nvcc does
        summary["variables"] = dict(compiler.environment)

    def ready(one: Planned) -> Planned:
        request = requests[one]
        if request is None:
            return one
        return _with_binary(one, request if isinstance(request, BuildError) else binaries[request])

    return tuple(replace(plan, planned=tuple(map(ready, plan.planned))) for plan in plans), summary


def _request_of(one: Planned, architecture: str) -> BuildRequest | BuildError | None:
    """What to compile, or why nvcc cannot be called; None for library calls and cases without a plan."""
    from kernelbench.build import BuildRequest

    if one.status != "ok" or one.plan is None or one.implementation.source is None:
        return None
    try:
        return BuildRequest.of(one.implementation.source, one.plan, architecture)
    except InputError as error:  # nvcc would split the path
        return BuildError(str(error), (), "")


def _with_binary(one: Planned, binary: Binary | BuildError) -> Planned:
    if isinstance(binary, BuildError):
        return replace(one, status="failed", reason=str(binary))
    assert one.plan is not None
    try:
        input_loads(one.plan, binary.facts, ())  # checks that the binary holds every kernel of the plan
    except InputError as error:
        return replace(one, status="failed", reason=str(error))
    return replace(one, binary=binary)


def machine_code_of(plans: Sequence[CasePlan]) -> dict[str, Any]:
    """Hash and length of every kernel's machine code, by binary, for claims about machine code."""
    from kernelbench.build import code_hashes

    binaries = {one.binary.key: one.binary for plan in plans for one in plan.planned if one.binary is not None}
    return code_hashes(binaries.values())


def measured_limits(bench: Bench, compiler: Compiler, progress: Progress) -> Limits:
    from kernelbench.build import BuildRequest, build

    request = BuildRequest(LIMITS_SOURCE, (), bench.properties.architecture)
    with progress.stage(f"Floor and ceiling of {bench.name}", 1) as advance:
        binary = build({request}, compiler, places.cache())[request]
        if isinstance(binary, BuildError):
            raise binary
        limits = bench.limits(binary)
        advance(1, "")
    return limits
