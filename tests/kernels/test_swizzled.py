"""Axes exchanged by swizzled tiles: right for any axes, extents and addresses, and free of bank conflicts."""

from dataclasses import replace
from functools import partial

import pytest

from kernelbench.core.records import Case
from tests.catalog import catalog

CATALOG = catalog()
SWIZZLED = CATALOG.implementations["permute"]["swizzled"]


def case(shape, permutation, dtype="float32"):
    extents = tuple(map(int, shape.split("x")))
    return Case("permute", extents, -1, dtype, parameters=(("permutation", permutation),))


@pytest.mark.nvcc
def test_no_two_lanes_meet_in_a_bank(checked, dtype):
    for shift in (0, 1):
        (counters,) = checked("swizzled", case("256x256", "10", dtype), shift).counters
        assert counters.shared_load_wavefronts == counters.shared_load_ideal_wavefronts
        assert counters.shared_store_wavefronts == counters.shared_store_ideal_wavefronts
        if not shift:
            assert counters.global_load_sectors == counters.global_load_ideal_sectors
            assert counters.global_store_sectors == counters.global_store_ideal_sectors


@pytest.mark.nvcc
@pytest.mark.parametrize(("across", "down"), [(8, 16), (16, 8), (32, 16)])
def test_a_tile_need_not_be_square(checked, across, down):
    assert SWIZZLED.plan is not None
    plan = partial(SWIZZLED.plan, across=across, down=down)
    for shape, shift in (("264x328", 0), ("264x328", 1), ("131x67", 0)):
        checked("swizzled", case(shape, "10", "float16"), shift, plan=plan)
    (counters,) = checked("swizzled", case("256x256", "10", "float16"), plan=plan).counters
    assert counters.shared_load_wavefronts == counters.shared_load_ideal_wavefronts
    assert counters.shared_store_wavefronts == counters.shared_store_ideal_wavefronts


@pytest.mark.nvcc
@pytest.mark.parametrize(("across", "down"), [(16, 16), (8, 8), (16, 32), (8, 32)])
def test_rows_may_begin_anywhere(checked, across, down):
    assert SWIZZLED.plan is not None
    plan = partial(SWIZZLED.plan, across=across, down=down)
    for shape, permutation in (("131x289", "10"), ("257x128", "10"), ("2x255x9x7", "0231"), ("9x2x3", "210")):
        for shift in (0, 1, {"x": 3}, {"y": 1}):
            checked("swizzled", case(shape, permutation, "float16"), shift, plan=plan)


@pytest.mark.nvcc
def test_columns_that_begin_anywhere_are_written_in_whole_packs(checked, dtype):
    (counters,) = checked("swizzled", case("509x515", "10", dtype)).counters
    assert counters.global_load_sectors < 1.4 * counters.global_load_ideal_sectors
    assert counters.global_store_sectors < 1.2 * counters.global_store_ideal_sectors


@pytest.mark.parametrize(
    ("shape", "permutation", "dtype", "across", "down", "resident"),
    [
        ("8192x8192", "10", "float32", 16, 16, 0),
        ("8192x8192", "10", "float16", 32, 16, 0),
        ("8192x8256", "10", "float16", 8, 16, 0),  # 256 columns do not divide it
        ("512x512", "10", "bfloat16", 8, 16, 0),  # of large tiles there were few
        ("32x256x56x56", "0231", "float16", 8, 16, 0),
        ("8191x8193", "10", "float16", 16, 32, 1280),
        ("8191x8193", "10", "float32", 16, 32, 2048),
        ("64x255x57x57", "0231", "float16", 16, 16, 0),  # one tall tile would have all rows
        ("64x255x57x57", "0231", "float32", 16, 32, 2048),
    ],
)
def test_tiles_are_as_measured(h200, shape, permutation, dtype, across, down, resident):
    defines = dict(SWIZZLED.plan(case(shape, permutation, dtype), h200).defines)
    assert defines == {"ACROSS": across, "DOWN": down, "RESIDENT": resident, "HINT": 0}


def test_tall_tiles_leave_room_for_two(h200):
    ours = case("8191x8193", "10", "float16")
    small = replace(h200, shared_per_multiprocessor=102400)
    assert dict(SWIZZLED.plan(ours, small).defines)["DOWN"] == 16


def test_a_tile_has_packs_of_both_axes(h200):
    (launch,) = SWIZZLED.plan(case("8192x8192", "10", "float16"), h200).launches
    assert launch.grid == (64 * 32, 1, 1)
    assert launch.block == (512, 1, 1)
    assert launch.shared_bytes == 17 * (8 * (256 + 2) * 2 + 4)  # a pack of rows more, words behind rows
