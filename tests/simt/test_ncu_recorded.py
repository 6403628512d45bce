"""One access of one warp, as an H200 counted it: every figure of hardware/counters.csv."""

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelbench.build import BuildRequest
from kernelbench.core.counters import Counters
from kernelbench.simt.launch_counters import launch_counters
from kernelbench.simt.lower.program import Program
from kernelbench.simt.machine import Machine
from tests.build.binaries import only_built
from tests.simt.hardware.patterns import LANES, patterns
from tests.simt.harness import Kernels

pytestmark = pytest.mark.nvcc

FOLDER = Path(__file__).parent / "hardware"
SHARED_BYTES = 32 * 1024
ELEMENTS = 33 * LANES  # of the longest stride

GLOBAL, SHARED = "_pipe_lsu_mem_global_op_", "_pipe_lsu_mem_shared_op_"
COLUMNS = {
    f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum": field
    for way, field in (("ld", "shared_load_wavefronts"), ("st", "shared_store_wavefronts"),
                       ("atom", "shared_atomic_wavefronts"))
} | {
    f"l1tex__t_requests{GLOBAL}ld.sum": "global_load_requests",
    f"l1tex__t_sectors{GLOBAL}ld.sum": "global_load_sectors",
    f"l1tex__t_sectors{GLOBAL}st.sum": "global_store_sectors",
    f"l1tex__t_sectors{GLOBAL}red.sum": "global_atomic_sectors",
}  # fmt: skip
CONFLICTS = {way: f"l1tex__data_bank_conflicts{SHARED}{way}.sum" for way in ("ld", "st")}


def rows() -> list[dict[str, str]]:
    with (FOLDER / "counters.csv").open(newline="") as file:
        return list(csv.DictReader(file))


KERNELS = sorted({row["kernel"] for row in rows()})


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    return Kernels(only_built(BuildRequest(FOLDER / "access.cu", (), "sm_90")).ptx_path.read_text())


def count(machine: Machine, program: Program, kernel: str, index: NDArray[np.int32]) -> Counters:
    for allocation in list(machine.memory.allocations):
        machine.memory.free(allocation)
    pattern = machine.memory.allocate("index", index.nbytes, "input")
    pattern.view(np.int32)[:] = index
    x = machine.memory.allocate("x", ELEMENTS * 16, "input")
    result = machine.memory.allocate("result", 4 * LANES, "output")
    if kernel.startswith("ldg"):
        arguments = [x, pattern, result]
    else:
        arguments = [x, pattern] if kernel.startswith(("stg", "atomg")) else [pattern, result]
    shared = 0 if kernel.startswith(("ldg", "stg", "atomg")) else SHARED_BYTES
    report = machine.launch(program, (1, 1, 1), (LANES, 1, 1), arguments, shared)
    assert report.faults == (), report.faults
    return launch_counters(report).counters


def free_wavefronts(kernel: str, index: NDArray[np.int32]) -> int:
    """Wavefronts without any bank conflict: one for each group of lanes, that has any on, and is served together."""
    on = index >= 0
    groups = int(kernel.split("_")[1]) // 4
    pairs = index.reshape(-1, 2)
    alike = (pairs[:, 0] == pairs[:, 1]) | (pairs < 0).any(axis=1)
    if kernel.startswith("lds") and groups > 1 and alike.all():
        groups //= 2
    return int(on.reshape(groups, -1).any(axis=1).sum())


def test_the_record_is_whole() -> None:
    found = {(row["kernel"], row["pattern"]) for row in rows()}
    assert len(found) == len(rows()) == 686
    assert found == {(kernel, pattern) for kernel in KERNELS for pattern in patterns()}


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_the_hardware_counted(kernel: str, kernels: Kernels) -> None:
    machine, program, index = kernels.machine, kernels.program(kernel), patterns()
    for row in rows():
        if row["kernel"] != kernel:
            continue
        own = count(machine, program, kernel, index[row["pattern"]])
        figures = {column: getattr(own, field) for column, field in COLUMNS.items()}
        free = free_wavefronts(kernel, index[row["pattern"]]) if kernel.startswith(("lds", "sts")) else 0
        accesses = {"ld": own.shared_load_wavefronts, "st": own.shared_store_wavefronts}
        for way, column in CONFLICTS.items():
            tested = kernel.startswith("lds" if way == "ld" else "sts")
            figures[column] = accesses[way] - free if tested else 0
        assert figures == {column: int(row[column]) for column in figures}, row["pattern"]
