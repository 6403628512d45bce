"""Layer norm by one_read_rows: which technique a row gets, and each of them run on the simulator."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from kernelbench import dtypes
from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case, Scalar, Tolerance
from kernelbench.devices.known import KNOWN
from kernels.layer_norm import _choices as choices
from kernels.layer_norm import one_read_rows
from kernels.layer_norm._choices import WeightsFirst
from kernels.layer_norm._long_rows import PACKS, TIGHT_PACKS, LongRows, long_rows
from kernels.layer_norm._rows_in_turn import InTurn
from kernels.layer_norm._words import norm_words
from kernels.layer_norm.operation import EPS
from kernels.softmax_family.row_techniques import Held, Split, most_packs, staged
from tests.kernels.held import check_words, in_words
from tests.kernels.loads import WORD_LOADS, uses_before_loads
from tests.kernels.simulated import random_input, run_and_check

NAME = "one_read_rows"
DTYPES = {2: "float16", 4: "float32"}  # by itemsize
GPUS = ("h200", "a100", "t4", "rtx5090")


def case(rows, columns, dtype="float32"):
    return Case("layer_norm", (rows, columns), -1, dtype)


def forced(choice):
    """A plan of that choice; None for the kernel's own."""
    if choice is None:
        return None
    return lambda one, device: one_read_rows.launches_of(choice, one, device)


def in_turn(warps, blocks, packs, groups):
    return InTurn(warps, blocks, packs, groups, 32 * warps, 1)


def long(warps, blocks, packs, slots, ahead, groups, masked=False, kept=True):
    return LongRows(warps, blocks, packs, slots, ahead, groups, masked, kept, 32 * (warps + 2))


@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("gpu", GPUS)
def test_candidates_hold_the_row_and_fit_the_device(gpu, itemsize):
    device = KNOWN[gpu]
    for columns, rows in product((*range(1, 600, 3), *range(600, 1_000_000, 39_973), 1_000_000), (1, 5000)):
        for choice in choices.candidates(case(rows, columns, DTYPES[itemsize]), device):
            if isinstance(choice, LongRows):
                continue
            assert choice.resident * choice.block <= 2048, columns
            if isinstance(choice, InTurn):
                packs, held = most_packs(columns, itemsize), choice.block * choice.blocks * choice.packs
                assert held - held // choice.packs < packs <= held, columns
                assert choice.groups % (16 // itemsize) == 0  # rows of a group begin alike
                assert choice.shared_bytes <= device.shared_per_block_optin
                assert choice.blocks <= device.max_cluster
            if not isinstance(choice, Held):
                continue
            held = choice.lanes * choice.warps * choice.blocks * (choice.packs + choice.shared_packs)
            assert held >= most_packs(columns, itemsize), columns
            assert choice.blocks <= device.max_cluster
            assert choice.shared_packs * choice.block * 16 + 2048 <= device.shared_per_block_optin
            assert choice.masked == (columns * itemsize % 16 != 0)
            assert not choice.recompute
            if choice.warps == 1:  # only a lane's last two packs may end beyond the row
                assert choice.lanes * (choice.packs - 1) <= -(-columns * itemsize // 16), columns


@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "technique"),
    [
        (2**20, 1, "float32", "STAGED"),
        (2**20, 10, "float32", "STAGED"),
        (2**20, 72, "float32", "IN_WARP"),  # whole packs
        (2**20, 129, "float32", "STAGED_LANES"),
        (2**18, 1024, "float32", "IN_WARP"),
        (2**16, 4096, "float32", "HELD"),
        (2**20, 5, "bfloat16", "STAGED"),
        (2**20, 64, "bfloat16", "IN_WARP"),
        (2**20, 129, "bfloat16", "STAGED_LANES"),
        (33, 10**6, "float32", "LONG_ROWS"),
        (1025, 10**6, "bfloat16", "LONG_ROWS"),
    ],
)
def test_short_and_long_rows_have_techniques_of_their_own(h200, catalog, rows, columns, dtype, technique):
    plan = catalog.implementations["layer_norm"][NAME].plan(case(rows, columns, dtype), h200)
    assert dict(plan.defines)["TECHNIQUE"] == technique


