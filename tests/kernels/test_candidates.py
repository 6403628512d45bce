"""What may be tried for softmax and log-softmax: on every known GPU, each candidate is legal, holds its rows, and is
another one than the others."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelbench import FLOATS
from kernelbench.core import dtypes, places
from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case
from kernelbench.devices.known import KNOWN
from kernelbench.planning.plan_checks import plan_problem
from kernelbench.suite import find_suite, read_suite
from kernels.softmax_family.axis_candidates import axis_candidates
from kernels.softmax_family.axis_tiles import Tile, view_of
from kernels.softmax_family.choice_values import choice_of_values, choice_values
from kernels.softmax_family.row_candidates import row_candidates
from kernels.softmax_family.row_techniques import Held, Staged
from tests.catalog import catalog
from tests.kernels.held import check_row_choice, check_tile

CATALOG = catalog()
MOST = 40
EACH = ("t4", "a100", "h200", "rtx5090")  # least shared memory, and clusters of no, 16 and 8 blocks


@cache
def drawn(suite):
    return read_suite(find_suite(suite, places.SUITES), CATALOG.operations, CATALOG.implementations).cases


def check_launches(case, device, kernel, candidates):
    """Plans of them are launched by the device, none is another's, and the kernel's own choice is one of them."""
    implementation = CATALOG.implementations[case.operation][kernel]
    plans = set()
    for one in candidates:
        plan = implementation.plan(case, device, **choice_values(one))
        assert plan not in plans
        plans.add(plan)
        assert plan_problem(plan, ["x", "y"], device) == ""
        defines = dict(plan.defines)
        cluster = defines.get("CLUSTER", defines.get("BLOCKS", 1) if defines.get("TECHNIQUE") == "HELD" else 1)
        assert cluster <= device.max_cluster
        for launch in plan.launches:
            threads = launch.block[0] * launch.block[1] * launch.block[2]
            least_registers = 24  # of any of these kernels; launch bounds keep the compiler within what there is
            assert device.refusal(threads, least_registers, launch.shared_bytes) == "", one
            told = defines.get("BLOCK", defines.get("THREADS", threads))
            assert threads <= int(told), one  # what the compiler was told, or no launch
    assert implementation.plan(case, device) in plans


def check_rows(case, device):
    found = row_candidates(case, device, case.operation == "softmax")
    assert 1 <= len(found) <= MOST
    _, columns = case.rows_columns()
    itemsize = dtypes.itemsize(case.dtype)
    check_launches(case, device, "one_read_rows", found)
    for one in found:
        check_row_choice(one, columns, itemsize, device)


def check_views(case, device):
    found, view = axis_candidates(case, device), view_of(case)
    assert 1 <= len(found) <= MOST
    check_launches(case, device, "one_read_axis", found)
    for one in found:
        if isinstance(one, Tile):
            check_tile(one, view, device)


@pytest.mark.parametrize("gpu", EACH)
def test_candidates_for_rows_are_legal(gpu):
    for case in drawn("draw_rows"):
        check_rows(case, KNOWN[gpu])


@pytest.mark.parametrize("gpu", EACH)
def test_candidates_for_views_are_legal(gpu):
    for case in drawn("draw_axis"):
        check_views(case, KNOWN[gpu])


@pytest.mark.exhaustive
@pytest.mark.parametrize("gpu", KNOWN)
def test_candidates_are_legal_on_all_gpus_and_cases(gpu):
    for suite in ("draw_rows", "model_rows"):
        for case in drawn(suite):
            check_rows(case, KNOWN[gpu])
    for suite in ("draw_axis", "model_axis"):
        for case in drawn(suite):
            check_views(case, KNOWN[gpu])


extents = st.integers(0, 12).flatmap(lambda power: st.integers(1, 2**power))


@settings(max_examples=200, derandomize=True, deadline=None, database=None)
@given(
    st.tuples(extents, extents, extents.map(lambda inner: inner + 1)), st.sampled_from(FLOATS), st.sampled_from(EACH)
)
def test_candidates_for_views_of_any_size_are_legal(shape, dtype, gpu):
    check_views(Case("softmax", shape, 1, dtype), KNOWN[gpu])


@settings(max_examples=200, derandomize=True, deadline=None, database=None)
@given(st.tuples(extents, extents), st.sampled_from(FLOATS), st.sampled_from(EACH))
def test_candidates_for_rows_of_any_size_are_legal(shape, dtype, gpu):
    check_rows(Case("softmax", shape, -1, dtype), KNOWN[gpu])


@pytest.mark.parametrize(
    ("shape", "dtype"), [((9000, 8, 6), "float16"), ((9000, 3, 7), "float32"), ((9000, 4, 6), "bfloat16")]
)
def test_several_slabs_of_few_columns_fit_what_the_compiler_is_told(shape, dtype, h200):
    check_views(Case("softmax", shape, 1, dtype), h200)


def kinds(candidates):
    return {type(one).__name__ if not isinstance(one, Tile) else (one.layout, one.exchange) for one in candidates}


def test_every_technique_is_among_the_candidates_of_some_case(h200):
    rows = {kind for case in drawn("model_rows") for kind in kinds(row_candidates(case, h200, True))}
    assert rows == {"Held", "Staged", "StagedLanes", "Split", "Words"}
    held = {
        (one.warps > 1, one.blocks > 1, one.shared_packs > 0)
        for case in drawn("model_rows")
        for one in row_candidates(case, h200, True)
        if isinstance(one, Held)
    }
    assert {(False, False, False), (True, False, False), (True, True, False), (True, True, True)} <= held
    views = {kind for case in drawn("model_axis") for kind in kinds(axis_candidates(case, h200))}
    exchanges = ("block", "cluster", "co-resident", "tickets")
    assert views >= {(layout, how) for layout in ("whole", "shifted") for how in exchanges}
    assert views >= {("whole-8", "cluster"), ("whole-4", "cluster"), ("whole-2", "block")}
    assert any(
        isinstance(one, Tile) and one.more_strips for case in drawn("model_axis") for one in axis_candidates(case, h200)
    )
    assert views >= {"Slabs", ("ragged", "block"), ("ragged", "cluster"), ("ragged", "co-resident")}


def test_values_name_their_candidate_and_no_other(h200):
    case = Case("log_softmax", (64, 1000, 196), 1, "float32")
    found = axis_candidates(case, h200)
    named = [choice_values(one) for one in found]
    assert [choice_of_values(values, found) for values in named] == list(found)
    first = next(one for one in named if {"tile": 1, "whole": 1, "cluster": 1}.items() <= one.items())
    with pytest.raises(Unsupported, match="no candidate for this shape on this GPU"):
        choice_of_values({**first, "rows": 126}, found)
    with pytest.raises(Unsupported, match="no candidate"):
        CATALOG.implementations["softmax"]["one_read_rows"].plan(Case("softmax", (8, 128), -1, "float32"), h200, held=1)


@pytest.mark.parametrize(("rows", "by_lanes"), [(10**6, False), (2048, True)])
def test_whole_rows_per_thread_leave_none_to_lanes_where_there_are_many(rows, by_lanes):
    found = row_candidates(Case("softmax", (rows, 7), -1, "float32"), KNOWN["h200"], True)
    assert isinstance(found[0], Staged)
    assert any(isinstance(one, Held) for one in found) == by_lanes


def test_lanes_of_a_row_that_read_parts_of_lines_have_two_packs_at_most():
    for case in drawn("model_rows"):
        for one in row_candidates(case, KNOWN["h200"], True):
            if isinstance(one, Held) and one.warps == 1 and one.lanes * 16 < 128:
                assert one.packs <= min(one.lanes, 2)


def test_small_views_of_few_rows_may_have_smaller_packs_than_their_rows_allow():
    small, large = (
        {one.pack_bytes for one in axis_candidates(Case("softmax", (outer, 9, 17236), 1, "float32"), KNOWN["h100"])
         if isinstance(one, Tile) and one.exchange == "block"}
        for outer in (4, 400)
    )  # fmt: skip
    assert small == {4, 8, 16}
    assert large == {16}


@pytest.mark.parametrize(("outer", "has"), [(774, True), (77400, False)])
def test_small_views_may_be_cut_into_single_halves_however_many_their_rows(outer, has):
    tiles = axis_candidates(Case("log_softmax", (outer, 35, 29), 1, "bfloat16"), KNOWN["h100"])
    assert any(isinstance(one, Tile) and one.layout == "whole-2" for one in tiles) == has


def hints(operation, shape):
    """The hints of all candidates for float32, with an L2 of 60 MB: those of blocks whose warps share a row that begins
    anywhere, then the others."""
    case, device = Case(operation, shape, -1, "float32"), KNOWN["h200"]
    found = row_candidates(case, device, operation == "softmax")
    alone = {one: isinstance(one, Held) and one.masked and one.warps > 1 and one.blocks == 1 for one in found}
    return tuple({one.hint for one in found if alone[one] == wanted} for wanted in (True, False))


@pytest.mark.parametrize("operation", ["softmax", "log_softmax"])
def test_packs_are_evicted_first_where_the_l2_holds_input_and_output(operation):
    assert hints(operation, (7680, 1000)) == (set(), {1})  # 31 MB each
    assert hints(operation, (7900, 1000)) == (set(), {0})
    assert hints(operation, (1000, 4097)) == ({0}, {1})
    plan = CATALOG.implementations["log_softmax"]["one_read_axis"].plan
    for outer, hint in ((468, 1), (482, 0)):  # slabs of 64 KB
        defines = dict(plan(Case("log_softmax", (outer, 64, 256), 1, "float32"), KNOWN["h200"]).defines)
        assert (defines["LOADS"], defines["STORES"]) == (hint, hint)
        assert defines["INNER"] == 256, "the kernel of a view that fits the L2 knows its extents"
