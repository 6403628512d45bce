"""Softmax and log-softmax off the last axis: how a view is cut into tiles, and every element on the simulator."""

from dataclasses import replace

import numpy as np
import pytest

from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case
from kernelbench.devices.known import KNOWN
from kernels.softmax_family.axis_candidates import axis_candidates
from kernels.softmax_family.axis_grids import resident_blocks_of_gpu
from kernels.softmax_family.axis_plans import grid_of, staggered_start, tile_plan
from kernels.softmax_family.axis_tiles import Tile, view_of
from kernels.softmax_family.row_candidates import row_candidates
from kernels.softmax_family.row_techniques import Held
from kernels.softmax_family.slab_plans import Slabs, bank_ways, copied_plan
from tests.catalog import catalog
from tests.kernels import tile_choices
from tests.kernels.deep_tiles import EXTENTS
from tests.kernels.held import check_tile
from tests.kernels.tiles import some_tile, tiled

CATALOG = catalog()
OPERATIONS = ("log_softmax", "softmax")
NAME = "log_softmax_one_read_axis"


def case(shape, axis=1, dtype="float32", operation="log_softmax"):
    return Case(operation, shape, axis, dtype)


def planned(shape, device, dtype="float32", operation="log_softmax"):
    return CATALOG.implementations[operation]["one_read_axis"].plan(case(shape, 1, dtype, operation), device)


# ---- Tiles ----


def test_choices_are_those_of_the_table():
    """`python tests/kernels/tile_choices.py --write` writes it anew, where other choices are meant."""
    assert len(tile_choices.TABLE.read_text().splitlines()) > 80
    assert tile_choices.differences() == []


def test_a_kernel_of_a_small_array_alone_is_compiled_for_its_extents(h200):
    def known(shape):
        return set(EXTENTS) & dict(planned(shape, h200).defines).keys()

    assert known((364, 21, 578)) == set(EXTENTS)
    assert not known((562, 8, 44805)), "shapes share a binary where a launch takes long"


def test_two_strips_of_large_views_take_fewer_registers(h200):
    def has_two(shape):
        return any(one.more_strips for one in tiles_of(case(shape), h200))

    assert has_two((2, 8, 4805))
    assert has_two((562, 4, 44805))
    assert not has_two((562, 8, 44805))


def tiles_of(this, device):
    return [one for one in axis_candidates(this, device) if isinstance(one, Tile)]


def test_rows_of_whole_packs_are_never_taken_by_4_byte_loads():
    assert {one.layout for one in tiles_of(case((8, 264, 32)), KNOWN["a100"])} == {"whole"}


def test_registers_are_given_to_as_many_warps_on_each_scheduler(h200):
    tile = next(one for one in tiles_of(case((3971, 256, 33), 1, "bfloat16"), h200) if one.bound == (160, 5))
    assert resident_blocks_of_gpu(tile, h200) == 5 * h200.multiprocessors, (
        "25 warps of 72 registers; of 80 they would not fit"
    )


@pytest.mark.parametrize("inner", [2, 3, 4, 5, 8, 48, 63, 64, 65, 100, 196, 1000, 1023, 1025, 4096])
@pytest.mark.parametrize("gpu", ["h200", "a100"])
def test_tiles_hold_all_of_dim(gpu, dtype, inner):
    for dim in (1, 2, 3, 7, 100, 1009, 10_000, 100_000, 1_000_000):
        this = case((3, dim, inner), 1, dtype)
        found = axis_candidates(this, KNOWN[gpu])
        assert found
        for tile in found:
            if isinstance(tile, Tile):
                check_tile(tile, view_of(this), KNOWN[gpu])