@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "word"),
    [
        (100, 129, "bfloat16", 2),
        (545, 1450, "float16", 4),
        (1657, 238, "float32", 8),
        (33_520, 1001, "float32", 4),
        (6612, 3932, "bfloat16", 8),
    ],
)
def test_rows_of_few_bytes_that_are_no_whole_packs_are_held_in_words(h200, catalog, rows, columns, dtype, word):
    plan = catalog.implementations["layer_norm"][NAME].plan(case(rows, columns, dtype), h200)
    assert plan.source == "_words.cu"
    assert dict(plan.defines)["WORD"] == word


@pytest.mark.parametrize(("itemsize", "most"), [(2, 1024), (4, 512)])
def test_lanes_of_shared_memory_hold_the_row(h200, itemsize, most):
    for columns in range(13, most + 1):
        choice = choices.staged_lanes(columns, itemsize, h200)
        assert (choice is not None) == (columns * itemsize % 16 != 0), columns
        if choice is None:
            continue
        assert choice.lanes * (choice.loads - 1) < columns <= choice.lanes * choice.loads
        assert choice.loads >= 4, columns
        assert choice.warp_rows * itemsize % (32 if columns <= 512 else 16) == 0, "whole sectors, or packs"
        assert choice.warp_rows * columns * itemsize + 16 <= 48 * 1024
    assert choices.staged_lanes(most + 1, itemsize, h200) is None


@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("gpu", GPUS)
def test_words_hold_the_row_and_several_blocks_have_room(gpu, itemsize):
    device = KNOWN[gpu]
    for columns in (*range(1, 1200), *range(1200, 20_000, 37)):
        for one in norm_words(5000, columns, itemsize, device):
            check_words(one, columns, itemsize, device)


@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("gpu", GPUS)
def test_long_rows_fit_the_device(gpu, itemsize):
    device = KNOWN[gpu]
    for columns, rows in product((*range(16_384, 1_000_000, 9_973), 1_000_000), (1, 2, 33, 5000)):
        for choice in long_rows(rows, columns, itemsize, device):
            held = 32 * choice.warps * choice.blocks * choice.packs
            assert held - held // choice.packs < most_packs(columns, itemsize) <= held, columns
            assert choice.groups * choice.blocks <= min(device.multiprocessors, 512)
            assert choice.groups < max(rows, 2), columns
            assert not choice.kept or choice.groups * columns * itemsize % 16 == 0  # rows of a group begin alike
            assert choice.block <= device.max_threads_per_block
            assert choice.shared_bytes + 1024 <= device.shared_per_block_optin
            assert 2 <= choice.ahead <= choice.slots - 2


@pytest.mark.parametrize(
    ("rows", "columns", "itemsize", "groups", "kept"),
    [
        (33, 1_000_000, 4, {1}, True),
        (33, 1_000_000, 2, {1, 2}, True),
        (512, 65_536, 4, {4, 8, 16}, True),
        (512, 65_537, 2, {16, 32}, True),  # multiples of 8, so that rows of a group begin alike
        (60, 900_001, 4, {1}, False),  # four groups would have to share the GPU, which has no room for their rows
        (512, 16_000, 4, set(), True),  # short
        (1, 1_000_000, 4, {1}, True),
    ],
)
def test_long_rows_get_as_many_groups_as_have_room(h200, rows, columns, itemsize, groups, kept):
    found = long_rows(rows, columns, itemsize, h200)
    usual = [one for one in found if one.packs in PACKS]
    assert {one.groups for one in usual} == groups
    assert all(one.kept == kept for one in usual)
    assert len(found) <= 6


@pytest.mark.parametrize(
    ("rows", "columns", "itemsize", "more"),
    [
        (60, 900_001, 4, [(2, False)]),  # instead of one
        (243, 844_102, 2, [(4, True)]),  # instead of two, whose rows do not begin alike
        (105, 835_333, 2, [(4, False)]),
        (512, 65_537, 2, []),  # thirty-two have room
        (42, 740_800, 2, []),  # whole packs: four groups take 14 % longer than two
    ],
)
def test_where_few_groups_have_room_a_choice_with_fewer_registers_has_more(h200, rows, columns, itemsize, more):
    found = long_rows(rows, columns, itemsize, h200)
    assert [(one.groups, one.kept) for one in found if one.packs == TIGHT_PACKS] == more


