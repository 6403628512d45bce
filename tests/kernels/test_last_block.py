"""Sums whose last block adds up what the others left: their spans, their sums at any address, and a counter and slots
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
ALONE = 4 * 512 * 16  # bytes that one block adds up


def case(n, dtype="float32"):
    return Case("reduce_sum", (n,), -1, dtype)


@pytest.mark.parametrize("name", ["last_block", "two_launches"])
@pytest.mark.parametrize("n", [1, 255, 4096, 4097, 65536, 1_000_003, 2**22, 2**28, 2**31 + 5])
def test_the_spans_cover_the_array(h200, dtype, name, n):
    plan = KNOWN[name].plan(case(n, dtype), h200)
    nbytes = n * dtypes.itemsize(dtype)
    (blocks, _, _), span = plan.launches[0].grid, plan.launches[0].arguments[-1].value
    assert (blocks - 1) * span * 16 < nbytes <= blocks * span * 16 + 15
    assert len(plan.launches) == (2 if name == "two_launches" and nbytes > ALONE else 1)
    assert dict(plan.scratch) == {"sums": 4 * blocks}
    if nbytes > ALONE:
        assert span % 512 == 0
        assert blocks >= min(132, nbytes // (16 * 512))  # every multiprocessor has work


@pytest.mark.nvcc
def test_a_second_launch_finds_the_counter_as_the_first_did(checked):
    checked("last_block", case(70_001), seeds=(0, 1, 2))


AWAITED = 2  # JOIN of last_block.cu
WAYS = {
    "awaited": {"join": AWAITED},
    "small blocks": {"join": AWAITED, "block": 128, "per_multiprocessor": 8},
    "whole warps": {"join": AWAITED, "block": 1024, "per_multiprocessor": 1, "granule": 32},
    "more sums than threads": {"join": AWAITED, "block": 32, "in_flight": 1, "tiles": 1},
    "a cluster": {"join": AWAITED, "block": 256, "cluster": 16, "blocks": 16, "granule": 32},
    "clusters, awaited": {"join": AWAITED, "cluster": 8},
    "clusters, counted": {"cluster": 8},
    "wide fetches, late": {"hint": 4, "early": 0},
}


@pytest.mark.nvcc
@pytest.mark.parametrize("way", WAYS)
def test_sums_are_right_and_repeatable_however_blocks_join_theirs(checked, h200, way):
    plan = partial(KNOWN["last_block"].plan, **WAYS[way])
    for n in (70_001, 9):
        for shift in (0, 3):
            checked("last_block", case(n), shift, plan=plan, seeds=(0, 1, 2))
    (launch,) = plan(case(70_001), h200).launches
    assert launch.grid[0] > 1
    assert launch.grid[0] % WAYS[way].get("cluster", 1) == 0


def test_what_awaited_sums_and_clusters_need(h200):
    plan = KNOWN["last_block"].plan
    with pytest.raises(Unsupported, match="at most 4096, got 8192"):
        plan(case(2**30), h200, join=AWAITED, in_flight=8, tiles=8)
    with pytest.raises(Unsupported, match="sm_90"):
        plan(case(2**20), DEVICES["a100"], cluster=8)
