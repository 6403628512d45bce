"""Softmax and log-softmax off the last axis: how a view is cut into tiles, and every element on the simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernelbench.axis_plans import one_read_tile, two_read_tile
from kernelbench.catalog import load_catalog
from kernelbench.devices.known import KNOWN
from kernelbench.errors import Unsupported
from kernelbench.records import Case
from tests.kernels.simulated import run_and_check
from tests.simt.harness import Kernels

CATALOG = load_catalog()
OPERATIONS = ("log_softmax", "softmax")


def case(shape, axis=1, dtype="float32", operation="log_softmax"):
    return Case(operation, shape, axis, dtype)


def planned(shape, device, dtype="float32", operation="log_softmax"):
    return CATALOG.implementations[operation]["one_read_axis"].plan(case(shape, 1, dtype, operation), device)


def checked(operation, this, device, binaries, shift=0):
    implementation = CATALOG.implementations[operation]["one_read_axis"]
    run_and_check(implementation, CATALOG.operations[operation], this, device, binaries, shift)


# ---- Tiles ----


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "width", "rows", "parts"),
    [
        ((1, 128, 32768), "float32", "whole", 32, 128, 1),  # a line of each row
        ((1, 128, 32768), "bfloat16", "whole", 64, 128, 1),
        ((512, 896, 48), "float32", "whole", 48, 896, 1),  # whole slabs
        ((349, 1000, 48), "float32", "whole", 48, 250, 4),  # dim shared by a cluster
        ((8, 20000, 1024), "float32", "whole", 16, 2500, 8),  # half a line of each row, for dim to fit a cluster
        ((64, 101, 31), "float32", "ragged", 31, 101, 1),
        ((64, 256, 1025), "float32", "single", 32, 256, 1),
    ],
)
def test_tiles(h200, shape, dtype, layout, width, rows, parts):
    tile = one_read_tile(case(shape, 1, dtype), h200)
    assert tile is not None
    assert (tile.layout, tile.width, tile.rows, tile.parts) == (layout, width, rows, parts)


@pytest.mark.parametrize("inner", [2, 3, 4, 5, 8, 48, 63, 64, 65, 100, 1000, 1023, 1025, 4096])
@pytest.mark.parametrize("dim", [1, 2, 3, 100, 1009, 10_000, 100_000])
def test_tiles_hold_all_of_dim(h200, dtype, dim, inner):
    this = case((3, dim, inner), 1, dtype)
    tile = one_read_tile(this, h200) or two_read_tile(this)
    assert tile.parts * tile.rows >= dim
    assert tile.threads % tile.unit == 0
    assert tile.threads * tile.per_pack % tile.width == 0, "a thread has the same columns in each of its packs"
    assert tile.threads * tile.slabs <= 1024
    assert tile.threads * tile.per_pack * tile.packs >= tile.rows * tile.width
    assert tile.shared_bytes <= h200.shared_per_block_optin
    if tile.layout == "whole":
        assert tile.rows * inner % tile.per_pack == 0 or tile.parts == 1


def test_gpus_without_clusters_read_twice(h200):
    shape = (2, 4000, 48)
    assert len(planned(shape, h200).launches) == 1
    plan = planned(shape, KNOWN["a100"])
    steps = [launch.entry.removeprefix("log_softmax_one_read_axis_") for launch in plan.launches]
    assert steps == ["whole_f32", "join", "whole_f32"]
    assert dict(plan.defines)["CLUSTER"] == 1


@pytest.mark.parametrize(("shape", "small"), [((1000, 3, 5), True), ((100, 4, 64), False), ((1000, 64, 4), False)])
def test_small_slabs_are_loaded_as_one_stretch(h200, shape, small):
    assert ("_small_" in planned(shape, h200).launches[0].entry) == small


def test_refusals(h200):
    with pytest.raises(Unsupported, match="axis must not be the last, got axis 1 of 2"):
        planned((5, 7), h200)
    scaled = Case("softmax", (5, 7, 3), 1, "float32", parameters=(("scale", 2.0),))
    with pytest.raises(Unsupported, match=r"scale must be 1, got 2\.0"):
        CATALOG.implementations["softmax"]["one_read_axis"].plan(scaled, h200)


# ---- Results ----

# A compiler's run for each technique is most of the time: those that are the same for both operations but for two lines
# are run with one of them.


@pytest.mark.nvcc
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("shape", "shift"),
    [
        ((16, 16, 64), 0),  # strips
        ((2, 40, 64), {"x": 1}),
        ((3, 200, 12), 1),  # whole slabs
        ((2, 101, 31), {"y": 1}),  # ragged
        ((65, 3, 5), {"x": 1}),  # small
        ((33, 16, 4), 0),
        ((33, 16, 4), 1),
    ],
)
def test_right_anywhere(h200, binaries, operation, shape, shift, dtype):
    checked(operation, case(shape, 1, dtype, operation), h200, binaries, shift)


@pytest.mark.nvcc
def test_right_where_no_pack_fits(h200, binaries, dtype):
    this = case((1, 30, 1025), 1, dtype)
    assert one_read_tile(this, h200).layout == "single"
    checked("log_softmax", this, h200, binaries)


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("operation", "shape", "dtype", "shift", "cluster"),
    [
        ("log_softmax", (12, 33, 31), "float32", 1, 1),  # ragged
        ("log_softmax", (23, 67, 31), "bfloat16", {"x": 1}, 1),
        ("softmax", (2, 1500, 48), "float32", 0, 8),
        ("softmax", (2, 1500, 48), "float32", {"x": 1}, 8),
    ],
)
def test_blocks_load_ahead_where_tiles_are_many(h200, binaries, operation, shape, dtype, shift, cluster):
    one = replace(h200, multiprocessors=1)
    this = case(shape, 1, dtype, operation)
    tile = one_read_tile(this, one)
    assert tile.blocks(this) > tile.resident(one)
    defines = dict(planned(shape, one, dtype, operation).defines)
    assert (defines["STAGED"], defines["CLUSTER"]) == (1, cluster)
    checked(operation, this, one, binaries, shift)


@pytest.mark.nvcc
@pytest.mark.parametrize("shift", [0, 1])
def test_a_thread_owns_short_columns(h200, binaries, dtype, shift):
    this = case((16, 2, 48), 1, dtype, "softmax")
    assert one_read_tile(this, h200).owned
    checked("softmax", this, h200, binaries, shift)


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("gpu", "shape", "cluster", "launches"),
    [
        ("h200", (1, 1500, 48), 8, 1),
        ("h200", (1, 2001, 31), 8, 1),  # ragged
        ("h200", (1, 1009, 31), 1, 1),  # fourteen packs a thread
        ("a100", (1, 1100, 48), 1, 3),
        ("a100", (1, 1501, 31), 1, 3),
    ],
)
def test_parts_of_dim_are_joined(binaries, gpu, shape, cluster, launches):
    plan = planned(shape, KNOWN[gpu])
    assert (dict(plan.defines)["CLUSTER"], len(plan.launches)) == (cluster, launches)
    checked("log_softmax", case(shape), KNOWN[gpu], binaries)


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("operation", "shape"),
    [
        *((operation, shape) for operation in OPERATIONS for shape in ((1, 200, 64), (2, 10, 4))),
        ("log_softmax", (1, 1500, 48)),  # shared by a cluster
    ],
)
def test_special_values_are_those_of_the_formula(h200, binaries, operation, shape):
    """Columns of -inf give NaN, so do those with NaN or +inf; single elements of -inf have no share."""
    implementation = CATALOG.implementations[operation]["one_read_axis"]
    this = case(shape, 1, "float32", operation)
    plan = implementation.plan(this, h200)
    (binary,) = binaries(implementation, [plan], "sm_90")
    kernels = Kernels(Path(binary.ptx_path).read_text())
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    x[0, :, 0], x[0, 3, 1], x[0, 5, 2] = -np.inf, np.nan, np.inf
    x[0, : shape[1] - 1, 3] = -np.inf
    places = {name: kernels.machine.arena.allocate(name, x.nbytes, "input") for name in ("x", "y")}
    places["x"].view(np.float32, x.shape)[:] = x
    addresses = {name: np.uint64(place.address) for name, place in places.items()}
    for name, nbytes in plan.scratch:
        addresses[name] = np.uint64(kernels.machine.arena.allocate(name, nbytes, "scratch").address)
    (launch,) = plan.launches
    arguments = [
        addresses[one] if isinstance(one, str) else np.dtype(one.dtype).type(one.value) for one in launch.arguments
    ]
    kernels.run(launch.entry, launch.grid, launch.block, *arguments, shared=launch.shared_bytes)
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted = CATALOG.operations[operation].reference(np, this, {"x": x.astype(np.float64)})["y"]
    got = places["y"].view(np.float32, x.shape)
    np.testing.assert_allclose(got, wanted.reshape(shape), rtol=1e-4, atol=1e-5, equal_nan=True)
    assert np.isnan(got[0, :, :3]).all()