def test_a_plan_says_that_threads_keep_bytes_in_local_memory(h200, catalog):
    own = catalog.implementations["layer_norm"][NAME]
    kept, shifted = (own.plan(case(*shape, "float16"), h200).reasons[0] for shape in ((243, 844_102), (105, 835_333)))
    assert kept.endswith("; threads keep some bytes in local memory, so that more groups have room")
    assert shifted.endswith("in shared memory at once")


@pytest.mark.parametrize(("rows", "columns"), [(2**20, 129), (2**14, 4096), (64, 10**6), (2**20, 33)])
def test_candidates_can_be_launched_and_the_choice_is_one_of_them(h200, catalog, rows, columns):
    own = catalog.implementations["layer_norm"][NAME]
    plans = [own.plan(case(rows, columns), h200, **values) for values in own.tunable.listed(case(rows, columns), h200)]
    assert own.plan(case(rows, columns), h200) in plans
    assert 2 <= len(plans) <= 40
    assert all(each.launches for each in plans)
    with pytest.raises(Unsupported, match="no candidate"):
        own.plan(case(rows, columns), h200, lanes=7)


def test_entries_get_weights_and_the_deviation_that_is_added(h200, catalog):
    plan = catalog.implementations["layer_norm"][NAME].plan
    (launch,) = plan(case(4096, 768), h200).launches
    assert launch.arguments == (
        "x", "gamma", "beta", "y", Scalar("int64", 4096), Scalar("int32", 768), Scalar("float32", EPS)
    )  # fmt: skip
    parts, finish = one_read_rows.launches_of(Split(), case(1, 200_000), h200).launches
    assert parts.arguments[:2] == ("x", "parts")
    assert finish.arguments[:5] == ("x", "gamma", "beta", "y", "parts")
    assert finish.arguments[-1] == Scalar("float32", EPS)


@pytest.mark.parametrize(
    ("columns", "dtype", "of_softmax", "resident"),
    [
        (63, "float16", staged(63, 2), 2),
        (33, "float16", staged(33, 2), 4),
        (10, "float16", staged(10, 2), 8),
        (1025, "float32", Held(32, 4, 1, 4, 0, 1, True, 128, 12), 9),
        (440, "float32", Held(32, 1, 1, 4, 0, 1, False, 64, 25), 12),  # 28 registers, 16 for x, 32 for gamma and beta
        (32, "float32", Held(8, 1, 1, 1, 0, 2, False, 64, 32), 20),
        (32, "float16", Held(4, 1, 1, 1, 0, 2, False, 64, 32), 18),  # half types of several rows: eight more for x
        (640, "float16", Held(16, 1, 1, 5, 0, 1, False, 64, 16), 10),
        (640, "bfloat16", Held(16, 1, 1, 5, 0, 1, False, 64, 16), 8),  # with more, the compiler delays a load
        (1280, "float16", Held(32, 1, 1, 5, 0, 1, False, 64, 16), 8),
    ],
)
def test_weights_take_registers_beside_those_of_softmax(h200, columns, dtype, of_softmax, resident):
    (found,) = choices.with_weights(of_softmax, columns, dtype, h200)
    assert found == replace(of_softmax, resident=resident)


@pytest.mark.parametrize(("packs", "rows"), [(6, 1), (8, 1), (3, 2), (1, 4)])
def test_lanes_of_half_types_hold_no_more_than_the_compiler_loads_at_once(h200, packs, rows):
    held = Held(32, 1, 1, packs, 0, rows, False, 64, 16)
    assert not list(choices.with_weights(held, 256 * packs, "bfloat16", h200))
    assert list(choices.with_weights(held, 128 * packs, "float32", h200))


