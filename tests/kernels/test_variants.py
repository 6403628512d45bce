"""Kernels that differ from another one in one thing alone, so that it can be judged: plans, reads, bytes, code."""

from dataclasses import replace

import numpy as np
import pytest

from kernelbench.build.machine_code import machine_code
from kernelbench.core import dtypes
from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case
from tests.kernels.simulated import random_input, run_and_check

UNCACHED = (128, 256, 512)


def softmax_case(rows, columns, dtype="float32", **parameters):
    return Case("softmax", (rows, columns), -1, dtype, parameters=tuple(parameters.items()))


@pytest.mark.parametrize("block", UNCACHED)
def test_uncached_blocks_differ_by_their_threads_alone(softmax, h200, block):
    most = 132 * (2048 // block) * 32
    for rows, grid in ((5461, 5461), (most, most), (most + 1, most)):
        plain, forced = (
            softmax[name].plan(softmax_case(rows, 12288), h200)
            for name in ("oneflow_uncached", f"oneflow_uncached_{block}")
        )
        (one,) = forced.launches
        assert (one.grid, one.block) == ((grid, 1, 1), (block, 1, 1))
        assert replace(one, grid=plain.launches[0].grid, block=(1024, 1, 1)) == plain.launches[0]
        assert dict(forced.defines) == {**dict(plain.defines), "ONEFLOW_BLOCK": block}
        assert forced.reasons == (f"block {block}: forced",)


@pytest.mark.nvcc
@pytest.mark.parametrize("block", UNCACHED)
def test_uncached_blocks_are_right(catalog, h200, binaries, dtype, block):
    implementation = catalog.implementations["softmax"][f"oneflow_uncached_{block}"]
    for columns in (1, 130, 1027):
        run_and_check(implementation, catalog.operations["softmax"], softmax_case(3, columns, dtype), h200, binaries)


def axis_case(shape, axis, dtype="float32"):
    return Case("log_softmax", shape, axis, dtype)


@pytest.mark.parametrize(
    ("shape", "axis"), [((128, 128, 16, 16), 0), ((512, 896, 4, 12), 1), ((2, 3, 4), 1), ((7, 100_000), 1)]
)
def test_two_reads_are_launched_as_three_are(log_softmax, h200, shape, axis):
    three, two = (
        log_softmax[name].plan(axis_case(shape, axis), h200) for name in ("paddle_merged", "paddle_two_reads")
    )
    assert two == replace(three, defines=(("READS", 2),))


@pytest.mark.nvcc
@pytest.mark.parametrize("shape", [(3, 64, 2048), (2, 4096, 8)])
def test_two_reads_of_a_column_where_the_merged_kernel_has_three(catalog, h200, binaries, dtype, shape):
    """With one thread a column, and with 128."""
    sectors = {}
    for name in ("paddle_merged", "paddle_two_reads"):
        implementation = catalog.implementations["log_softmax"][name]
        ran = run_and_check(
            implementation, catalog.operations["log_softmax"], axis_case(shape, 1, dtype), h200, binaries
        )
        (counters,) = ran.counters
        sectors[name] = counters.global_load_sectors
        assert counters.read_once_bytes == np.prod(shape) * dtypes.itemsize(dtype)
    assert 3 * sectors["paddle_two_reads"] == 2 * sectors["paddle_merged"]


@pytest.mark.nvcc
@pytest.mark.parametrize("dim", [1, 5, 64, 300])
def test_two_reads_of_columns_with_infinities_and_nan(catalog, h200, binaries, dtype, dim):
    """One value in any place of a column, two of them, and columns of nothing else."""
    special = [-np.inf, np.inf, np.nan, np.finfo(np.float16).min]
    columns = [(value, at) for value in special for at in ({0}, {dim - 1}, {0, dim - 1}, set(range(dim)))]

    def planted(spec, seed):
        x = random_input(spec, seed).reshape(dim, len(columns))
        for column, (value, places) in enumerate(columns):
            x[sorted(places), column] = dtypes.narrow(np, np.array([value], np.float32), spec.dtype)
        return x.reshape(-1)

    implementation = catalog.implementations["log_softmax"]["paddle_two_reads"]
    operation = catalog.operations["log_softmax"]
    run_and_check(implementation, operation, axis_case((dim, len(columns)), 0, dtype), h200, binaries, fill=planted)


@pytest.mark.nvcc
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_100"])
def test_two_reads_need_no_more_registers_than_the_launch_rule_counts_with(log_softmax, h200, binaries, architecture):
    plan = log_softmax["paddle_two_reads"].plan(axis_case((2, 3, 4), 1), h200)
    (binary,) = binaries(log_softmax["paddle_two_reads"], [plan], architecture)
    for facts in binary.facts.values():
        assert facts.registers <= 32
        assert facts.spill_store_bytes == facts.spill_load_bytes == 0
        assert facts.parameter_loads[0] == 2, "each of the passes reads x"


@pytest.mark.nvcc
def test_packs_counted_by_each_thread_cost_instructions_and_no_fewer_registers(catalog, h200, binaries):
    found = {}
    for name in ("whole_packs", "counted_here"):
        implementation = catalog.implementations["multiply"][name]
        (binary,) = binaries(
            implementation, [implementation.plan(Case("multiply", (500,), -1, "float16"), h200)], "sm_90"
        )
        codes = machine_code(binary.path)
        found[name] = {entry: (facts.registers, codes[entry].instructions) for entry, facts in binary.facts.items()}
    for entry, (registers, instructions) in found["counted_here"].items():
        assert registers >= found["whole_packs"][entry][0]
        assert instructions > found["whole_packs"][entry][1]


def test_five_kernels_in_half_are_the_same_launches_with_half_between_them(softmax, h200):
    case = softmax_case(7, 128, "float16", scale=0.125)
    plain, half = (softmax[name].plan(case, h200) for name in ("five_kernels", "five_kernels_half"))
    assert [(one.grid, one.block, one.arguments) for one in half.launches] == [
        (one.grid, one.block, one.arguments) for one in plain.launches
    ]
    assert all(one.entry.endswith("_half_f16") for one in half.launches)
    assert half.scratch == tuple((name, nbytes // 2) for name, nbytes in plain.scratch)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (softmax_case(2, 64), "dtype must be float16, got float32"),
        (softmax_case(2, 64, "float16", scale=0.3), "scale must be a power of two.* got 0.3"),
        (softmax_case(2, 1025, "float16"), "columns must be at most 1024, got 1025"),
        (Case("softmax", (1, 1, 8, 8), -1, "float16", parameters=(("mask", True),)), "mask"),
    ],
)
def test_five_kernels_in_half_refuse_what_half_cannot_hold(softmax, h200, case, reason):
    with pytest.raises(Unsupported, match=reason):
        softmax["five_kernels_half"].plan(case, h200)


@pytest.fixture
def allowing(catalog):
    """Softmax with what five_kernels_half is allowed besides."""
    operation, extra = catalog.operations["softmax"], catalog.implementations["softmax"]["five_kernels_half"]
    return replace(operation, tolerance=lambda case: operation.tolerance(case).plus(extra.extra_tolerance))


@pytest.mark.nvcc
@pytest.mark.parametrize("columns", [1, 2, 31, 128, 1023])
def test_five_kernels_in_half_are_right_wherever_arrays_begin(softmax, allowing, h200, binaries, columns):
    for shift in (0, 1):
        case = softmax_case(37, columns, "float16", scale=0.125)
        run_and_check(softmax["five_kernels_half"], allowing, case, h200, binaries, shift)


@pytest.mark.nvcc
@pytest.mark.parametrize(("name", "nbytes"), [("five_kernels", 26), ("five_kernels_half", 16)])
def test_bytes_that_five_kernels_move_per_element(softmax, allowing, h200, binaries, name, nbytes):
    case = softmax_case(64, 1024, "float16")
    counters = run_and_check(softmax[name], allowing, case, h200, binaries).counters
    moved = sum(one.read_once_bytes + one.written_once_bytes for one in counters)
    assert moved / case.elements == pytest.approx(nbytes, rel=0.01)


@pytest.mark.parametrize("columns", [2, 128, 1024])
def test_what_five_kernels_in_half_are_allowed_is_enough_and_not_much_more(catalog, columns):
    """The same five steps by NumPy, on rows that are as bad as can be: one element high, all others at one depth."""
    operation = catalog.operations["softmax"]
    extra = catalog.implementations["softmax"]["five_kernels_half"].extra_tolerance
    depths = np.arange(2**11, 18 * 2**11, 7) / 2**11
    x = np.repeat(-depths[:, None], columns, axis=1).astype(np.float16)
    x[:, 0] = 1 / 3
    case = softmax_case(len(x), columns, "float16")
    expected = operation.reference(np, case, {"x": x.astype(np.float64)})["y"].reshape(x.shape)
    wide = x.astype(np.float32)
    shifted = (wide - wide.max(axis=1, keepdims=True)).astype(np.float16)
    powers = np.exp(shifted.astype(np.float32)).astype(np.float16).astype(np.float32)
    total = powers.sum(axis=1, keepdims=True).astype(np.float16)
    y = (powers / total.astype(np.float32)).astype(np.float16)
    allowed = operation.tolerance(case).plus(extra)
    share = np.abs(y - expected) / (allowed.absolute + allowed.relative * expected)
    assert 0.2 < share.max() <= 1


def test_what_five_kernels_in_half_are_allowed_is_less_than_an_element_of_attention_scores(catalog):
    extra = catalog.implementations["softmax"]["five_kernels_half"].extra_tolerance
    operation = catalog.operations["softmax"]
    allowed = operation.tolerance(softmax_case(1, 128, "float16")).plus(extra)
    assert allowed.absolute + allowed.relative / 128 < 1 / 127 - 1 / 128