def test_blocks_of_gpus_without_clusters_wait_for_each_other(h200):
    this = case((2, 2000, 48))
    assert dict(planned(this.shape, h200).defines)["CLUSTER"] > 1
    assert not any(one.exchange == "cluster" for one in tiles_of(this, KNOWN["a100"]))
    plan = tiled(exchange="co-resident")(this, KNOWN["a100"])
    (launch,) = plan.launches
    assert [dict(plan.defines)[name] for name in ("CLUSTER", "GANG", "TICKETS")] == [1, 1, 0]
    assert launch.grid == (2 * launch.co_resident, 1, 1)
    assert plan.scratch == (("partials", 8 * 2 * launch.co_resident * 48),), "a pair for each column of a block"


def test_gpus_that_hold_no_co_resident_group_take_tickets():
    this = case((2, 9000, 48))
    few = replace(KNOWN["a100"], multiprocessors=4)
    (launch,) = planned(this.shape, few).launches
    assert (launch.co_resident, dict(planned(this.shape, few).defines)["TICKETS"]) == (1, 1)
    assert {one.exchange for one in tiles_of(this, few)} == {"tickets"}
    tile = some_tile(this, few)
    assert launch.grid == (2 * 2 * tile.parts, 1, 1), "parts of two slabs, summed up before there are results"


def test_the_first_blocks_begin_as_memory_reads_their_tiles(h200):
    this = case((512, 896, 48))
    tile = some_tile(this, h200, exchange="cluster")
    first, cycles = staggered_start(tile, h200)
    assert tile_plan(NAME, this, h200, tile).launches[0].arguments[-2:] == (first, cycles)
    assert first.value == resident_blocks_of_gpu(tile, h200)
    _, slower = staggered_start(tile, replace(h200, peak_bytes_per_s=h200.peak_bytes_per_s / 2))
    assert slower.value == pytest.approx(2 * cycles.value, rel=1e-2)
    (_, clocked), (_, faster) = (staggered_start(tile, replace(h200, max_clock_hz=clock)) for clock in (1e9, 2e9))
    assert faster.value == pytest.approx(2 * clocked.value, rel=1e-2)
    assert 0 < clocked.value <= 1.01 * tile.held_bytes / h200.peak_bytes_per_s * 1e9, "the last one does not begin late"


def test_blocks_of_a_group_begin_when_others_have_loaded(h200):
    this = case((4, 10000, 1024))
    tile = some_tile(this, h200, exchange="co-resident")
    (loading,) = staggered_start(tile, h200)
    assert tile_plan(NAME, this, h200, tile).launches[0].arguments[-1] == loading
    assert tile.parts <= loading.value < resident_blocks_of_gpu(tile, h200), (
        "a group loads at once, and others wait meanwhile"
    )


def test_clusters_are_as_large_as_every_such_gpu_has_them_or_larger_where_it_may_be_asked(h200):
    later = replace(h200, compute_capability=(12, 0))
    for gpu, most in ((h200, 16), (later, 8)):
        tiles = [one for dim in range(500, 5000, 250) for one in tiles_of(case((8, dim, 48)), gpu)]
        assert max(tile.parts for tile in tiles if tile.exchange == "cluster") == most
        rows = [
            row_candidates(Case("softmax", (2048, columns), -1, "float32"), gpu, True) for columns in (8192, 600_000)
        ]
        assert max(one.blocks for found in rows for one in found if isinstance(one, Held)) == most


def test_blocks_of_a_group_get_more_threads_where_rows_would_leave_many_idle(h200):
    """107 packs per row: by 107 of 192 threads, 94 blocks share dim and take 178 us on an H200; by 214, 47 take 145."""
    this = case((43, 17870, 107), 1, "float16")
    tile = next(one for one in tiles_of(this, h200) if (one.layout, one.exchange) == ("ragged", "co-resident"))
    assert (tile.threads, tile.parts) == (214, 47)
    assert dict(planned(this.shape, h200, "float16").defines)["GANG"] == 1


def test_a_launch_has_so_many_units_at_most(h200):
    tile = replace(some_tile(case((8, 50000, 48)), h200, exchange="tickets"), parts=1, rows=50000)
    with pytest.raises(Unsupported, match="strips of slabs whose blocks wait must be at most 262144, got 262145"):
        grid_of(tile, view_of(case((262145, 50000, 48))), h200)