def test_several_warps_keep_weights_in_a_further_candidate_with_fewer_blocks(h200):
    whole, long = Held(32, 4, 1, 4, 0, 1, False, 128, 12), Held(32, 8, 8, 14, 0, 1, False, 256, 3)
    late, first = choices.with_weights(whole, 2048, "float32", h200)
    assert late == whole
    assert first == WeightsFirst(**vars(replace(whole, resident=7)))  # 24 registers, 16 for x, 32 for weights
    wide = Held(32, 28, 1, 6, 0, 1, False, 896, 2)  # for which no multiprocessor has the registers
    for one in (long, replace(whole, masked=True), replace(whole, shared_packs=2), wide):
        (only,) = choices.with_weights(one, 2048, "float32", h200)
        assert not isinstance(only, WeightsFirst)


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("shape", "dtype", "of_softmax"),
    [
        ((4423, 440), "float32", Held(32, 1, 1, 4, 0, 1, False, 64, 25)),
        ((889749, 20), "float32", Held(8, 1, 1, 1, 0, 4, False, 64, 25)),
        ((1016800, 33), "float16", replace(staged(33, 2), hint=1)),
        ((889749, 25), "bfloat16", replace(staged(25, 2), hint=1)),
        ((32_768, 1024), "float32", Held(32, 2, 1, 4, 0, 1, False, 64, 24)),
        ((65_536, 512), "bfloat16", Held(32, 1, 1, 2, 0, 2, False, 64, 25)),
        ((65_536, 640), "float16", Held(16, 1, 1, 5, 0, 1, False, 64, 25)),
        ((8192, 4096), "float32", Held(32, 4, 1, 8, 0, 1, False, 128, 8)),
        ((2000, 16_384), "float16", Held(32, 8, 2, 4, 0, 1, False, 256, 6)),
        ((8590, 14_086), "bfloat16", Held(32, 4, 2, 7, 0, 1, True, 128, 8)),  # whose floats ptxas would keep
    ],
)
def test_nothing_is_spilled(h200, catalog, binaries, shape, dtype, of_softmax):
    one = case(*shape, dtype)
    found = choices.with_weights(of_softmax, shape[1], dtype, h200)
    plans = [one_read_rows.launches_of(choice, one, h200) for choice in found]
    assert plans
    for plan, binary in zip(plans, binaries(catalog.implementations["layer_norm"][NAME], plans, "sm_90"), strict=True):
        assert binary.facts[plan.launches[0].entry].spill_store_bytes == 0


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("shape", "dtype", "choice"),
    [
        ((12_608, 768), "float16", Held(32, 1, 1, 3, 0, 1, False, 64, 16)),  # whose last pack ptxas delayed
        ((3000, 640), "bfloat16", Held(32, 1, 1, 3, 0, 1, False, 64, 16)),
        ((8192, 4096), "float32", WeightsFirst(32, 4, 1, 8, 0, 1, False, 128, 4)),  # likewise
        ((2000, 16_384), "float16", WeightsFirst(32, 8, 2, 4, 0, 1, False, 256, 3)),
    ],
)
def test_weights_and_x_are_under_way_before_any_is_used(h200, catalog, binaries, shape, dtype, choice):
    plan = one_read_rows.launches_of(choice, case(*shape, dtype), h200)
    compiled = binaries(catalog.implementations["layer_norm"][NAME], [plan], "sm_90")
    assert not uses_before_loads(compiled, {plan: 3 * choice.packs}), "a pack of gamma, of beta and of x each"


@pytest.mark.exhaustive
@pytest.mark.nvcc
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_lanes_load_all_packs_before_they_use_any(h200, catalog, binaries, dtype):
    plans = {}
    for lanes, packs, rows, hint in product((4, 16, 32), range(1, 9), (1, 2, 4), (0, 1)):
        held = Held(lanes, 1, 1, packs, 0, rows, False, 64, 16, hint=hint)
        one = case(4096, lanes * packs * 16 // dtypes.itemsize(dtype), dtype)
        for choice in choices.with_weights(held, one.shape[1], dtype, h200) if packs * rows <= 8 else ():
            plans[one_read_rows.launches_of(choice, one, h200)] = packs * (2 + rows)
    compiled = binaries(catalog.implementations["layer_norm"][NAME], list(plans), "sm_90")
    assert not uses_before_loads(compiled, plans)
    assert len(plans) >= 40


@pytest.mark.exhaustive
@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("word", "dtype"), [(8, "float32"), (4, "float32"), (8, "float16"), (4, "bfloat16"), (2, "float16")]
)
def test_words_are_loaded_before_any_is_used_and_none_is_spilled(h200, catalog, binaries, word, dtype):
    itemsize, plans = dtypes.itemsize(dtype), {}
    for columns in (46, 150, 334, 1030, 1450, 2914):
        length = columns * itemsize // 16 * 16 // itemsize + word // itemsize  # the next row that is such words
        one = case(2048, length, dtype)
        for choice, hint in product(norm_words(2048, length, itemsize, h200), (0, 1)):
            plan = one_read_rows.launches_of(replace(choice, hint=hint), one, h200)
            plans[plan] = choice.words * (2 + choice.rows)
    compiled = binaries(catalog.implementations["layer_norm"][NAME], list(plans), "sm_90")
    assert not uses_before_loads(compiled, plans, WORD_LOADS[word])
    assert len(plans) >= 20
    for plan, binary in zip(plans, compiled, strict=True):
        assert binary.facts[plan.launches[0].entry].spill_store_bytes == 0


