"""Kernels of clusters (sm_90): their facts are read, and what the simulator does not know costs their own rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernelbench.build import BuildRequest, Compiler, build, find_compiler
from kernelbench.build.sass import NO_DISASSEMBLER
from kernelbench.core.records import Binary, EntryFacts

pytestmark = pytest.mark.nvcc

Command = Callable[..., tuple[int, str, str]]

# A copy through the other block's shared memory, by mapa and barrier.cluster.
REMOTE = r"""
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(32) k(const float* x, float* y) {
  __shared__ float mine[32];
  unsigned own = (unsigned)__cvta_generic_to_shared(mine), rank, other;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(own + 4 * threadIdx.x), "r"(rank ^ 1));
  const unsigned place = blockIdx.x * 32 + threadIdx.x;
  asm volatile("barrier.cluster.arrive.release.aligned;");
  asm volatile("barrier.cluster.wait.acquire.aligned;");
  asm volatile("st.shared::cluster.f32 [%0], %1;" :: "r"(other), "f"(x[place]) : "memory");
  asm volatile("barrier.cluster.arrive.release.aligned;");
  asm volatile("barrier.cluster.wait.acquire.aligned;");
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(other) : "memory");
  y[place] = value;
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;");
}
"""
# A bulk copy that an mbarrier counts, and one back; an addition in another block, which it counts too.
BULK = r"""
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const float* x, float* y) {
  __shared__ alignas(128) float mine[128];
  __shared__ alignas(8) unsigned long long counted;
  unsigned barrier = (unsigned)__cvta_generic_to_shared(&counted), own = (unsigned)__cvta_generic_to_shared(mine);
  unsigned remote;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(barrier));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"
                 :: "r"(own), "l"(x), "r"(barrier) : "memory");
  }
  __syncthreads();
  asm volatile("{\n.reg .pred p;\nwaiting:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra waiting;\n}" :: "r"(barrier));
  asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(own));
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
               :: "r"(remote), "r"(1), "r"(barrier));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" :: "l"(y), "r"(own) : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;");
}
"""
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


@pytest.fixture(scope="session")
def nvcc() -> Compiler:
    return find_compiler()


def facts(folder: Path, name: str, nvcc: Compiler) -> EntryFacts:
    binary = build([BuildRequest(folder / "copy" / f"{name}.cu", (), "sm_90")], nvcc, folder / "cache").popitem()[1]
    assert isinstance(binary, Binary), binary
    text = binary.ptx_path.read_text()
    assert ".reqnctapercluster" in text
    assert ".explicitcluster" in text
    return binary.facts["k"]


@pytest.mark.parametrize(("name", "loads", "stores"), [("remote", (1, 0), (0, 1)), ("bulk", (1, 0), (0, 1))])
def test_facts_of_clusters_are_read(
    folder: Path, nvcc: Compiler, name: str, loads: tuple[int, ...], stores: tuple[int, ...]
) -> None:
    found = facts(folder, name, nvcc)
    assert (found.parameter_loads, found.parameter_stores) == (loads, stores)
    assert found.machine_code in ("", NO_DISASSEMBLER), "no memory instruction is missed on one of the two sides"


def test_what_the_simulator_does_not_know_is_named_in_its_own_row(
    folder: Path, nvcc: Compiler, command: Command, tmp_path: Path
) -> None:
    code, out, err = command("check", tmp_path / "clusters.yaml", "--device", "simulated:h200", "--kernels", folder)
    assert code == 1, err
    text = "".join(out.split())  # a narrow terminal breaks lines within words
    assert "notsupported:.async:'red.async.relaxed" in text
    assert "2right,1wrongorfailed" in text, "the copy, and the one whose blocks write into each other"
