"""Sums whose last block adds up what the others left: their spans, their sums at any address, and a counter that is
as it was after each launch."""

import pytest

from kernelbench.core import dtypes
from kernelbench.core.records import Case
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