BY_LANES = {sizes: choices.staged_lanes(*sizes, KNOWN["h200"]) for sizes in ((65, 2), (129, 4), (511, 2), (1001, 2))}

# Each technique once, for each is a compiler's run; shapes at both ends of what it holds.
RUNS = [
    ((37, 16), "float32", Held(2, 1, 1, 2, 0, 2, False, 128, 8)),  # two rows per thread
    ((9, 128), "bfloat16", Held(8, 1, 1, 2, 0, 1, False, 64, 25)),
    ((9, 72), "bfloat16", Held(8, 1, 1, 2, 0, 1, False, 64, 25)),  # of whose lanes some have a pack less
    ((300, 1), "float16", None),  # staged: all of a thread's in its pack
    ((300, 2), "float32", None),
    ((300, 3), "bfloat16", None),
    ((300, 6), "bfloat16", None),
    ((100, 33), "float16", staged(33, 2)),
    ((100, 17), "float32", staged(17, 4)),
    ((70, 65), "bfloat16", Held(16, 1, 1, 1, 0, 1, True, 128, 9)),  # masked, in a warp
    ((37, 65), "bfloat16", BY_LANES[65, 2]),
    ((19, 129), "float32", BY_LANES[129, 4]),
    ((18, 511), "float16", BY_LANES[511, 2]),
    ((11, 1001), "bfloat16", BY_LANES[1001, 2]),
    ((7, 301), "float32", Held(32, 1, 1, 3, 0, 1, True, 64, 14)),
    ((5, 257), "float16", Held(32, 1, 1, 2, 0, 2, True, 64, 12)),
    ((3, 1025), "float32", Held(32, 2, 1, 5, 0, 1, True, 64, 12)),  # in several
    ((3, 1536), "float16", Held(32, 2, 1, 3, 0, 1, False, 64, 24)),
    ((3, 1240), "float16", WeightsFirst(32, 2, 1, 3, 0, 1, False, 64, 16)),  # of which some threads have a pack less
    ((2, 7000), "bfloat16", WeightsFirst(32, 2, 8, 2, 0, 1, False, 64, 16)),
    ((1, 20003), "float16", Split()),
    ((1, 20003), "bfloat16", Split()),
    ((1, 20003), "bfloat16", None),  # a cluster
    ((2, 100_000), "float32", Split()),
    ((2, 5001), "float32", Held(32, 4, 1, 4, 6, 1, True, 128, 1)),  # shared memory beside registers
    ((2, 5001), "float32", Held(32, 3, 2, 7, 0, 1, True, 96, 8)),  # clusters
    ((2, 8000), "bfloat16", Held(32, 2, 8, 2, 0, 1, False, 64, 16)),
    ((3, 5000), "float32", Held(32, 2, 4, 3, 2, 1, False, 64, 1)),  # and shared memory
    ((2, 9999), "bfloat16", Held(32, 2, 4, 3, 2, 1, True, 64, 1)),
    ((11, 3000), "float32", long(2, 4, 3, 3, 1, 2)),  # a pipeline of co-resident blocks
    ((37, 5001), "float16", long(2, 4, 3, 4, 2, 8, True)),
    ((1, 3000), "float16", long(2, 4, 2, 3, 1, 2)),  # of which one group has no row
    ((23, 4003), "float32", long(3, 3, 4, 5, 1, 4, True)),
    ((23, 4003), "float32", long(3, 3, 4, 5, 3, 3, True, False)),
    ((9, 5001), "bfloat16", long(2, 4, 3, 6, 4, 1, True, False)),
    ((37, 1025), "float32", in_turn(2, 1, 5, 4)),  # rows in turn, each block up to ten
    ((37, 1023), "float32", in_turn(2, 1, 5, 4)),  # rows of which some end in the last pack but one of a thread
    ((19, 1537), "float16", in_turn(2, 1, 4, 8)),
    ((37, 2049), "bfloat16", in_turn(2, 2, 3, 8)),  # clusters
    ((5, 4001), "float16", in_turn(2, 4, 2, 8)),  # of which some have no row
    ((37, 46), "float32", in_words(8, 8, 3, 2)),  # words of 8 bytes by lanes, two rows at once
    ((5, 1030), "float32", in_words(8, 96, 6, hint=1)),  # and by warps
    ((13, 36), "float16", in_words(8, 4, 3, 2)),
    ((11, 54), "bfloat16", in_words(4, 8, 4)),
    ((3, 1450), "bfloat16", in_words(4, 192, 4)),
    ((70, 50), "float32", in_words(8, 32, 1, 2)),  # of which some lanes have none
    ((5, 1031), "float32", in_words(4, 64, 17)),  # of an element each
    ((9, 47), "bfloat16", in_words(2, 16, 3, 2)),
    ((3, 1451), "float16", in_words(2, 96, 16)),
]


