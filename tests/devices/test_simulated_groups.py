"""Blocks that take tickets and wait for others, on the simulator as a device: whole, sampled, and refused."""

from __future__ import annotations

import pytest

from kernelbench.core.records import Binary, Launch, LaunchPlan, Scalar
from kernelbench.devices import sampled_plan
from tests.devices.test_simulated import BLOCK, compiled, run_plan

pytestmark = pytest.mark.nvcc

SOURCE = """\
__device__ unsigned next_ticket, states[1 << 14];
__device__ unsigned taken() {
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) ticket = atomicInc(&next_ticket, gridDim.x - 1);
    __syncthreads();
    return ticket;
}
__device__ void come(unsigned* state) {
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(state) : "memory");
}
__device__ void await(unsigned* state, unsigned least) {
    for (unsigned seen = 0; seen < least;)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(state) : "memory");
}
// Each block writes what the block at the other end of its group has left.
extern "C" __global__ void groups(const float* x, float* y, float* t, int group) {
    const unsigned ticket = taken(), first = ticket / group * group, other = 2 * first + group - 1 - ticket;
    t[ticket * 256 + threadIdx.x] = 2.0f * x[ticket * 256 + threadIdx.x];
    come(states + first);
    await(states + first, group);
    y[other * 256 + threadIdx.x] = __ldcg(t + other * 256 + threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) atomicInc(states + first, 2 * group - 1);
}
// Each block leaves something, and writes what the block `lead` tickets before it has left.
extern "C" __global__ void follows(const float* x, float* y, float* t, int lead) {
    const int ticket = taken(), before = ticket - lead;
    if (ticket < (int)gridDim.x - lead) {
        t[ticket * 256 + threadIdx.x] = 2.0f * x[ticket * 256 + threadIdx.x];
        come(states + ticket);
    }
    if (before < 0) return;
    await(states + before, 1);
    y[before * 256 + threadIdx.x] = __ldcg(t + before * 256 + threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) states[before] = 0;
}
"""


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Binary:
    return compiled(SOURCE, tmp_path_factory.mktemp("groups"))


def plan_of(entry: str, blocks: int, other: int, group: int = 1) -> LaunchPlan:
    arguments = ("x", "y", "t", Scalar("int32", other))
    launch = Launch(entry, (blocks, 1, 1), (BLOCK, 1, 1), arguments, co_resident=group)
    return LaunchPlan((launch,), scratch=(("t", 4 * BLOCK * blocks),))


def test_groups_are_sampled_whole_from_the_first_and_verified(binary: Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_plan, "WORK", 200_000)
    shape, plan = (1920, BLOCK), plan_of("groups", 1920, 20, group=20)
    sampled, whole = run_plan(binary, shape, plan), run_plan(binary, shape, plan, full=True)
    assert (sampled.status, whole.status) == ("ok", "ok"), (sampled.reason, whole.reason)
    assert sampled.check is not None
    assert whole.check is not None
    run = sampled.counters[0].blocks_run
    assert 20 < run < 1920
    assert run % 20 == 0
    assert (sampled.check.elements, whole.check.elements) == (run * BLOCK, 1920 * BLOCK)


def test_blocks_that_wait_beyond_their_group_are_a_deadlock(binary: Binary) -> None:
    result = run_plan(binary, (64, BLOCK), plan_of("groups", 64, 8, group=4))
    assert result.status == "failed"
    assert "all that is left waits for what nobody else will do; block 0 warp " in result.reason


def test_a_group_that_the_gpu_has_no_room_for_is_refused(binary: Binary) -> None:
    plan = plan_of("groups", 2 * 1057, 1057, group=1057)
    result = run_plan(binary, (2 * 1057, BLOCK), plan)
    assert result.status == "failed"
    assert result.reason.startswith("groups: groups of 1057 blocks wait for each other, and the GPU holds 1056 of them")
    assert run_plan(binary, (2 * 1056, BLOCK), plan_of("groups", 2 * 1056, 1056, group=1056)).status == "ok"


def test_a_whole_run_after_a_sample_that_wrote_nothing_begins_with_the_first_ticket(
    binary: Binary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampled_plan, "WORK", 1)
    result = run_plan(binary, (100, BLOCK), plan_of("follows", 120, 20))
    assert result.status == "ok", result.reason
    assert result.check is not None
    assert result.check.elements == 100 * BLOCK
    assert result.counters[0].blocks_run == 120