# ---- Results ----

# A compiler's run for each technique is most of the time: those that are the same for both operations but for two lines
# are run with one of them.


WHOLE, RAGGED, SHIFTED = ({"layout": layout, "exchange": "block"} for layout in ("whole", "ragged", "shifted"))
OWN, COPIED, STAGED = {"group": 1}, {"staged": False}, {"staged": True}
SHAPES = {
    "strips": ((1, 128, 128), 0, WHOLE),
    "strips off a pack": ((2, 40, 64), {"x": 1}, WHOLE),
    "whole slabs": ((3, 200, 24), 1, WHOLE),
    "ragged": ((2, 101, 31), {"y": 1}, RAGGED),
    "even slabs of ragged rows": ((5, 64, 31), 0, RAGGED),
    "shifted": ((1, 40, 1025), {"y": 1}, SHIFTED),
    "own columns of rows that begin anywhere": ((2, 11, 997), {"y": 1}, OWN),
    "own columns of rows that begin at 4 or 8 bytes": ((3, 7, 602), {"x": 1}, OWN),
    "own columns of several slabs": ((70, 9, 31), 0, OWN),
    "an axis of one element": ((7, 1, 293), 1, WHOLE),
    "small": ((65, 3, 30), {"x": 1}, COPIED),
    "whole slabs in threads": ((300, 3, 5), 0, STAGED),
    "whole slabs in threads, off a pack": ((65, 3, 7), {"y": 1}, STAGED),
    "groups": ((33, 16, 4), 1, WHOLE),
    "own columns": ((16, 2, 48), 0, OWN),
    "copied": ((7, 3, 641), 1, COPIED),
    "smaller packs of a small slab": ((65, 3, 30), {"y": 1}, OWN),
}


@pytest.mark.nvcc
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("what", SHAPES)
def test_right_anywhere(checked, what, dtype):
    shape, shift, fields = SHAPES[what]
    checked("one_read_axis", case(shape, 1, dtype), shift, plan=tiled(**fields))


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("dtype", "what"),
    [
        ("float32", "strips"),
        ("bfloat16", "strips"),
        ("float16", "shifted"),
        ("float16", "copied"),
    ],
)
def test_softmax_is_right(checked, what, dtype):
    shape, shift, fields = SHAPES[what]
    checked("one_read_axis", case(shape, 1, dtype, "softmax"), shift, plan=tiled(**fields))


@pytest.mark.nvcc
@pytest.mark.parametrize(("layout", "inner", "dtype"), [("whole-8", 66, "float32"), ("whole-4", 66, "bfloat16")])
@pytest.mark.parametrize("shift", [0, 1])
def test_rows_of_smaller_packs_are_joined_by_clusters(checked, h200, layout, inner, dtype, shift):
    this = case((1, 700, inner), 1, dtype)
    found = [one for one in axis_candidates(this, h200) if (one.layout, one.exchange) == (layout, "cluster")]
    checked("one_read_axis", this, shift, plan=lambda case, gpu: tile_plan(NAME, case, gpu, found[0]))


