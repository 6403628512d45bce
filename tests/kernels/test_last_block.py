"""Sums whose last block adds up what the others left: their spans, their sums at any address, and slots
that are as they were after each launch."""

from functools import partial

import pytest

from kernelbench.core import dtypes
from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case
from kernelbench.devices.known import KNOWN as DEVICES
from tests.catalog import catalog

CATALOG = catalog()
OPERATION = CATALOG.operations["reduce_sum"]
KNOWN = CATALOG.implementations["reduce_sum"]
ALONE = 32 * 2**10  # bytes that one block adds up
LATER, AWAITED, CLUSTERED = range(3)  # JOIN of last_block.cu


def case(n, dtype="float32"):
    return Case("reduce_sum", (n,), -1, dtype)


def joined(plan):
    return dict(plan.defines)["JOIN"]


@pytest.mark.parametrize("name", ["last_block", "two_launches"])
@pytest.mark.parametrize("n", [1, 255, 4096, 4097, 65536, 1_000_003, 2**22, 2**28, 2**31 + 5])
def test_the_spans_cover_the_array(h200, dtype, name, n):
    plan = KNOWN[name].plan(case(n, dtype), h200)
    nbytes = n * dtypes.itemsize(dtype)
    (blocks, _, _), span = plan.launches[0].grid, plan.launches[0].arguments[-1].value
    assert (blocks - 1) * span * 16 < nbytes <= blocks * span * 16 + 15
    assert blocks <= 4096  # slots
    assert dict(plan.scratch) == {"sums": 4 * blocks}
    assert len(plan.launches) == (2 if name == "two_launches" and nbytes > ALONE else 1)
    if nbytes <= ALONE:
        assert blocks == 1
    elif joined(plan) == CLUSTERED:
        assert nbytes <= 2**20
        assert blocks == 16
    else:
        assert span % 512 == 0
        assert blocks >= min(132, nbytes // (16 * 512))  # every multiprocessor has work


def test_a_gpu_without_large_clusters_awaits_the_sums(h200):
    plan = KNOWN["last_block"].plan
    assert joined(plan(case(65536), h200)) == CLUSTERED
    assert joined(plan(case(65536), DEVICES["a100"])) == AWAITED
    with pytest.raises(Unsupported, match="at most 1, got 16"):
        plan(case(2**20), DEVICES["a100"], join=CLUSTERED, blocks=16)


WAYS = {
    "awaited": {"join": AWAITED},
    "small blocks": {"join": AWAITED, "block": 128, "per_multiprocessor": 8},
    "more sums than threads": {"join": AWAITED, "block": 32, "in_flight": 1, "tiles": 1},
    "a large cluster": {"join": CLUSTERED, "block": 1024, "blocks": 16},
    "a small cluster": {"join": CLUSTERED, "block": 256, "blocks": 4},
    "two launches": {"join": LATER, "hint": 0},
}


@pytest.mark.nvcc
@pytest.mark.parametrize("way", WAYS)
def test_sums_are_right_and_repeatable_however_blocks_join_theirs(checked, h200, way):
    plan = partial(KNOWN["last_block"].plan, **WAYS[way])
    for n in (70_001, 9):
        for shift in (0, 3):
            checked("last_block", case(n), shift, plan=plan, seeds=(0, 1, 2))  # one launch after another
    assert plan(case(70_001), h200).launches[0].grid[0] > 1
