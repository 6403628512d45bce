"""FasterTransformer's softmax: which kernel, which block, what it refuses, and what the compiler made of it."""

from dataclasses import replace

import pytest

from kernelbench.core import dtypes
from kernelbench.core.errors import Unsupported
from kernelbench.core.launch_texts import input_loads, unread_inputs
from kernelbench.core.records import Case, Scalar

NAMES = ("ft_v1", "ft_v2", "ft")
DISPATCHED = ("ft", "ft_as_published")
PUBLISHED_SIZES = (16, 32, 64, 128, 512)


def case(shape, dtype="float32", axis=-1, **parameters):
    return Case("softmax", shape, axis, dtype, parameters=tuple(parameters.items()))


def only_launch(implementation, case_, device):
    (launch,) = implementation.plan(case_, device).launches
    return launch


@pytest.mark.parametrize(("least", "block"), [(1, 32), (33, 64), (65, 128), (129, 256), (257, 512), (513, 1024)])
@pytest.mark.parametrize("name", [*NAMES, "ft_as_published"])
def test_block_is_the_next_size_that_holds_a_row(softmax, h200, name, least, block):
    for columns in (least, block - 1, block):
        launch = only_launch(softmax[name], case((1, 2, columns, columns)), h200)
        assert (launch.block, launch.shared_bytes) == ((block, 1, 1), 0)


@pytest.mark.parametrize(
    ("batch", "heads", "version", "blocks"),
    [
        (1, 1, "v2", 7),
        (10, 12, "v2", 120 * 7),
        (120, 1, "v2", 120 * 7),
        (11, 11, "v1", 121),
        (121, 1, "v1", 121),
        (32, 64, "v1", 2048),
    ],
)
@pytest.mark.parametrize("name", DISPATCHED)
def test_version_changes_above_120_heads(softmax, h200, name, batch, heads, version, blocks):
    launch = only_launch(softmax[name], case((batch, heads, 7, 7)), h200)
    assert launch.entry == f"softmax_{name}_{version}_f32"
    assert launch.grid == (blocks, 1, 1)


@pytest.mark.parametrize("shape", [(1, 2, 7, 7), (32, 64, 7, 7)])
def test_versions_can_be_forced_on_both_sides_of_the_threshold(softmax, h200, shape):
    v1, v2 = (only_launch(softmax[name], case(shape), h200) for name in ("ft_v1", "ft_v2"))
    assert (v1.entry, v1.grid[0]) == ("softmax_ft_v1_f32", shape[0] * shape[1])
    assert (v2.entry, v2.grid[0]) == ("softmax_ft_v2_f32", shape[0] * shape[1] * 7)


def test_reasons_name_the_rule(softmax, h200):
    plan = softmax["ft"].plan(case((32, 64, 16, 16)), h200)
    assert "batch * heads = 2048 > 120" in plan.reasons[0]
    assert plan.reasons[1] == "block 32: the next of 32, 64, .., 1024 from 16 columns"
    assert "batch * heads = 12 <= 120" in softmax["ft"].plan(case((1, 12, 16, 16)), h200).reasons[0]


@pytest.mark.parametrize("name", NAMES)
def test_arguments_with_and_without_mask(softmax, h200, dtype, name):
    plain = only_launch(softmax[name], case((2, 3, 40, 40), dtype, scale=0.125), h200)
    assert plain.arguments == ("x", "y", Scalar("int32", 40), Scalar("float32", 0.125))
    masked = only_launch(softmax[name], case((2, 3, 40, 40), dtype, mask=True), h200)
    assert masked.arguments == ("x", "mask", "y", Scalar("int32", 3), Scalar("int32", 40), Scalar("float32", 1.0))
    assert masked.entry == plain.entry.replace("_" + dtypes.suffix(dtype), f"_masked_{dtypes.suffix(dtype)}")
    assert (masked.grid, masked.block) == (plain.grid, plain.block)


@pytest.mark.parametrize("name", ["ft_v2", "ft"])
def test_refuses_a_grid_that_the_device_does_not_have(softmax, h200, name):
    small = replace(h200, max_grid=(100, 1, 1))
    assert softmax[name].plan(case((2, 5, 10, 10)), small)
    with pytest.raises(Unsupported, match="at most 100 blocks, v2 needs 110"):
        softmax[name].plan(case((1, 10, 11, 11)), small)


def test_tolerance_covers_the_denominator_and_the_fast_exponential(softmax):
    for name in NAMES:
        extra = softmax[name].extra_tolerance
        assert softmax[name].arithmetic == "fast"
        assert extra.absolute == 0.0
        # 1e-6 of a sum of at least 1, and the documented error of __expf at -87: 104 ulp of 2^-23.
        assert extra.relative == pytest.approx(1e-6 + 104.051 * 2.0**-23)
        assert "1e-6" in softmax[name].origin.differs


def test_the_port_is_a_specimen_launched_as_the_kernel_it_claims_to_be(softmax, h200):
    for seq in PUBLISHED_SIZES:
        port, kernel = (
            only_launch(softmax[name], case((32, 64, seq, seq)), h200) for name in ("ft_as_published", "ft")
        )
        assert (port.grid, port.block) == (kernel.grid, kernel.block)


@pytest.mark.nvcc
def test_every_input_is_read_and_a_block_of_1024_can_be_launched(softmax, h200, binaries, dtype):
    for name in ("ft_v1", "ft_v2"):
        for mask in (False, True):
            plan = softmax[name].plan(case((2, 3, 1024, 1024), dtype, mask=mask), h200)
            (binary,) = binaries(softmax[name], [plan], h200.architecture)
            inputs = ["x", "mask"] if mask else ["x"]
            assert all(count >= 1 for count in input_loads(plan, binary.facts, inputs).values())
            facts = binary.facts[plan.launches[0].entry]
            assert facts.registers <= h200.registers_per_multiprocessor // 1024
            assert facts.spill_store_bytes == facts.spill_load_bytes == 0
            assert facts.shared_bytes == 2 * 32 * 4 + 2 * 4


@pytest.mark.nvcc
@pytest.mark.parametrize("shape", [(1, 2, 40, 40), (32, 64, 40, 40)])
def test_nothing_is_left_of_the_ports_load(softmax, h200, binaries, dtype, shape):
    plan = softmax["ft_as_published"].plan(case(shape, dtype), h200)
    (binary,) = binaries(softmax["ft_as_published"], [plan], h200.architecture)
    assert unread_inputs(plan, binary.facts, ["x"]) == ["x"]
    assert binary.facts[plan.launches[0].entry].parameter_stores[1] >= 1
    assert "ld.global" not in binary.ptx_path.read_text()
