"""Softmax and log-softmax by one_read_rows: which technique a row gets, and each of them run on the simulator."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from kernelbench.core import dtypes
from kernelbench.core.records import Case
from kernelbench.devices.known import KNOWN
from kernels.softmax_family import row_choices, row_plans
from kernels.softmax_family.row_choices import Held, Split, Staged, StagedLanes
from tests.catalog import catalog

CATALOG = catalog()
NAME = "one_read_rows"


def forced(choice):
    """A plan of that choice; None for the kernel's own."""
    if choice is None:
        return None
    return lambda case, device: row_plans.plan_of(f"{case.operation}_{NAME}", choice, case, device)


def capacity(choice):
    """Packs of a row that it holds."""
    return choice.lanes * choice.warps * choice.blocks * (choice.packs + choice.shared_packs)


def test_elements_are_never_computed_again(h200):
    for columns, itemsize in product((512, 16384, 147456, 262144, 524287), (2, 4)):
        choice = row_choices.choose(2048, columns, itemsize, False, h200)
        assert not choice.recompute, "there is no exponential to be kept"


@pytest.mark.parametrize("gpu", ["h200", "rtx5090"])
def test_blocks_of_rows_have_no_more_shared_memory_than_there_is(gpu):
    device = KNOWN[gpu]
    for columns in range(50_000, 1_700_000, 9_999):
        choice = row_choices.choose(2048, columns, 4, True, device)
        if isinstance(choice, Held):
            assert capacity(choice) >= row_choices.most_packs(columns, 4)
            assert choice.shared_packs * choice.block * 16 + 2048 <= device.shared_per_block_optin


@pytest.mark.parametrize("columns", [65, 100, 129, 193, 300])
def test_many_rows_of_halves_that_end_within_a_pack_are_taken_by_4_byte_loads(h200, columns):
    choice = row_choices.choose(2**20, columns, 2, True, h200)
    assert isinstance(choice, StagedLanes)
    assert choice.hint == 0  # x is longer than the L2 cache
    few = row_choices.choose(12 * 16 * 132 - 1, columns, 2, True, h200)
    assert isinstance(few, StagedLanes if columns < 89 else Held)  # masked packs, which short rows have too few of
    assert not isinstance(row_choices.choose(2**20, columns, 4, True, h200), StagedLanes)


