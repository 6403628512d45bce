"""What reduce_sum is, the plans of its kernels, and that all compile to what they launch."""

from dataclasses import replace
from math import ceil

import numpy as np
import pytest

from kernelbench.core.records import Case, Scalar

TREES = {
    "tree_modulo": ("Modulo", 1),
    "tree_strided": ("Strided", 1),
    "tree_sequential": ("Sequential", 1),
    "tree_two_loads": ("Sequential", 2),
    "tree_unrolled": ("Unrolled", 2),
    "tree_unrolled_all": ("UnrolledAll", 2),
}
WAVES = {"grid_stride": ("UnrolledAll", 4, 0), "shuffle": ("Shuffle", 4, 0), "shuffle_packed": ("Shuffle", 2, 16)}
SIZES = (1, 2, 31, 255, 256, 257, 511, 512, 513, 65536, 65537, 131073, 1_000_003, 2**25, 2**28, 2**31 + 5)


@pytest.fixture(scope="module")
def reduce_sum(catalog):
    return catalog.implementations["reduce_sum"]


@pytest.fixture(scope="module")
def operation(catalog):
    return catalog.operations["reduce_sum"]


def case(*shape, dtype="float32"):
    return Case("reduce_sum", shape, -1, dtype)


@pytest.mark.parametrize("n", [1, 2, 257, 4096, 2**20, 2**22])
def test_the_tolerance_takes_sums_in_any_sensible_order(operation, n):
    allowed = operation.tolerance(case(n))
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=n).astype(np.float32)
        exact = x.astype(np.float64).sum()
        chains = np.zeros(ceil(n / 4096) * 4096, np.float32)
        chains[:n] = x
        one_by_one = np.cumsum(chains.reshape(-1, 4096), axis=1, dtype=np.float32)[:, -1]
        for got in (x.sum(dtype=np.float32), one_by_one.sum(dtype=np.float32)):
            assert abs(got - exact) <= allowed.absolute + allowed.relative * abs(exact)


@pytest.mark.parametrize("n", [2, 257, 2**20, 2**28, 2**30])
def test_the_tolerance_sees_an_element_that_is_left_out(operation, n):
    allowed = operation.tolerance(case(n))
    typical = 0.67  # half of all normal numbers are larger
    assert allowed.absolute + allowed.relative * 3 * n**0.5 < typical


@pytest.mark.parametrize(("name", "tree", "loads"), [(name, *row) for name, row in TREES.items()])
def test_launches_go_on_until_one_sum_is_left(reduce_sum, h200, name, tree, loads):
    for n in SIZES:
        plan = reduce_sum[name].plan(case(n), h200)
        assert dict(plan.defines) == {"TREE": tree, "BLOCK": 256, "LOADS": loads}
        left, source, scratch = n, "x", dict(plan.scratch)
        for launch in plan.launches:
            blocks = ceil(left / (256 * loads))
            target = launch.arguments[1]
            assert launch.arguments == (source, target, Scalar("int64", left))
            assert (launch.grid, launch.block) == ((blocks, 1, 1), (256, 1, 1))
            assert target == "y" or scratch.pop(target) == 4 * blocks
            left, source = blocks, target
        assert (left, source, scratch) == (1, "y", {})


def test_sums_of_blocks_are_float_whatever_the_elements_are(reduce_sum, h200):
    plan = reduce_sum["tree_modulo"].plan(case(100_000, dtype="bfloat16"), h200)
    assert [launch.entry for launch in plan.launches] == [
        "reduce_sum_tree_bf16", "reduce_sum_tree_f32", "reduce_sum_tree_f32",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "tree", "loads", "pack"), [(name, *row) for name, row in WAVES.items()])
def test_one_wave_of_blocks_and_one_block_for_their_sums(reduce_sum, h200, dtype, name, tree, loads, pack):
    itemsize = 4 if dtype == "float32" else 2
    per_block = 256 * (pack // itemsize if pack else 1)
    for n in SIZES:
        plan = reduce_sum[name].plan(case(n, dtype=dtype), h200)
        assert dict(plan.defines) == {"TREE": tree, "BLOCK": 256, "LOADS": loads, "PACK": pack, "RESIDENT": 8}
        first, *rest = plan.launches
        assert first.grid == (min(ceil(n / per_block), 132 * 8), 1, 1)
        assert first.arguments[2] == Scalar("int64", n)
        if first.grid[0] == 1:
            assert (rest, plan.scratch, first.arguments[:2]) == ([], (), ("x", "y"))
        else:
            assert first.arguments[:2] == ("x", "sums")
            assert rest[0].grid == (1, 1, 1)
            assert rest[0].entry == "reduce_sum_grid_stride_f32"
            assert rest[0].arguments == ("sums", "y", Scalar("int64", first.grid[0]))
            assert plan.scratch == (("sums", 4 * first.grid[0]),)


@pytest.mark.nvcc
@pytest.mark.parametrize("name", WAVES)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_the_wave_is_resident_and_nothing_spills(reduce_sum, h200, binaries, architecture, name):
    device = replace(h200, max_threads_per_multiprocessor=1024 if architecture == "sm_75" else 2048)
    plan = reduce_sum[name].plan(case(2**25), device)
    (binary,) = binaries(reduce_sum[name], [plan], architecture)
    for facts in binary.facts.values():
        assert device.resident_blocks(256, facts.registers, facts.shared_bytes) == dict(plan.defines)["RESIDENT"]
        assert facts.spill_store_bytes == facts.spill_load_bytes == 0


@pytest.mark.parametrize("n", [1, 2, 3, 8193, 2**20])
def test_the_copy_moves_as_many_bytes_as_a_sum_reads(reduce_sum, h200, n):
    plan = reduce_sum["copy"].plan(case(n), h200)
    (launch,) = plan.launches
    assert launch.arguments == ("x", "half", "y", Scalar("int64", n // 2))
    assert dict(plan.scratch) == {"half": 4 * max(1, n // 2)}
    assert launch.grid[0] >= 1
    assert reduce_sum["copy"].reference(np, case(3), {"x": np.array([5.0, 6.0, 7.0])})["y"].tolist() == [5.0]
