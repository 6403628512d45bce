"""Long rows through a pipeline of blocks: their sizes, and the launch of layer_norm/long_rows.cuh."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, log2

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, dtypes
from ..common.launch_helpers import evicts_first
from ..softmax_family.cost import Quantities
from ..softmax_family.hardware import PACK, WARP
from ..softmax_family.quantities import of_device
from ..softmax_family.row_plans import MAX_COLUMNS, EntryArguments
from ..softmax_family.row_techniques import most_packs

# The trials behind these numbers are in results/h200/trials.yaml.
LEAST_PACKS = 2**12  # of a row: shorter ones are held by blocks and clusters
MOST_BLOCKS = 512  # each has a place for its messages
GROUPS = 32, 16, 8, 4, 2, 1
MOST_SIZES = 2  # of GROUPS, the largest first: with more groups a turn takes longer, and hides more of the exchange
PACKS = 3, 6, 7  # per thread
PACKS_OF_ONE_GROUP = 3, 7  # on three cases, 6 took 11 % and 3 % more time than 7, and 2 % less
WARPS = 6, 24  # that hold elements, least and most
SLOTS = 4, 7  # least and most
AHEAD = 4  # turns, at most; at least two rows are under way
EXCHANGING = 2  # warps
PARTS_BYTES = 8  # of the moments of a warp or block
# Whole packs take this share of softmax's instructions, because gamma and beta stay in registers; masked packs, all.
WHOLE_WORK = 0.7
GROUP_STEPS = 1  # what an exchange between the blocks of a group counts as, in steps of one between a block's warps
REGISTERS = 52, 44  # of a thread, besides its packs, gamma and beta; the latter where rows begin anywhere
# Where rows begin anywhere and no more than so many groups have room, one more choice has more groups, with so many
# packs and other registers per thread. If it keeps gamma and beta, the compiler puts 32 to 100 bytes per thread into
# local memory.
FEW_GROUPS, TIGHT_PACKS, TIGHT_REGISTERS = 2, 5, 20


@dataclass(frozen=True)
class LongRows:
    """The constants of long_rows.cuh. A multiprocessor has one block."""

    warps: int  # that hold elements
    blocks: int  # per row: a group
    packs: int  # per thread
    slots: int  # rows in shared memory
    ahead: int  # turns between a row's sums and its results
    groups: int
    masked: bool  # rows begin anywhere
    kept: bool  # gamma and beta stay in registers
    block: int  # threads
    hint: int = 0

    @property
    def shared_bytes(self) -> int:
        """Dynamic, per block."""
        return self.slots * self.packs * self.warps * WARP * PACK


def long_rows(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> list[LongRows]:
    """For each of PACKS, the choices with the most groups whose rows fit into shared memory. Rows of a group begin at
    the same element of a pack; only if no such group fits, they begin at any, and gamma and beta are shifted for each.
    Where few groups have room, a further choice has more groups and fewer registers.
    """
    masked, packs = columns * itemsize % PACK != 0, most_packs(columns, itemsize)
    if packs < LEAST_PACKS:
        return []
    unit = PACK // gcd(PACK, columns * itemsize)  # rows so far apart begin at the same element of a pack
    hint = int(evicts_first(rows * columns * itemsize, device))

    def of_packs(own: int, kept: bool, registers: int) -> list[LongRows]:
        groups = (one for one in GROUPS if one < max(rows, 2) and (not kept or one % unit == 0))
        sizes = (_of_size(packs, one, own, masked, kept, registers, device) for one in groups)
        return [replace(one, hint=hint) for one in sizes if one is not None]

    keeping = (True, False) if masked else (True,)
    usual = ([one for own in PACKS for one in of_packs(own, kept, REGISTERS[masked])[:MOST_SIZES]] for kept in keeping)
    found = next((choices for choices in usual if choices), [])
    most = max((one.groups for one in found), default=0)
    for kept in keeping if masked and most <= FEW_GROUPS else ():
        more = [one for one in of_packs(TIGHT_PACKS, kept, TIGHT_REGISTERS) if one.groups > most]
        if more:
            return [*found, more[0]]
    return found


def _of_size(
    packs: int, groups: int, own: int, masked: bool, kept: bool, registers: int, device: DeviceProperties
) -> LongRows | None:
    """The choice for rows of so many packs by `groups` groups, `own` packs and `registers` others per thread; None if
    it does not fit."""
    blocks = device.multiprocessors // groups
    if blocks == 0 or blocks * groups > MOST_BLOCKS or (groups == 1 and own not in PACKS_OF_ONE_GROUP):
        return None
    warps = -(-packs // (WARP * blocks * own))
    if not WARPS[0] <= warps <= WARPS[1] or WARP * warps * blocks * (own - 1) >= packs:
        return None  # in the last case fewer packs per thread would do
    for slots in range(SLOTS[1], SLOTS[0] - 1, -1):
        ahead = min(AHEAD, slots - 2)
        one = LongRows(warps, blocks, own, slots, ahead, groups, masked, kept, WARP * (warps + EXCHANGING))
        shared = one.shared_bytes + PARTS_BYTES * (blocks + 2 * warps + 2)
        if device.resident_blocks(one.block, registers + 12 * own, shared):
            return one
    return None


def of_long_rows(choice: LongRows, case: Case, device: DeviceProperties) -> Quantities:
    """For the cost function. The turns before it hide half of what a turn waits for."""
    rows, _ = case.rows_columns()
    itemsize, blocks = dtypes.itemsize(case.dtype), choice.groups * choice.blocks
    nbytes, turns = case.elements * itemsize, rows / choice.groups
    elements = rows * choice.blocks * choice.warps * choice.packs * (PACK // itemsize)
    return Quantities(
        **of_device(device),
        moved_bytes=2 * nbytes,
        stretch_bytes=nbytes,
        blocks=blocks,
        resident=1,
        access_bytes=WARP * PACK,
        block_warps=choice.warps,
        barriers=turns * (log2(1 + choice.warps) + GROUP_STEPS),
        waiting=1,
        warps=blocks * choice.warps,
        elements=elements * (1 if choice.masked else WHOLE_WORK),
        half=float(itemsize < 4),
        turns=max(1, turns / 2),
        weights=choice.packs if choice.masked else 1,
    )


def long_rows_plan(
    name: str, choice: LongRows, case: Case, device: DeviceProperties, given: EntryArguments
) -> LaunchPlan:
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    launch = Launch(
        f"{name}_{dtypes.suffix(case.dtype)}",
        (choice.groups * choice.blocks, 1, 1),
        (choice.block, 1, 1),
        (*given.arrays, Scalar("int64", rows), Scalar("int32", columns), *given.scalars),
        shared_bytes=choice.shared_bytes,
        co_resident=choice.blocks,
    )
    constants: dict[str, str | int] = {
        "TECHNIQUE": "LONG_ROWS",
        "ITEM_BYTES": dtypes.itemsize(case.dtype),
        "BLOCK": choice.block,
        "RESIDENT": 1,
        "HINT": choice.hint,
        "PACKS": choice.packs,
        "MASKED": int(choice.masked),
        "WARPS": choice.warps,
        "BLOCKS": choice.blocks,
        "SLOTS": choice.slots,
        "AHEAD": choice.ahead,
        "KEPT": int(choice.kept),
        "MOST_BLOCKS": MOST_BLOCKS,
    }
    turns = -(-rows // choice.groups)
    groups = f"{choice.groups} groups" if choice.groups > 1 else "one group"
    reason = f"{groups} of {choice.blocks} blocks of {choice.block // WARP} warps, for {turns} rows in turn"
    reason += f", up to {choice.slots} of them in shared memory at once"
    if choice.packs == TIGHT_PACKS and choice.kept:
        reason += "; threads keep some bytes in local memory, so that more groups have room"
    return LaunchPlan((launch,), tuple(constants.items()), reasons=(reason,))
