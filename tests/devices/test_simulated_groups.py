"""Blocks that take tickets and wait for others, on the simulator as a device: whole, sampled, and refused."""

from pathlib import Path

import pytest

from kernelbench.core.records import Binary, Launch, LaunchPlan, Scalar
from kernelbench.devices import sampled_plan
from tests.devices.test_simulated import BLOCK, compiled, run_plan

pytestmark = pytest.mark.nvcc

SOURCE = Path(__file__).with_name("groups.cu").read_text()


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
    run = sampled.counters[0].blocks_run
    assert 20 < run < 1920
    assert run % 20 == 0
    assert (sampled.check.elements, whole.check.elements) == (run * BLOCK, 1920 * BLOCK)


def test_blocks_that_wait_beyond_their_group_are_a_deadlock(binary: Binary) -> None:
    result = run_plan(binary, (64, BLOCK), plan_of("groups", 64, 8, group=4))
    assert result.status == "failed"
    assert "deadlock: all remaining warps wait or loop, and nothing changes; block 0 warp " in result.reason


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
    assert result.check.elements == 100 * BLOCK
    assert result.counters[0].blocks_run == 120
