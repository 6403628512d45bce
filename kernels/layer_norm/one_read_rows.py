"""Launch plan of one_read_rows.cu: rows of the last axis, by the techniques that softmax chooses for rows as long."""

from dataclasses import replace

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, Scalar, dtypes
from ..softmax_family.choice_values import chosen as choice_of
from ..softmax_family.long_rows import LongRows, long_rows, long_rows_candidates, long_rows_plan
from ..softmax_family.row_candidates import row_candidates
from ..softmax_family.row_choices import (
    LEAST_WARPS,
    PACK_BYTES,
    SECTOR_ROWS,
    STAGED_COLUMNS,
    WARP,
    Choice,
    Held,
    Staged,
    StagedLanes,
    choose,
    in_warp,
    resident_blocks,
)
from ..softmax_family.row_plans import MAX_COLUMNS, Arguments, plan_of
from ..softmax_family.tuning import rows_tunable
from .operation import EPS

NAME = "layer_norm_one_read_rows"
GIVEN = Arguments(("x", "gamma", "beta", "y"), (Scalar("float32", EPS),))

# Registers per thread beside those of softmax: for the packs of gamma and beta in which a masked pack's weights lie;
# for the addresses of gamma and beta where a thread has whole rows, beside those of half a row of each.
MASKED_REGISTERS, STAGED_REGISTERS = 16, 8
LONG_BYTES = 2**20  # of a row, beyond which groups of small blocks hold it
LONG_SIZE = 8, 256  # packs per thread and row, threads
LANE_ELEMENTS = 16  # most per lane of rows by lanes through shared memory, which also has gamma and beta for each


def chosen(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Choice | LongRows:
    """The technique of log-softmax, which keeps elements as well. Rows that begin anywhere differ: masked packs need
    further instructions for gamma and beta, so lanes take elements from shared memory up to longer rows, where rows are
    many. Rows beyond the registers of a cluster are held by groups of small blocks."""
    if columns * itemsize > LONG_BYTES and (held := long_rows(rows, columns, itemsize, device, *LONG_SIZE)):
        return held
    if columns * itemsize % PACK_BYTES and STAGED_COLUMNS[itemsize] < columns <= WARP * LANE_ELEMENTS:
        by_lanes = staged_lanes(columns, itemsize)
        if rows >= by_lanes.warp_rows * LEAST_WARPS * device.multiprocessors:
            return replace(by_lanes, hint=int(rows * columns * itemsize <= device.l2_bytes))
    found = choose(rows, columns, itemsize, False, device)
    if isinstance(found, StagedLanes):
        found = replace(in_warp(columns, itemsize) or found, hint=found.hint)
    return with_weights(found, columns, itemsize, device)


def with_weights(found: Choice, columns: int, itemsize: int, device: DeviceProperties) -> Choice:
    """A choice for softmax, with registers for gamma and beta."""
    if not isinstance(found, Staged) and not (isinstance(found, Held) and found.masked):
        return found
    more = STAGED_REGISTERS + columns * itemsize // 4 if isinstance(found, Staged) else MASKED_REGISTERS
    registers = device.registers_per_multiprocessor // (found.resident * found.block) + more
    return replace(found, resident=resident_blocks(registers, found.block))


def candidates(case: Case, device: DeviceProperties) -> tuple[Choice | LongRows, ...]:
    """The rule's choice, then softmax's candidates without its rows by lanes, whose weights it does not take, then
    groups of blocks for long rows."""
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    itemsize = dtypes.itemsize(case.dtype)
    _, *others = row_candidates(case, device, keeps_exponentials=False)
    held = (with_weights(one, columns, itemsize, device) for one in others if not isinstance(one, StagedLanes))
    sizes = (rows, columns, itemsize, device)
    return tuple(dict.fromkeys((chosen(*sizes), *held, *long_rows_candidates(*sizes))))


def staged_lanes(columns: int, itemsize: int) -> StagedLanes:
    """The fewest lanes per row; `loads` are elements. Rows of a warp are whole sectors."""
    lanes = next(lanes for lanes in (4, 8, 16, 32) if columns <= lanes * LANE_ELEMENTS)
    elements, warp_rows = -(-columns // lanes), SECTOR_ROWS * 2 // itemsize
    return StagedLanes(lanes, elements, warp_rows * lanes // WARP, resident=resident_blocks(24 + 3 * elements, WARP))


def plan(case: Case, device: DeviceProperties, **values: int) -> LaunchPlan:
    """Values: those of a candidate; none for the rule's choice."""
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    found = choice_of(values, candidates(case, device)) if values else None
    found = found or chosen(rows, columns, dtypes.itemsize(case.dtype), device)
    return launches_of(found, case, device)


def launches_of(choice: Choice | LongRows, case: Case, device: DeviceProperties) -> LaunchPlan:
    if isinstance(choice, LongRows):
        return long_rows_plan(NAME, choice, case, device, GIVEN)
    return plan_of(NAME, choice, case, device, GIVEN)


IMPLEMENTATIONS = (
    Implementation(
        "one_read_rows",
        "rows held by a thread, lanes, warps, a block, a cluster or a group of blocks, read once",
        Origin("written here"),
        plan=plan,
        tunable=rows_tunable("layer_norm", candidates),
    ),
)
