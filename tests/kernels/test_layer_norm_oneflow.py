"""OneFlow's layer norm: the rules that choose technique, constants, block and grid, and each technique run."""

import pytest

from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case, Scalar
from kernelbench.devices.known import KNOWN

MOST_SHARED = 12189  # columns: (48 KB - 396 bytes of the block's join) / 4


def case(rows, columns, dtype="float32"):
    return Case("layer_norm", (rows, columns), -1, dtype)


def defines(plan):
    return {name.removeprefix("ONEFLOW_"): value for name, value in plan.defines}


@pytest.fixture(scope="module")
def layer_norm(catalog):
    return catalog.implementations["layer_norm"]


@pytest.mark.parametrize(
    ("columns", "pack", "group", "columns_per_thread", "padded"),
    [
        (1, 1, 1, 1, 0),
        (2, 2, 1, 2, 0),
        (3, 1, 4, 1, 1),
        (4, 4, 1, 4, 0),
        (31, 1, 32, 1, 1),
        (33, 1, 32, 2, 1),
        (66, 2, 32, 4, 1),
        (128, 4, 32, 4, 0),
        (132, 4, 32, 8, 1),
        (768, 4, 32, 24, 0),
        (1000, 4, 32, 32, 1),
        (1023, 1, 32, 32, 1),
        (1024, 4, 32, 32, 0),
    ],
)
@pytest.mark.parametrize("rows", [64, 37])
def test_warp_constants(layer_norm, h200, rows, columns, pack, group, columns_per_thread, padded):
    plan = layer_norm["oneflow_warp"].plan(case(rows, columns), h200)
    assert defines(plan) == {
        "TECHNIQUE": "ONEFLOW_WARP",
        "PACK": pack,
        "GROUP": group,
        "COLUMNS_PER_THREAD": columns_per_thread,
        "ROWS_PER_ACCESS": 2 if columns <= group * pack and rows == 64 else 1,
        "PADDED": padded,
    }
    (launch,) = plan.launches
    assert launch.block == (group, 128 // group, 1)
    assert launch.grid == (-(-rows // (128 // group)), 1, 1)


def test_the_grid_has_at_most_32_waves(layer_norm, h200):
    assert layer_norm["oneflow_warp"].plan(case(10**7, 1024), h200).launches[0].grid == (132 * 16 * 32, 1, 1)
    assert layer_norm["oneflow_uncached"].plan(case(10**7, 1024), h200).launches[0].grid == (132 * 2 * 32, 1, 1)


@pytest.mark.parametrize(
    ("columns", "technique"),
    [(1024, "warp"), (1025, "shared"), (MOST_SHARED, "shared"), (MOST_SHARED + 1, "uncached"), (10**6, "uncached")],
)
@pytest.mark.parametrize("gpu", ["v100", "a100", "h200"])
def test_dispatch_by_columns(layer_norm, gpu, columns, technique):
    chosen, alone = (
        layer_norm[name].plan(case(6, columns), KNOWN[gpu]) for name in ("oneflow", f"oneflow_{technique}")
    )
    assert (chosen.launches, chosen.defines, chosen.reasons[1:]) == (alone.launches, alone.defines, alone.reasons)
    shared = 4 * columns if technique == "shared" else 0
    assert chosen.launches[0].shared_bytes == shared
    assert chosen.launches[0].arguments[:4] == ("x", "gamma", "beta", "y")
    assert Scalar("int32", columns) in chosen.launches[0].arguments


@pytest.mark.parametrize(("gpu", "columns", "block"), [("h200", 1028, 128), ("h200", 8192, 256), ("h200", 12000, 512),
                                                       ("v100", 8192, 1024), ("v100", 4096, 256)])  # fmt: skip
def test_largest_block_with_as_many_resident_as_128(layer_norm, gpu, columns, block):
    assert layer_norm["oneflow_shared"].plan(case(100, columns), KNOWN[gpu]).launches[0].block == (block, 1, 1)


@pytest.mark.parametrize(
    ("name", "columns", "reason"),
    [
        ("oneflow_warp", 1025, "columns must be at most 1024.* got 1025"),
        ("oneflow_shared", MOST_SHARED + 1, "columns must be at most 12189, 49152 bytes.* got 12190"),
        ("oneflow", 2**31 - 4096, "columns must be at most 2147479551, got 2147479552"),
    ],
)
def test_what_a_technique_does_not_hold_is_refused(layer_norm, h200, name, columns, reason):
    with pytest.raises(Unsupported, match=reason):
        layer_norm[name].plan(case(2, columns), h200)


def test_arrays_begin_with_a_pack(layer_norm, h200):
    plan = layer_norm["oneflow"].plan(case(4, 768, "float16"), h200)
    with pytest.raises(Unsupported, match="x must begin at a multiple of 8 bytes"):
        plan.check_alignment({"x": 256 + 2})


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("oneflow_warp", (37, 3)),
        ("oneflow_warp", (64, 128)),
        ("oneflow_warp", (5, 1000)),
        ("oneflow_shared", (3, 1026)),
        ("oneflow_uncached", (2, 13_001)),
    ],
)
def test_every_technique_is_right(checked, dtype, name, shape):
    checked(name, Case("layer_norm", shape, -1, dtype))
