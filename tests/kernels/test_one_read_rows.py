"""Softmax and log-softmax by one_read_rows: which technique a row gets, and each of them run on the simulator."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from kernelbench.core import dtypes
from kernelbench.core.records import Case
from kernelbench.devices.known import KNOWN
from kernels.softmax_family.choices import launches_of
from kernels.softmax_family.row_candidates import row_candidates
from kernels.softmax_family.row_techniques import (
    Held,
    Split,
    Staged,
    in_staged_lanes,
    many_warps,
)
from kernels.softmax_family.words import Words
from tests.catalog import catalog
from tests.kernels.held import check_row_choice, in_words
from tests.kernels.loads import WORD_LOADS, uses_before_loads

CATALOG = catalog()
NAME = "one_read_rows"


def forced(choice):
    """A plan of that choice, or of the first candidate of that technique with the fields of a pair; None for the
    kernel's own."""
    if choice is None:
        return None

    def plan(case, device):
        one = choice
        if isinstance(choice, tuple):
            kind, fields = choice
            found = row_candidates(case, device, case.operation == "softmax")
            alike = (one for one in found if isinstance(one, kind))
            one = next(one for one in alike if all(getattr(one, name) == value for name, value in fields.items()))
        return launches_of(f"{case.operation}_{NAME}", one, case, device)

    return plan


def listed(rows, columns, itemsize, keeps_exponentials, device):
    dtype = "float32" if itemsize == 4 else "bfloat16"
    return row_candidates(Case("softmax", (rows, columns), -1, dtype), device, keeps_exponentials)


def test_elements_are_never_computed_again(h200):
    for columns, itemsize in product((512, 16384, 147456, 262144, 524287), (2, 4)):
        for choice in listed(2048, columns, itemsize, False, h200):
            assert not (isinstance(choice, Held) and choice.recompute), "there is no exponential to be kept"


@pytest.mark.parametrize("itemsize", [2, 4])
def test_what_may_be_chosen_holds_the_row_and_fits_the_device(h200, itemsize):
    a100 = replace(h200, compute_capability=(8, 0), shared_per_block_optin=163 * 1024)
    for columns in (*range(1, 600), *range(600, 300000, 997)):
        for device in (h200, a100):
            for choice in listed(5000, columns, itemsize, True, device):
                check_row_choice(choice, columns, itemsize, device)


@pytest.mark.parametrize("gpu", ["h200", "rtx5090"])
def test_rows_of_many_blocks_fit_the_device(gpu):
    for columns in range(50_000, 1_700_000, 9_999):
        for choice in listed(2048, columns, 4, True, KNOWN[gpu]):
            check_row_choice(choice, columns, 4, KNOWN[gpu])


def technique(shape, dtype, device):
    return dict(CATALOG.implementations["softmax"][NAME].plan(Case("softmax", shape, -1, dtype), device).defines)[
        "TECHNIQUE"
    ]


def test_few_long_rows_are_split_over_the_gpu(h200):
    assert technique((1, 262144), "float32", h200) == "SPLIT"
    assert technique((1, 4096), "float32", h200) == "HELD"


@pytest.mark.parametrize("operation", ["softmax", "log_softmax"])
def test_an_axis_before_extents_of_one_is_the_last(h200, operation):
    plan = CATALOG.implementations[operation][NAME].plan
    for shape in [(1024, 32000), (2**20, 129), (64, 512)]:
        last, before = Case(operation, shape, -1, "bfloat16"), Case(operation, (*shape, 1, 1), 1, "bfloat16")
        assert plan(before, h200) == plan(last, h200)