@pytest.mark.nvcc
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "shift"),
    [
        ((2, 3, 1533), 0),  # the last block has fewer strips
        ((3, 5, 515), {"x": 1}),  # strips of 172 columns, the last of 171
        ((2, 2, 3074), {"y": 1}),  # packs of 4 or 8 bytes, which begin between two
        ((2, 2, 3078), 0),
    ],
)
def test_several_strips_at_once_are_right(checked, h200, shape, shift, dtype):
    this = case(shape, 1, dtype)
    found = [one for one in axis_candidates(this, h200) if isinstance(one, Tile) and one.more_strips]
    assert found
    for one in {found[0], found[-1]}:
        checked("one_read_axis", this, shift, plan=lambda case, gpu, one=one: tile_plan(NAME, case, gpu, one))


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("shape", "dtype", "shift"),
    [
        ((5, 3, 1021), "bfloat16", {"x": 1}),  # whole slabs; each begins elsewhere in a pack
        ((9, 4, 259), "float16", {"y": 1}),  # results begin elsewhere than elements
        ((3, 24, 176), "float16", 1),
        ((2, 130, 9), "float32", 0),  # several threads per column
        ((6, 16, 64), "float32", {"x": 1}),  # pads part the slabs
    ],
)
def test_slabs_that_blocks_copy_are_right(checked, h200, shape, dtype, shift):
    this = case(shape, 1, dtype)
    found = [one for one in axis_candidates(this, h200) if isinstance(one, Slabs) and not one.staged]
    assert found
    for one in {found[0], found[-1]}:
        checked("one_read_axis", this, shift, plan=lambda case, gpu, one=one: copied_plan(NAME, case, gpu, one))


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("shape", "dtype", "ways"),
    [
        ((12, 423, 8), "float16", 4),
        ((4, 256, 8), "float32", 8),
        ((3, 150, 51), "bfloat16", 3),
        ((9, 60, 12), "float32", 1),
        ((8, 256, 2), "float32", 2),
    ],
)
def test_the_cost_of_copied_slabs_has_the_bank_conflicts_that_the_simulator_counts(checked, h200, shape, dtype, ways):
    this = case(shape, 1, dtype)
    plan = copied_plan(NAME, this, h200, Slabs(staged=False))
    assert bank_ways(plan) == ways
    (counted,) = checked("one_read_axis", this, plan=lambda case, gpu: plan).counters
    assert counted.shared_store_wavefronts / counted.shared_store_requests == pytest.approx(ways, rel=0.1)


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("gpu", "shape", "exchange", "dtype", "shift"),
    [
        ("h200", (1, 1100, 48), "cluster", "float32", 0),
        ("h200", (1, 4001, 15), "cluster", "bfloat16", 1),  # ragged
        ("h200", (1, 500, 1025), "cluster", "float32", 0),  # shifted
        ("a100", (2, 1501, 48), "co-resident", "float32", 1),
        ("a100", (1, 3001, 31), "co-resident", "bfloat16", 0),
    ],
)
def test_parts_of_dim_are_joined(checked, gpu, shape, exchange, dtype, shift):
    this = case(shape, 1, dtype)
    layout = "whole" if shape[2] == 48 else "shifted" if shape[2] == 1025 else "ragged"
    checked("one_read_axis", this, shift, KNOWN[gpu], plan=tiled(layout=layout, exchange=exchange))


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("operation", "shape", "gpu", "fields"),
    [
        *((operation, (1, 128, 128), "h200", WHOLE) for operation in OPERATIONS),
        ("log_softmax", (33, 16, 4), "h200", WHOLE),  # groups
        *((operation, (5, 6, 30), "h200", COPIED) for operation in OPERATIONS),
        *((operation, (8, 7, 5), "h200", STAGED) for operation in OPERATIONS),
        ("log_softmax", (1, 1100, 48), "h200", {"exchange": "cluster"}),
        ("softmax", (1, 1400, 48), "a100", {"exchange": "co-resident"}),
    ],
)
def test_special_values_are_those_of_the_formula(checked, operation, shape, gpu, fields):
    """Columns of -inf give NaN, so do those with NaN or +inf; single elements of -inf have no share."""

    def fill(spec, seed):
        x = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
        x[0, :, 0], x[0, 3, 1], x[0, 5, 2] = -np.inf, np.nan, np.inf
        x[0, : shape[1] - 1, 3] = -np.inf
        return x.reshape(-1)

    plan = tiled(**fields)
    ran = checked("one_read_axis", case(shape, 1, "float32", operation), 0, KNOWN[gpu], fill=fill, plan=plan)
    assert np.isnan(ran.outputs["y"].reshape(shape)[0, :, :3]).all()
