"""Kernels of clusters (sm_90): their facts are read, and what the simulator does not know costs their own rows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kernelbench.build import BuildRequest, Compiler, access_notes
from kernelbench.build.sass import NO_DISASSEMBLER
from kernelbench.core.records import Binary
from tests.build.binaries import only_built

pytestmark = pytest.mark.nvcc

Command = Callable[..., tuple[int, str, str]]

# A copy through the other block's shared memory, by mapa and barrier.cluster.
REMOTE = Path(__file__).with_name("remote.cu").read_text()
# A bulk copy that an mbarrier counts, and one back; an addition in another block, which it counts too.
BULK = Path(__file__).with_name("bulk.cu").read_text()
ARGUMENTS = 'Launch("k", (2, 1, 1), (32, 1, 1), ("x", "y"))'
MODULE = """
from kernelbench import Implementation, Launch, LaunchPlan, Origin
IMPLEMENTATIONS = (
    Implementation("{name}", "in clusters", Origin("test"), plan=lambda case, device: LaunchPlan(({arguments},))),
)
"""
SUITE = """
title: Clusters
operation: copy
shape: [elements]
axes: {elements: [64]}
implementations: [copy, remote, bulk]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    operation = tmp_path / "mine" / "copy"
    operation.mkdir(parents=True)
    for name, text in (("remote", REMOTE), ("bulk", BULK)):
        (operation / f"{name}.cu").write_text(text)
        (operation / f"{name}.py").write_text(MODULE.format(name=name, arguments=ARGUMENTS))
    (tmp_path / "clusters.yaml").write_text(SUITE)
    return operation.parent


def built(folder: Path, name: str, nvcc: Compiler) -> Binary:
    binary = only_built(BuildRequest(folder / "copy" / f"{name}.cu", (), "sm_90"), nvcc, folder / "cache")
    text = binary.ptx_path.read_text()
    assert ".reqnctapercluster" in text
    assert ".explicitcluster" in text
    return binary


@pytest.mark.parametrize(("name", "loads", "stores"), [("remote", (1, 0), (0, 1)), ("bulk", (1, 0), (0, 1))])
def test_facts_of_clusters_are_read(
    folder: Path, nvcc: Compiler, name: str, loads: tuple[int, ...], stores: tuple[int, ...]
) -> None:
    binary = built(folder, name, nvcc)
    found = binary.facts["k"]
    assert (found.parameter_loads, found.parameter_stores) == (loads, stores)
    notes = access_notes(binary, nvcc)
    assert notes["k"] in ("", NO_DISASSEMBLER), "no memory instruction is missed on one of the two sides"


@pytest.mark.exhaustive
def test_what_the_simulator_does_not_know_is_named_in_its_own_row(
    folder: Path, nvcc: Compiler, command: Command, tmp_path: Path
) -> None:
    unknown = 'asm volatile("multimem.red.relaxed.sys.global.add.f32 [%0], %1;" :: "l"(y), "f"(1.0f));'
    (folder / "copy" / "bulk.cu").write_text(BULK.replace("  __syncthreads();", f"  {unknown}\n  __syncthreads();"))
    code, out, err = command("check", tmp_path / "clusters.yaml", "--device", "simulated:h200", "--kernels", folder)
    assert code == 1, err
    text = "".join(out.split())  # a narrow terminal breaks lines within words
    assert "multimem.red.relaxed" in text
    assert "10of15right;5failed" in text, "the copy, and the one whose blocks write into each other"
