"""OneFlow's softmax: the rules that choose technique, constants, block and grid, and what was compiled for them."""

import re
from dataclasses import replace
from math import prod

import pytest

from kernelbench.core import dtypes
from kernelbench.core.records import Case, Scalar
from kernelbench.devices.known import KNOWN
from tests.kernels.signatures import entry_text

BLOCKS = (128, 256, 512, 1024)
SHARED = ("oneflow_shared", *(f"oneflow_shared_{block}" for block in BLOCKS), "oneflow_shared_conflicted")
ALL = ("oneflow_warp", *SHARED, "oneflow_uncached", "oneflow")
MOST_SHARED = 12280  # (48 KB - 32 bytes of reduction at 128 threads) / 4


def case(rows, columns, dtype="float32", **parameters):
    return Case("softmax", (rows, columns), -1, dtype, parameters=tuple(parameters.items()))


def defines(plan):
    return {name.removeprefix("ONEFLOW_"): value for name, value in plan.defines}


@pytest.mark.parametrize(
    ("columns", "pack", "group", "columns_per_thread", "grouped", "padded"),
    [
        (1, 1, 1, 1, True, 0),
        (2, 2, 1, 2, True, 0),
        (3, 1, 4, 1, True, 1),
        (4, 2, 2, 2, True, 0),
        (6, 2, 4, 2, True, 1),
        (7, 1, 8, 1, True, 1),
        (16, 2, 8, 2, True, 0),
        (31, 1, 32, 1, True, 1),
        (32, 2, 16, 2, True, 0),
        (33, 1, 32, 2, False, 1),
        (63, 1, 32, 2, False, 1),
        (64, 2, 32, 2, True, 0),
        (65, 1, 32, 3, False, 1),
        (66, 2, 32, 4, False, 1),
        (100, 2, 32, 4, False, 1),
        (128, 2, 32, 4, False, 0),
        (129, 1, 32, 5, False, 1),
        (130, 2, 32, 6, False, 1),
        (512, 2, 32, 16, False, 0),
        (1000, 2, 32, 32, False, 1),
        (1023, 1, 32, 32, False, 1),
        (1024, 2, 32, 32, False, 0),
    ],
)
@pytest.mark.parametrize("rows", [64, 37])
def test_warp_constants(softmax, h200, rows, columns, pack, group, columns_per_thread, grouped, padded):
    plan = softmax["oneflow_warp"].plan(case(rows, columns), h200)
    assert defines(plan) == {
        "TECHNIQUE": "ONEFLOW_WARP",
        "PACK": pack,
        "GROUP": group,
        "COLUMNS_PER_THREAD": columns_per_thread,
        "ROWS_PER_ACCESS": 2 if grouped and rows == 64 else 1,
        "PADDED": padded,
    }
    assert plan.launches[0].block == (group, 128 // group, 1)


@pytest.mark.parametrize("rows", [2, 3])
def test_warp_constants_cover_every_row_length(softmax, h200, rows):
    for columns in range(1, 1025):
        chosen = defines(softmax["oneflow_warp"].plan(case(rows, columns), h200))
        width = chosen["GROUP"] * chosen["COLUMNS_PER_THREAD"]
        assert width >= columns
        assert bool(chosen["PADDED"]) == (width != columns)
        assert chosen["COLUMNS_PER_THREAD"] % chosen["PACK"] == 0
        assert chosen["COLUMNS_PER_THREAD"] <= 32
        assert columns % chosen["PACK"] == 0
        assert rows % chosen["ROWS_PER_ACCESS"] == 0


@pytest.mark.parametrize(
    ("gpu", "rows", "columns", "grid"),
    [
        ("h200", 1, 16, 1),
        ("h200", 37, 16, 3),  # odd rows one by one: 37 groups, 16 a block
        ("h200", 38, 16, 2),  # pairs of rows: 19 groups
        ("h200", 32 * 64 * 16, 16, 1024),
        ("h200", 32 * 64 * 512, 512, 132 * 16 * 32),
        ("a100", 32 * 64 * 512, 512, 108 * 16 * 32),
        ("v100", 32 * 64 * 512, 512, 80 * 16 * 32),
        ("a100", 32 * 64 * 128, 128, 108 * 16 * 32),
    ],
)
def test_warp_grid(softmax, gpu, rows, columns, grid):
    assert softmax["oneflow_warp"].plan(case(rows, columns), KNOWN[gpu]).launches[0].grid == (grid, 1, 1)


@pytest.mark.parametrize("block", BLOCKS)
def test_block_grid_is_the_rows_up_to_32_waves(softmax, h200, block):
    most = 132 * (2048 // block) * 32
    for rows, grid in ((1, 1), (most, most), (most + 1, most)):
        plan = softmax[f"oneflow_shared_{block}"].plan(case(rows, 2048), h200)
        assert plan.launches[0].grid == (grid, 1, 1)


def test_grid_divides_all_threads_before_it_multiplies(softmax, h200):
    odd = replace(h200, multiprocessors=3, max_threads_per_multiprocessor=1536)
    assert softmax["oneflow_uncached"].plan(case(10**6, 64), odd).launches[0].grid == (3 * 1536 // 1024 * 32, 1, 1)


CHOICES = [
    ("v100", 1024, 128, 16),
    ("v100", 4096, 256, 5),
    ("v100", 6144, 512, 3),
    ("v100", 8192, 1024, 2),
    ("v100", 12224, 1024, 2),
    ("v100", 12226, 512, 2),  # the larger reduction of 1024 threads no longer fits 48 KB beside the row
    ("a100", 1024, 128, 16),
    ("a100", 4096, 128, 9),
    ("a100", 5000, 256, 7),
    ("a100", 8192, 512, 4),
    ("a100", 10240, 512, 3),
    ("h200", 1024, 128, 16),
    ("h200", 4096, 128, 13),
    ("h200", 8192, 256, 6),
    ("h200", 12000, 512, 4),
    ("h200", MOST_SHARED, 128, 4),
]


@pytest.mark.parametrize(("gpu", "columns", "block", "resident"), CHOICES)
@pytest.mark.parametrize("name", ["oneflow_shared", "oneflow_shared_conflicted", "oneflow"])
def test_largest_block_with_as_many_resident_as_128(softmax, gpu, columns, block, resident, name):
    plan = softmax[name].plan(case(100, columns), KNOWN[gpu])
    assert plan.launches[0].block == (block, 1, 1)
    assert defines(plan)["BLOCK"] == block
    assert f"block {block}: " in plan.reasons[-1]
    assert f"{resident} resident blocks" in plan.reasons[-1]


@pytest.mark.parametrize("block", BLOCKS)
def test_forced_block(softmax, h200, block):
    plan = softmax[f"oneflow_shared_{block}"].plan(case(100, 1024), h200)
    assert plan.launches[0].block == (block, 1, 1)
    assert plan.reasons == (f"block {block}: forced",)
    assert defines(plan)["TRANSPOSED"] == 1


@pytest.mark.parametrize("dtype_", ["float32", "float16", "bfloat16"])
def test_shared_memory_holds_a_row_of_floats(softmax, h200, dtype_):
    plan = softmax["oneflow_shared"].plan(case(4, 2048, dtype_), h200)
    assert plan.launches[0].shared_bytes == 4 * 2048
    assert softmax["oneflow_uncached"].plan(case(4, 2048, dtype_), h200).launches[0].shared_bytes == 0


def test_conflicted_differs_by_its_layout_alone(softmax, h200):
    plain, conflicted = (
        softmax[name].plan(case(64, 4096), h200) for name in ("oneflow_shared", "oneflow_shared_conflicted")
    )
    assert plain.launches == conflicted.launches
    assert {**defines(plain), "TRANSPOSED": 0} == defines(conflicted)


@pytest.mark.parametrize(
    ("columns", "technique"),
    [
        (1, "warp"),
        (1022, "warp"),
        (1023, "warp"),
        (1024, "shared"),
        (1025, "shared"),
        (MOST_SHARED, "shared"),
        (MOST_SHARED + 1, "uncached"),
        (262144, "uncached"),
    ],
)
def test_dispatch_by_columns(softmax, columns, technique):
    for gpu in ("v100", "a100", "h200"):
        chosen = softmax["oneflow"].plan(case(6, columns), KNOWN[gpu])
        alone = softmax[f"oneflow_{technique}"].plan(case(6, columns), KNOWN[gpu])
        assert (chosen.launches, chosen.defines) == (alone.launches, alone.defines)
        assert chosen.reasons[1:] == alone.reasons
        assert chosen.launches[0].entry == f"softmax_oneflow_{technique}_f32"


@pytest.mark.parametrize("name", ALL)
def test_arguments(softmax, h200, dtype, name):
    plan = softmax[name].plan(Case("softmax", (4, 5, 24), -1, dtype, parameters=(("scale", 0.125),)), h200)
    (launch,) = plan.launches
    assert launch.arguments == ("x", "y", Scalar("int64", 20), Scalar("int32", 24), Scalar("float32", 0.125))
    assert launch.entry.endswith("_" + dtypes.suffix(dtype))
    assert prod(launch.block) <= 1024


def widths(ptx, operation, space):
    """Bits of each such access in the text: 64 for st.global.v2.f32."""
    found = re.findall(rf"\b{operation}\.(?:volatile\.)?{space}(?:\.v(\d))?\.[a-z](\d+)", ptx)
    return {int(lanes or 1) * int(bits) for lanes, bits in found}


@pytest.mark.nvcc
@pytest.mark.parametrize("columns", [15, 16, 1000, 1001])
@pytest.mark.parametrize("name", ["oneflow_warp", "oneflow_shared", "oneflow_shared_conflicted", "oneflow_uncached"])
def test_a_pack_is_one_access(softmax, h200, binaries, dtype, name, columns):
    plan = softmax[name].plan(case(6, columns, dtype), h200)
    (binary,) = binaries(softmax[name], [plan], h200.architecture)
    text = entry_text(binary.ptx_path, plan.launches[0].entry)
    bits = 8 * dtypes.itemsize(dtype) * (2 if columns % 2 == 0 else 1)
    assert widths(text, "ld", "global") == {bits}
    assert widths(text, "st", "global") == {bits}


@pytest.mark.nvcc
@pytest.mark.parametrize("name", ["oneflow_shared", "oneflow_shared_conflicted"])
def test_shared_memory_is_accessed_float_by_float(softmax, h200, binaries, dtype, name):
    """Joined to 8 bytes, the conflicted layout would have no conflicts to show."""
    plan = softmax[name].plan(case(6, 1000, dtype), h200)
    (binary,) = binaries(softmax[name], [plan], h200.architecture)
    text = entry_text(binary.ptx_path, plan.launches[0].entry)
    assert widths(text, "ld", "shared") == widths(text, "st", "shared") == {32}


@pytest.mark.nvcc
@pytest.mark.parametrize("gpu", ["a100", "h200"])
@pytest.mark.parametrize("layout", ["oneflow_shared", "oneflow_shared_conflicted"])
def test_block_choice_agrees_with_ptxas(softmax, binaries, gpu, layout):
    """The plan assumes registers and static shared memory; with ptxas's numbers it must choose the same."""
    here = KNOWN[gpu]
    transposed = {"ONEFLOW_TRANSPOSED": int(layout == "oneflow_shared")}
    forced = []
    for columns in (1025, 1026):
        for block in BLOCKS:
            plan = softmax[f"oneflow_shared_{block}"].plan(case(8, columns), here)
            defines_ = dict(plan.defines) | transposed  # in the plan's order, so that one binary serves both
            forced.append(replace(plan, defines=tuple(defines_.items())))
    built = iter(binaries(softmax[layout], forced, here.architecture))
    facts = {(pack, block): next(built).facts for pack in (1, 2) for block in BLOCKS}

    for columns in range(1025, MOST_SHARED + 1, 5):
        chosen = softmax[layout].plan(case(8, columns), here).launches[0].block[0]
        for suffix in ("f32", "f16", "bf16"):
            resident = {}
            for block in BLOCKS:
                entry = facts[2 - columns % 2, block][f"softmax_oneflow_shared_{suffix}"]
                assert entry.spill_store_bytes == 0
                shared = 4 * columns + entry.shared_bytes
                fits = shared <= here.shared_per_block
                resident[block] = here.resident_blocks(block, entry.registers, shared) if fits else 0
            expected = max(block for block in BLOCKS if resident[block] == resident[128])
            assert chosen == expected, (suffix, columns)


@pytest.mark.nvcc
def test_uncached_block_of_1024_can_be_launched(softmax, h200, binaries):
    plans = [softmax["oneflow_uncached"].plan(case(8, columns), h200) for columns in (64, 65)]
    for binary in binaries(softmax["oneflow_uncached"], plans, h200.architecture):
        for entry in binary.facts.values():
            assert entry.registers <= h200.registers_per_multiprocessor // 1024
            assert entry.parameter_loads[0] >= 3  # the row is read three times
