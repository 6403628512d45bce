"""Dropout and addition: what they are, how they are launched, and that every element is right on the simulator."""

import pytest

from kernelbench.core.records import Case, Scalar
from tests.catalog import catalog

CATALOG = catalog()
OPERATION = CATALOG.operations["dropout_add"]
IMPLEMENTATIONS = CATALOG.implementations["dropout_add"]


def case(*shape, dtype="float32", **parameters):
    return Case("dropout_add", shape, -1, dtype, parameters=tuple(parameters.items()))


def test_a_scale_goes_to_the_kernel_that_drops(h200):
    (fused,) = IMPLEMENTATIONS["fused"].plan(case(1001, scale=2.0), h200).launches
    assert fused.arguments == (
        "x", "mask", "addend", "y", Scalar("int64", 250), Scalar("int64", 1001), Scalar("float32", 2.0)
    )  # fmt: skip
    plan = IMPLEMENTATIONS["two_kernels"].plan(case(1001, dtype="float16"), h200)
    dropping, adding = plan.launches
    assert dropping.arguments[-1] == Scalar("float32", 1.25)
    assert adding.arguments == ("dropped", "addend", "y", Scalar("int64", 125), Scalar("int64", 1001))
    assert plan.scratch == (("dropped", 2002),)


@pytest.mark.parametrize(("n", "more"), [(1, 0), (8, 5), (1000, 625)])
def test_the_copy_moves_half_of_the_least_traffic_each_way(h200, n, more):
    plan = IMPLEMENTATIONS["copy"].plan(case(n), h200)
    assert plan.launches[0].arguments[-2:] == (Scalar("int64", n), Scalar("int64", more))
    assert 2 * 4 * (n + more) <= OPERATION.bytes_moved(case(n)) <= 2 * 4 * (n + more) + 8


@pytest.mark.nvcc
def test_traffic_is_the_published_one(checked):
    n = 8192
    for name, arrays in (("two_kernels", 5.25), ("fused", 3.25), ("copy", 3.25)):
        counters = checked(name, case(n)).counters
        assert sum(one.read_once_bytes + one.written_once_bytes for one in counters) == arrays * 4 * n, name