@pytest.mark.parametrize("itemsize", [2, 4])
def test_what_is_chosen_holds_the_row_and_fits_the_device(h200, itemsize):
    a100 = replace(h200, compute_capability=(8, 0), shared_per_block_optin=163 * 1024)
    for columns in (*range(1, 600), *range(600, 300000, 997)):
        for device, rows in product((h200, a100), (5000, 2**20)):
            choice = row_choices.choose(rows, columns, itemsize, True, device)
            masked = columns * itemsize % 16 != 0
            packs = -(-(columns * itemsize + masked * (16 - itemsize)) // 16)  # from a pack's last element on
            if isinstance(choice, Held):
                assert capacity(choice) >= packs, columns
                assert choice.masked == masked
                assert choice.blocks == 1 or device is h200
                assert choice.block * choice.shared_packs * 16 <= device.shared_per_block_optin - 2048
                assert choice.resident * choice.block <= 2048
                if choice.warps == 1:  # every lane's last but one pack exists, wherever the row begins
                    assert choice.lanes * (choice.packs - 1) <= -(-columns * itemsize // 16), columns
                    assert not choice.masked or columns * itemsize > 16
            if isinstance(choice, Staged):
                thread_bytes = choice.group * columns * itemsize
                assert choice.columns == columns
                assert thread_bytes % 4 == 0, "whole words"
                assert thread_bytes * choice.block <= 48 * 1024, "static shared memory"
                unit = next(width for width in (16, 8, 4) if thread_bytes % width == 0)
                assert thread_bytes // unit % 2 == 1, f"{columns} columns: threads' words lie in the same banks"
            if isinstance(choice, StagedLanes):
                assert choice.lanes * choice.loads > columns // 2, "a row may begin and end within words"
                assert choice.lanes * (choice.loads - 1) <= columns // 2, "only the last words are masked"
                assert choice.warp_rows % 16 == 0, "whole sectors"
                assert choice.group % choice.rows == 0
                assert words_in_a_bank(columns, choice.lanes, choice.group) <= 4
                plan = row_plans.plan_of(NAME, choice, Case("softmax", (5000, columns), -1, "float16"), device)
                assert plan.launches[0].shared_bytes <= 48 * 1024


def words_in_a_bank(columns, lanes, group):
    """Most words of shared memory that lanes of a warp ask of one of its 32 banks at a time."""
    begins = (first * group * columns // 2 for first in range(32 // lanes))
    words = {begin + lane for begin in begins for lane in range(lanes)}
    return max(Counter(word % 32 for word in words).values())


def test_few_long_rows_are_split_over_the_gpu(h200):
    assert isinstance(row_choices.choose(1, 262144, 4, True, h200), Split)
    assert isinstance(row_choices.choose(1, 4096, 4, True, h200), Held)


@pytest.mark.parametrize("operation", ["softmax", "log_softmax"])
def test_an_axis_before_extents_of_one_is_the_last(h200, operation):
    plan = CATALOG.implementations[operation][NAME].plan
    for shape in [(1024, 32000), (2**20, 129), (64, 512)]:
        last, before = Case(operation, shape, -1, "bfloat16"), Case(operation, (*shape, 1, 1), 1, "bfloat16")
        assert plan(before, h200) == plan(last, h200)


# Each technique once, for each is a compiler's run, and each data type and operation in several of them.
RUNS = [
    ("softmax", (37, 16), "float32", None),  # two rows a thread
    ("log_softmax", (9, 128), "bfloat16", None),
    ("softmax", (9, 72), "bfloat16", None),  # of whose lanes some have a pack less
    ("softmax", (300, 1), "float16", None),  # staged: all of a thread's in its pack
    ("log_softmax", (300, 6), "bfloat16", None),  # by packs, where a warp's rows are all there
    ("log_softmax", (100, 33), "bfloat16", None),  # by 4-byte loads
    ("softmax", (100, 17), "float32", None),
    ("softmax", (7, 301), "float32", None),  # masked, in a warp
    ("log_softmax", (5, 257), "float16", None),
    ("softmax", (5, 135), "bfloat16", None),  # as many packs as lanes hold, or one less
    ("softmax", (100, 65), "bfloat16", row_choices.staged_lanes(65)),  # rows share every other 4-byte load
    ("log_softmax", (37, 129), "float16", row_choices.staged_lanes(129)),
    ("softmax", (70, 150), "float16", row_choices.in_staged_lanes(150, 8, 2, 64)),
    ("softmax", (3, 1025), "float32", None),  # and in several
    ("softmax", (1, 20003), "float16", None),  # split
    ("log_softmax", (1, 20003), "float16", None),
    ("softmax", (2, 5001), "float32", Held(32, 4, 1, 4, 6, 1, True, 128, 1)),  # shared memory beside registers
    ("softmax", (2, 5001), "float32", Held(32, 3, 2, 7, 0, 1, True, 96, 10)),  # clusters
    ("softmax", (2, 8000), "bfloat16", Held(32, 2, 8, 2, 0, 1, False, 64, 16, recompute=True)),
    ("softmax", (3, 5000), "float32", Held(32, 2, 4, 3, 2, 1, False, 64, 1, recompute=True)),  # and shared memory
    ("softmax", (2, 9999), "bfloat16", Held(32, 2, 4, 3, 2, 1, True, 64, 1, recompute=True)),
    ("log_softmax", (2, 5001), "float32", Held(32, 2, 4, 3, 2, 1, True, 64, 1)),
]


@pytest.mark.nvcc
@pytest.mark.parametrize("shift", [0, 1, {"x": 1}], ids=["aligned", "one beyond", "x alone"])
@pytest.mark.parametrize(
    ("operation", "shape", "dtype", "choice"), RUNS, ids=lambda value: str(value).replace(" ", "")[:40]
)
def test_right_wherever_the_arrays_begin(checked, operation, shape, dtype, choice, shift):
    checked(NAME, Case(operation, shape, -1, dtype), shift, plan=forced(choice))


@pytest.mark.nvcc
@pytest.mark.parametrize(("columns", "warp_rows", "shift"), [(65, 16, 0), (65, 16, 3), (59, 64, 0)])
def test_a_warp_that_has_not_all_its_rows_has_them_by_packs_as_well(checked, columns, warp_rows, shift):
    alone, whole = (
        checked(NAME, Case("softmax", (rows, columns), -1, "bfloat16"), shift).counters[0]
        for rows in (warp_rows - 1, warp_rows)
    )
    assert alone.global_load_requests < 2 * whole.global_load_requests, "by elements it would be six times as many"
    assert alone.global_store_requests < 2 * whole.global_store_requests


@pytest.fixture
def result_of(checked):
    """result_of(case, choice, x): as float, of x as it is stored; every element within the tolerance."""

    def result(case, choice, x):
        ran = checked(NAME, case, plan=forced(choice), fill=lambda spec, seed: x.reshape(-1))
        return dtypes.widen(np, ran.outputs["y"], case.dtype).reshape(case.shape)

    return result


def extreme_rows(columns, largest):
    """Rows of what comparisons and powers treat specially, each between rows of ordinary numbers."""
    inf, ordinary = np.inf, np.linspace(-3, 3, columns)
    one_beside = np.where(np.arange(columns) == columns // 2, 2.0, -inf)
    halves = np.where(np.arange(columns) < columns // 2, 1.0, largest)
    rows = [
        np.full(columns, -inf),
        one_beside,
        np.where(ordinary == ordinary[-1], inf, ordinary),
        np.where(ordinary == ordinary[0], np.nan, ordinary),
        np.full(columns, largest),
        np.full(columns, -largest),
        halves,
        -halves,
        ordinary + 40_000,  # distinct numbers of which powers remain, and whose maximum is rounded
    ]
    return np.stack([row for one in rows for row in (one, ordinary)])


@pytest.mark.nvcc
@pytest.mark.parametrize("operation", ["softmax", "log_softmax"])
@pytest.mark.parametrize(("columns", "dtype", "choice"), [
    (33, "bfloat16", None), (3, "float16", None), (17, "float32", None), (257, "bfloat16", None), (72, "float16", None),
    (65, "bfloat16", row_choices.staged_lanes(65)), (101, "float16", row_choices.staged_lanes(101)),
    (301, "float32", None), (1, "bfloat16", None), (1025, "float16", row_choices.many_warps(130, 4, True, False, 8)),
    (600, "bfloat16", row_choices.many_warps(75, 2, False, True)), (1025, "float32", None),
    (300, "float16", Split()), (300, "bfloat16", Split()),
])  # fmt: skip
def test_infinite_and_huge_numbers(result_of, operation, columns, dtype, choice):
    largest = {"float16": 65504.0, "bfloat16": 3.3e38, "float32": 3.3e38}[dtype]
    stored = dtypes.narrow(np, extreme_rows(columns, largest).astype(np.float32), dtype)
    wide = dtypes.widen(np, stored, dtype)
    case, spec = Case(operation, stored.shape, -1, dtype), CATALOG.operations[operation]
    got = result_of(case, choice, stored)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = spec.reference(np, case, {"x": wide.reshape(len(wide), -1)})["y"].reshape(wide.shape)
    exact = np.isin(expected, (0, 1))  # as where one number is alone
    np.testing.assert_array_equal(got[exact], expected[exact])


@pytest.mark.nvcc
@pytest.mark.parametrize("columns", [1, 24, 1025])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_logarithm_of_a_number_that_is_alone_is_exactly_0(result_of, columns, dtype):
    numbers = np.random.default_rng(5).normal(0, 100, 40 if columns > 1000 else 300)
    wide = np.full((len(numbers), columns), -np.inf, np.float32)
    wide[:, columns // 3] = numbers
    choice = row_choices.many_warps(130, 4, True, False) if columns > 1000 else None
    case = Case("log_softmax", wide.shape, -1, dtype)
    result = result_of(case, choice, dtypes.narrow(np, wide, dtype))
    assert (result[:, columns // 3] == 0).all()
    assert np.isneginf(np.delete(result, columns // 3, axis=1)).all()


def test_a_row_that_no_cluster_is_worth_gets_two_launches(h200):
    plan = CATALOG.implementations["softmax"][NAME].plan(Case("softmax", (1, 20003), -1, "float16"), h200)
    steps = [launch.entry.removeprefix("softmax_one_read_rows_") for launch in plan.launches]
    assert steps == ["parts_f16", "finish_f16"]
