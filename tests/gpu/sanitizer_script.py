"""What runs under compute-sanitizer: launches, each once, on arrays that are allocations of their own and exact size.

    python sanitizer_script.py kernels FILE            every kernel that is no specimen, on small cases
    python sanitizer_script.py kernels FILE without-mailboxes
                                                       the same without mailboxes of several clusters of 16 blocks
    python sanitizer_script.py TOOL FILE               what that tool must find: specimens and planted faults

Writes FILE, JSON: how many launches of how many implementations there were, and how many cases were left out. Outputs
are not read back, for parts of them that no kernel writes are uninitialised memory.
"""

import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # to run as a program from anywhere

from kernelbench.build import BuildRequest  # noqa: E402
from kernelbench.core.records import (  # noqa: E402
    ArraySpec,
    Binary,
    Case,
    DeviceProperties,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
)
from kernelbench.planning.case_plans import plan_case  # noqa: E402
from tests.build.binaries import all_built  # noqa: E402
from tests.catalog import catalog  # noqa: E402
from tests.gpu import shapes  # noqa: E402
from tests.gpu.techniques import techniques  # noqa: E402

DTYPES = ("float32", "float16", "int8")  # what bfloat16 does is what float16 does
DRAWN_ELEMENTS = 2**18  # longer inputs repeat so many, for the host takes long to draw them
PLANTED = {
    "memcheck": "planted_out_of_bounds",
    "racecheck": "planted_race",
    "initcheck": "planted_uninitialised",
    "synccheck": "planted_stray_lane",
}
WITHOUT_MAILBOXES = "without-mailboxes"
LARGE_CLUSTER = 16  # blocks
# Specimens whose results are most often right, with a case that shows what is wrong; verification finds the others.
RACES = {
    "paddle_as_published": Case("log_softmax", (3, 300), -1, "float32"),
    "tree_unrolled_as_published": Case("reduce_sum", (500,), -1, "float32"),
}


@dataclass(frozen=True)
class Job:
    """One implementation of one case."""

    implementation: Implementation
    case: Case
    specs: tuple[ArraySpec, ...]
    plan: LaunchPlan

    def request(self, architecture: str) -> BuildRequest:
        assert self.implementation.source is not None
        return BuildRequest.of(self.implementation.source, self.plan, architecture)


def kernels(device: DeviceProperties) -> Iterator[Job]:
    """All that has a plan and is no specimen, CUB's host code included; of what is written here every technique."""
    known = catalog()
    for one in techniques(device, DTYPES[:2]):
        yield Job(one.implementation, one.case, known.operations[one.case.operation].arrays(one.case), one.plan)
    for case in shapes.unaligned_cases():
        if case.dtype in DTYPES:
            operation = known.operations[case.operation]
            for one in known.implementations[case.operation].values():
                planned = plan_case(case, operation, one, device)
                if planned.status == "ok" and planned.plan is not None:
                    yield Job(one, case, operation.arrays(case), planned.plan)
                elif planned.status == "failed":
                    raise SystemExit(f"{one.name}, {case.key}: {planned.reason}")


def faults(tool: str, device: DeviceProperties) -> Iterator[Job]:
    """The planted fault comes last: it may end the context."""
    known = catalog(specimens=True)
    if tool == "racecheck":
        for name, case in RACES.items():
            one = known.implementations[case.operation][name]
            planned = plan_case(case, known.operations[case.operation], one, device)
            assert planned.plan is not None, planned.reason
            yield Job(one, case, known.operations[case.operation].arrays(case), planned.plan)
    entry = PLANTED[tool]
    plan = LaunchPlan((Launch(entry, (1, 1, 1), (64, 1, 1), ("x", "y")),))
    source = Path(__file__).with_name("planted.cu")
    one = Implementation(entry, entry, Origin("written here"), plan=lambda *_: plan, source=source)
    y = ArraySpec("y", (63 if tool == "memcheck" else 64,), "float32", "output")
    yield Job(one, Case("planted", (64,), -1, "float32"), (ArraySpec("x", (64,), "float32", "input"), y), plan)


def jobs(what: str, device: DeviceProperties) -> list[Job]:
    return list(kernels(device) if what == "kernels" else faults(what, device))


def has_mailboxes(job: Job, binary: Binary) -> bool:
    """Whether several clusters of 16 blocks use mbarriers, which not every synccheck can run: see mailboxes.cu."""
    if job.plan.host is not None or all(prod(launch.grid) <= LARGE_CLUSTER for launch in job.plan.launches):
        return False
    ptx = binary.ptx_path.read_text()
    return f".reqnctapercluster {LARGE_CLUSTER}," in ptx and "mbarrier" in ptx


def built(chosen: Sequence[Job], architecture: str) -> Mapping[BuildRequest, Binary]:
    return all_built({job.request(architecture) for job in chosen})


def exact_device() -> Any:
    """A CudaDevice without what makes times good: no choice of contexts and streams, no pool, no red zones."""
    import cupy
    import numpy as np

    from kernelbench.core import dtypes
    from kernelbench.devices.cuda import CudaDevice
    from kernelbench.devices.cuda.properties import properties_of
    from tests.kernels.simulated import random_input

    class ExactDevice(CudaDevice):
        def __init__(self) -> None:
            cupy.cuda.set_allocator(None)  # every array is a cudaMalloc of its own
            self.properties = properties_of(0)
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self._modules = {}

        def allocate(self, specs: Sequence[ArraySpec]) -> dict[str, Any]:
            arrays = {spec.name: cupy.ndarray(spec.shape, dtypes.storage(spec.dtype)) for spec in specs}
            for number, spec in enumerate(specs):
                if spec.role == "input":
                    drawn = random_input(replace(spec, shape=(min(prod(spec.shape), DRAWN_ELEMENTS),)), 7 + number)
                    arrays[spec.name].set(np.resize(drawn, spec.shape))
            cupy.cuda.runtime.deviceSynchronize()
            return arrays

        def _scratch_buffers(self, plan: LaunchPlan, owner: int) -> Mapping[str, Any]:
            return {name: cupy.ndarray((nbytes,), np.uint8) for name, nbytes in plan.scratch}

        def launch(self, job: Job, binary: Binary) -> None:
            arrays = self.allocate(job.specs)
            self.executable(job.implementation, job.case, job.plan, binary, arrays)()
            cupy.cuda.runtime.deviceSynchronize()

    return ExactDevice()


def main(what: str, file: str, left_out: str = "") -> None:
    device = exact_device()
    architecture = device.properties.architecture
    everything = jobs(what, device.properties)
    binaries = built(everything, architecture)
    chosen = [
        job
        for job in everything
        if left_out != WITHOUT_MAILBOXES or not has_mailboxes(job, binaries[job.request(architecture)])
    ]
    counts = {"left_out": len(everything) - len(chosen), "launches": 0, "calls_of_host_code": 0}
    for job in chosen:
        print(f"{job.case.operation} {job.implementation.name} {job.case.key}", flush=True)
        try:
            device.launch(job, binaries[job.request(architecture)])
        except Exception:
            if what != "kernels":  # what is planted may end the context; the tool then reports to its end
                raise
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)  # without destructors: the error would be repeated for all that is unloaded
        counts["launches"] += len(job.plan.launches)
        counts["calls_of_host_code"] += job.plan.host is not None
    names = {(job.case.operation, job.implementation.name) for job in chosen}
    Path(file).write_text(json.dumps({"implementations": len(names), "cases": len(chosen), **counts}))


if __name__ == "__main__":
    main(*sys.argv[1:])