@pytest.mark.nvcc
@pytest.mark.parametrize(
    "shift", [0, 1, {"x": 1}, {"gamma": 1}, {"beta": 3, "y": 1}], ids=["aligned", "one", "x", "gamma", "beta and y"]
)
@pytest.mark.parametrize(("shape", "dtype", "choice"), RUNS, ids=lambda value: str(value).replace(" ", "")[:40])
def test_right_wherever_the_arrays_begin(checked, shape, dtype, choice, shift):
    checked(NAME, case(*shape, dtype), shift, plan=forced(choice))


@pytest.mark.nvcc
def test_a_launch_takes_no_moments_of_the_one_before(checked):
    checked(NAME, case(11, 3000), plan=forced(long(2, 4, 3, 3, 1, 2)), seeds=(7, 8, 7))


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("gpu", "columns"),
    [("a100", 5001), ("a100", 768), ("t4", 1025), ("t4", 2050), ("rtx5090", 20_000), ("rtx5090", 1450)],
)
def test_right_on_other_gpus(checked, gpu, columns):
    checked(NAME, case(3, columns, "float16"), device=KNOWN[gpu])


@pytest.mark.nvcc
def test_masked_packs_are_right_on_a_t4(checked):
    masked = Held(32, 4, 1, 2, 0, 1, True, 128, 8)  # where the plan itself chooses words
    checked(NAME, case(3, 1025, "float16"), device=KNOWN["t4"], plan=forced(masked))


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("columns", "choice"),
    [
        (3, None),
        (68, None),
        (301, None),
        (1025, None),
        (301, Held(32, 3, 1, 1, 0, 1, True, 96, 13)),
        (1025, Held(32, 4, 4, 1, 0, 1, True, 128, 9)),
        (129, BY_LANES[129, 4]),
        (3000, Split()),
        (2000, Held(32, 2, 4, 2, 0, 1, False, 64, 8)),
        (3000, long(2, 4, 3, 3, 1, 2)),
        (1025, in_turn(2, 1, 5, 4)),
        (1030, in_words(8, 64, 9)),
        (46, in_words(8, 8, 3)),
    ],
)
def test_a_row_far_from_0_loses_no_more_than_its_sum_rounds(h200, catalog, binaries, columns, choice):
    """A difference of squares would lose all: squares are 10^8, where neighbours are 8 apart, and the variance is 1."""
    x = np.random.default_rng(7).normal(1e4, 1.0, 5 * columns).astype(np.float32)
    implementation, operation = catalog.implementations["layer_norm"][NAME], catalog.operations["layer_norm"]
    run_and_check(
        replace(implementation, plan=forced(choice) or implementation.plan),
        replace(operation, tolerance=lambda case: Tolerance(0.0, 0.02)),
        case(5, columns),
        h200,
        binaries,
        fill=lambda spec, seed: x if spec.name == "x" else random_input(spec, seed),
    )
