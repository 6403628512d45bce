"""The choice of a technique for layer norm of [rows, columns]; one_read_rows launches it.

A rule, not the cost function of softmax: of 42 cases timed on an H100, its choice was within 3 % of the fastest
candidate in 81 %, that of the cost function in 38 to 60 %, however gamma and beta were counted (a trial, not recorded).
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from kernelbench import DeviceProperties
from ..common.launch_helpers import power_of_two_from
from ..softmax_family.hardware import MAX_WARPS, PACK, WARP
from ..softmax_family.row_candidates import (
    CLUSTER_RESIDENT,
    CLUSTERS,
    LONG_ROWS,
    RESERVED_BYTES,
    STAGED_COLUMNS,
)
from ..softmax_family.row_techniques import (
    SECTOR_ROWS,
    SHORT_BLOCK,
    THREAD_PACKS,
    Choice,
    Held,
    Split,
    Staged,
    StagedLanes,
    blocks_by_registers,
    hinted,
    many_warps,
    most_packs,
    staged,
)
from ._long_rows import LongRows, long_rows

# Registers per thread in addition to those of softmax. Masked packs: the packs of gamma and beta that hold their
# weights. Whole rows per thread: the addresses of gamma and beta; half a row of each is counted in with_weights.
MASKED_REGISTERS, STAGED_REGISTERS = 16, 8
LONG_BYTES = 2**20  # of a row, beyond which groups of small blocks hold it
LONG_SIZE = 8, 256  # packs per thread and row, threads
LANE_ELEMENTS = 16  # most per lane of rows by lanes through shared memory, which also has gamma and beta for each
# Warps per multiprocessor that rows by lanes need. A warp takes its rows one after another, so masked packs are faster
# where rows are few.
LEAST_WARPS = 12
# Instructions per lane beside those of its packs (addresses, exchanges, masked ends), counted in packs.
LANE_PACKS = 2.0
MASKED_LANE_PACKS = {2: 4.0, 4: 3.5}
LANE_COST = 3.2  # instructions of all lanes over packs of the row, up to which a row is within 3 % of a copy
LEAST_LANES = {False: 2, True: 8}  # by masked or not: neighbours read and write this many packs at once
LANE_MOST_PACKS = 5
# Packs per lane of the longest row that one warp takes. Two warps took up to 23 % less time for longer ones (H100).
ONE_WARP_PACKS = 2
WARP_PACKS = 4  # per thread before a row gets a third warp
FEW_PACKS = 1024  # packs of a row up to which fewer packs per thread, and more threads, are as fast
ALONE_PACKS = 2560  # packs of the longest row in one block where there are clusters
CLUSTER_BLOCK = 256  # threads
BLOCK_PACKS = 4096  # the same without clusters: two blocks of 512 threads keep 128 KB per multiprocessor in flight


def choose(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Choice | LongRows:
    """Rows beyond the registers of a cluster are held by groups of small blocks. For unaligned rows, masked packs need
    more instructions for gamma and beta. So if rows are many, lanes take elements from shared memory up to longer
    rows than in softmax."""
    if columns * itemsize > LONG_BYTES and (held := long_rows(rows, columns, itemsize, device, *LONG_SIZE)):
        return held
    nbytes = rows * columns * itemsize
    if columns * itemsize % PACK and STAGED_COLUMNS[itemsize] < columns <= WARP * LANE_ELEMENTS:
        by_lanes = staged_lanes(columns, itemsize)
        if rows >= by_lanes.warp_rows * LEAST_WARPS * device.multiprocessors:
            return hinted(by_lanes, nbytes, device)
    found = _technique(rows, columns, itemsize, device)
    if nbytes <= device.l2_bytes and isinstance(found, Held) and found.warps == found.packs == 1:
        found = in_cached_warp(found, itemsize)
    return with_weights(hinted(found, nbytes, device), columns, itemsize, device)


def with_weights(found: Choice, columns: int, itemsize: int, device: DeviceProperties) -> Choice:
    """A choice for softmax, with registers for gamma and beta."""
    if not isinstance(found, Staged) and not (isinstance(found, Held) and found.masked):
        return found
    more = STAGED_REGISTERS + columns * itemsize // 4 if isinstance(found, Staged) else MASKED_REGISTERS
    registers = device.registers_per_multiprocessor // (found.resident * found.block) + more
    return replace(found, resident=blocks_by_registers(registers, found.block))


def staged_lanes(columns: int, itemsize: int) -> StagedLanes:
    """The fewest lanes per row; `loads` are elements. Rows of a warp are whole sectors."""
    lanes = next(lanes for lanes in (4, 8, 16, 32) if columns <= lanes * LANE_ELEMENTS)
    elements, warp_rows = -(-columns // lanes), SECTOR_ROWS * 2 // itemsize
    return StagedLanes(
        lanes, elements, warp_rows * lanes // WARP, resident=blocks_by_registers(24 + 3 * elements, WARP)
    )


def _technique(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Choice:
    masked = columns * itemsize % PACK != 0
    packs = most_packs(columns, itemsize)
    if masked and columns <= STAGED_COLUMNS[itemsize]:
        return staged(columns, itemsize)
    found = in_warp(columns, itemsize)
    if found is not None and (masked or packs <= ONE_WARP_PACKS * WARP):
        return found
    most_blocks = device.max_cluster
    alone = BLOCK_PACKS if most_blocks == 1 else ALONE_PACKS
    if packs <= FEW_PACKS or (itemsize < 4 and packs <= alone // 2):
        return many_warps(packs, WARP_PACKS, masked)
    # Floats in few warps of many packs are fastest; as many packs of halves spill.
    if packs <= (alone if itemsize == 4 or most_blocks == 1 else alone // 2):
        return many_warps(packs, THREAD_PACKS, masked)
    if most_blocks == 1:
        shared_packs = (device.shared_per_block_optin - RESERVED_BYTES) // (PACK * WARP * MAX_WARPS)  # per thread
        if rows * 2 <= device.multiprocessors or packs > MAX_WARPS * WARP * (THREAD_PACKS + shared_packs):
            return Split()
        return many_warps(packs, THREAD_PACKS, masked)
    cluster = clustered(packs, masked, most_blocks) or stretched(packs, masked, most_blocks, device)
    if cluster is None or rows * cluster.blocks * 2 <= device.multiprocessors:
        return Split()
    return cluster


def in_warp(columns: int, itemsize: int) -> Held | None:
    """As many lanes of a warp as are worth their overhead; None where a warp does not hold the row."""
    per_pack = PACK // itemsize
    masked = columns % per_pack != 0
    least, most = -(-columns // per_pack), most_packs(columns, itemsize)
    if itemsize == 4 and most == 4:  # two packs per lane are faster than one
        return Held(2, 1, 1, 2, 0, 2, False, SHORT_BLOCK, resident=8)
    found, least_cost = None, inf
    lanes = WARP if itemsize == 4 or most > WARP else WARP // 2  # for up to 32 packs of halves, half a warp is as fast
    while lanes >= min(LEAST_LANES[masked], power_of_two_from(most)):
        packs = -(-most // lanes)
        if packs > LANE_MOST_PACKS:
            break
        rows = 2 if itemsize == 4 and packs == 1 and not masked else 1
        cost = lanes * (packs + (MASKED_LANE_PACKS[itemsize] if masked else LANE_PACKS / rows)) / least
        if cost < least_cost:
            block = SHORT_BLOCK if packs == 1 else 64
            block = 256 if packs == 1 and lanes == WARP else block
            resident = blocks_by_registers(24 + 8 * masked + rows * packs * per_pack, block)  # one float per element
            found, least_cost = Held(lanes, 1, 1, packs, 0, rows, masked, block, resident), cost
        if cost <= LANE_COST:
            break
        lanes //= 2
    return found


def in_cached_warp(found: Held, itemsize: int) -> Held:
    """The choice for x that fits the L2 cache, with one pack per lane: more rows at once and small blocks gain 3 %."""
    if itemsize == 4 and found.lanes == WARP // 2 and not found.masked:
        return replace(found, lanes=WARP // 4, packs=2, rows=4, block=WARP, resident=blocks_by_registers(88, WARP))
    block = found.block if found.masked or found.lanes == WARP else 2 * WARP
    return replace(found, rows=2, block=block, resident=blocks_by_registers(24 + 2 * PACK // itemsize, block))


def clustered(packs: int, masked: bool, most_blocks: int) -> Held | None:
    """A cluster whose blocks are so small that several are resident, and some load while others exchange.

    None where the cluster's registers do not hold the row.
    """
    for blocks, per_thread in CLUSTERS[masked]:
        own = -(-packs // (CLUSTER_BLOCK * blocks))
        if blocks <= most_blocks and own <= per_thread:
            resident = next(count for most, count in CLUSTER_RESIDENT[masked] if own <= most)
            return Held(WARP, CLUSTER_BLOCK // WARP, blocks, own, 0, 1, masked, CLUSTER_BLOCK, resident)
    return None


def stretched(packs: int, masked: bool, blocks: int, device: DeviceProperties) -> Held | None:
    """The largest cluster, with part of the row in shared memory; None where that does not hold the row either."""
    for warps, kept, resident, most in LONG_ROWS[masked]:
        own, block = -(-packs // (WARP * warps * blocks)), WARP * warps
        shared = max(0, own - kept)
        if own <= most and shared * block * PACK + RESERVED_BYTES <= device.shared_per_block_optin:
            return Held(WARP, warps, blocks, own - shared, shared, 1, masked, block, resident)
    return None