LANES_OF_65 = in_staged_lanes(65, 4)
# Each technique once, for each is a compiler's run, and each data type and operation in several of them.
RUNS = [
    ("softmax", (37, 16), "float32", (Held, {"rows": 2})),  # two rows a thread
    ("log_softmax", (9, 128), "bfloat16", None),
    ("softmax", (9, 72), "bfloat16", (Held, {"lanes": 8})),  # of whose lanes some have a pack less
    ("softmax", (300, 1), "float16", (Staged, {})),  # staged: all of a thread's in its pack
    ("log_softmax", (300, 6), "bfloat16", (Staged, {})),  # by packs, where a warp's rows are all there
    ("log_softmax", (100, 33), "bfloat16", (Staged, {})),  # by 4-byte loads
    ("softmax", (100, 17), "float32", (Staged, {})),
    ("softmax", (7, 301), "float32", None),  # masked, in a warp
    ("log_softmax", (5, 257), "float16", None),
    ("softmax", (5, 135), "bfloat16", (Held, {"lanes": 16})),  # as many packs as lanes hold, or one less
    ("softmax", (100, 65), "bfloat16", LANES_OF_65),  # rows share every other 4-byte load
    ("log_softmax", (37, 129), "float16", in_staged_lanes(129, 8)),
    ("softmax", (70, 150), "float16", in_staged_lanes(150, 8, 2, 64)),
    ("softmax", (3, 1025), "float32", None),  # and in several
    ("softmax", (1, 20003), "float16", Split()),  # split
    ("log_softmax", (1, 20003), "float16", Split()),
    ("softmax", (2, 5001), "float32", Held(32, 4, 1, 4, 6, 1, True, 128, 1)),  # shared memory beside registers
    ("softmax", (2, 5001), "float32", Held(32, 3, 2, 7, 0, 1, True, 96, 10)),  # clusters
    ("softmax", (2, 8000), "bfloat16", Held(32, 2, 8, 2, 0, 1, False, 64, 16, recompute=True)),
    ("softmax", (3, 5000), "float32", Held(32, 2, 4, 3, 2, 1, False, 64, 1, recompute=True)),  # and shared memory
    ("softmax", (2, 9999), "bfloat16", Held(32, 2, 4, 3, 2, 1, True, 64, 1, recompute=True)),
    ("log_softmax", (2, 5001), "float32", Held(32, 2, 4, 3, 2, 1, True, 64, 1)),
    ("softmax", (37, 46), "float32", in_words(8, 8, 3, 2)),  # words of 8 bytes, two rows at once
    ("log_softmax", (37, 46), "float32", in_words(8, 8, 3, 2, hint=1)),
    ("log_softmax", (13, 36), "float16", in_words(8, 4, 3, 2)),
    ("softmax", (70, 50), "float32", in_words(8, 32, 1, 2)),  # of which some lanes have none
    ("softmax", (5, 1254), "float32", in_words(8, 32, 20)),
    ("softmax", (11, 54), "bfloat16", in_words(4, 8, 4)),
    ("log_softmax", (3, 1450), "bfloat16", in_words(4, 32, 23)),
    ("softmax", (3, 1450), "float16", in_words(4, 32, 23)),
    ("softmax", (5, 1031), "float32", in_words(4, 32, 33)),  # of an element each
    ("log_softmax", (7, 33), "float32", in_words(4, 8, 5, 2)),
    ("softmax", (9, 47), "bfloat16", in_words(2, 16, 3, 2)),
    ("softmax", (3, 1241), "float16", in_words(2, 32, 39)),
    ("log_softmax", (3, 1241), "bfloat16", in_words(2, 32, 39)),
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
    plan = forced(LANES_OF_65 if columns == 65 else (Staged, {}))
    alone, whole = (
        checked(NAME, Case("softmax", (rows, columns), -1, "bfloat16"), shift, plan=plan).counters[0]
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
    (33, "bfloat16", (Staged, {})), (3, "float16", (Staged, {})), (17, "float32", (Staged, {})),
    (257, "bfloat16", None), (72, "float16", (Held, {"lanes": 8})),
    (65, "bfloat16", LANES_OF_65), (101, "float16", in_staged_lanes(101, 8)),
    (301, "float32", None), (1, "bfloat16", (Staged, {})), (1025, "float16", many_warps(130, 4, True, 8)),
    (600, "bfloat16", many_warps(75, 2, False)), (1025, "float32", None),
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
    choice = many_warps(130, 4, True) if columns > 1000 else None
    case = Case("log_softmax", wide.shape, -1, dtype)
    result = result_of(case, choice, dtypes.narrow(np, wide, dtype))
    assert (result[:, columns // 3] == 0).all()
    assert np.isneginf(np.delete(result, columns // 3, axis=1)).all()


def test_a_single_row_of_the_whole_gpu_gets_two_launches(h200):
    plan = CATALOG.implementations["softmax"][NAME].plan(Case("softmax", (1, 262144), -1, "float32"), h200)
    steps = [launch.entry.removeprefix("softmax_one_read_rows_") for launch in plan.launches]
    assert steps == ["parts_f32", "finish_f32"]


@pytest.mark.exhaustive
@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("operation", "word", "dtype"),
    [
        ("softmax", 8, "float32"),
        ("log_softmax", 4, "float32"),
        ("softmax", 8, "float16"),
        ("log_softmax", 4, "bfloat16"),
        ("softmax", 2, "float16"),
    ],
)
def test_words_are_loaded_before_any_is_used_and_none_is_spilled(h200, binaries, operation, word, dtype):
    itemsize, plans = dtypes.itemsize(dtype), {}
    for columns in (22, 46, 94, 166, 334, 1030, 1230):
        length = columns * itemsize // 16 * 16 // itemsize + word // itemsize  # the next row that is such words
        case = Case(operation, (2048, length), -1, dtype)
        found = [one for one in row_candidates(case, h200, operation == "softmax") if isinstance(one, Words)]
        for choice, hint in product(found, (0, 1)):
            plans[launches_of(f"{operation}_{NAME}", replace(choice, hint=hint), case, h200)] = (
                choice.words * choice.rows
            )
    compiled = binaries(CATALOG.implementations[operation][NAME], list(plans), "sm_90")
    assert not uses_before_loads(compiled, plans, WORD_LOADS[word])
    assert len(plans) >= 12
    for plan, binary in zip(plans, compiled, strict=True):
        assert binary.facts[plan.launches[0].entry].spill_store_bytes == 0, plan.defines
