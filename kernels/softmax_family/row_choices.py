"""The choice of a technique for softmax and log-softmax along the last axis of [rows, columns]; row_plans launches it.

Rows are counted in packs of 16 bytes. A row that begins anywhere may reach into one pack more than it would fill.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, inf

from kernelbench import DeviceProperties
from ..common.launch_helpers import power_of_two_from

WARP = 32
PACK_BYTES = 16


@dataclass(frozen=True)
class Held:
    """Rows in registers and shared memory: the constants of held_rows.cuh, or of warp_rows.cuh up to a warp per row."""

    lanes: int  # per row; 32 where it has several warps
    warps: int  # per row in a block
    blocks: int  # per row: a cluster
    packs: int  # per thread in registers
    shared_packs: int  # per thread in shared memory
    rows: int  # that a thread works on at once
    masked: bool  # rows begin anywhere
    block: int  # threads
    resident: int  # blocks per multiprocessor for which registers must suffice
    hint: int = 0
    recompute: bool = False  # keeps packs, which have fewer bytes, and computes exponentials twice


@dataclass(frozen=True)
class Staged:
    """Whole short rows by one thread each, through shared memory: the constants of staged_rows.cuh."""

    columns: int
    group: int  # rows per thread
    block: int = 128
    resident: int = 8
    hint: int = 0


@dataclass(frozen=True)
class StagedLanes:
    """Rows of halves by lanes of a warp, through shared memory: the constants of staged_lanes.cuh."""

    lanes: int  # per row
    loads: int  # 4-byte loads per lane and row, kept in registers
    group: int  # rows that lanes take one after another
    rows: int = 1  # rows of these that they take at once
    block: int = WARP
    resident: int = 32
    hint: int = 0

    @property
    def warp_rows(self) -> int:
        return WARP // self.lanes * self.group


@dataclass(frozen=True)
class Split:
    """Two launches over chunks of rows: the constants of split_rows.cuh."""

    packs: int = 4
    block: int = 256
    resident: int = 4
    hint: int = 0


Choice = Held | Staged | StagedLanes | Split

# ---- Thresholds: fitted to recorded runs, by the share of a copy's bandwidth that a technique reaches -----------

# Longest rows, by itemsize, that one thread takes whole where rows do not end with a pack: masked packs would have many
# ends and idle lanes in short rows.
STAGED_COLUMNS = {2: 64, 4: 72}
STAGED_BYTES = 160  # most bytes per thread of several rows: those of 1024 threads fit in shared memory
# Columns of halves for which a whole row per thread takes too many registers, and masked packs cost 22 instructions per
# element where 4-byte loads from shared memory cost 10 to 12. Longer rows have few masked ends.
STAGED_LANES_COLUMNS = range(65, 304)
# From MASKED_FROM columns on, rows by lanes need this many warps per multiprocessor. A warp takes its rows one after
# another, so masked packs are faster where rows are few.
LEAST_WARPS, MASKED_FROM = 12, 89
LANE_LOADS = 12  # most 4-byte loads per lane
# Rows per warp by lanes: 16 rows of halves of any length are whole sectors of 32 bytes, and ask for at most four words
# per bank. Twice as many gain little, and lose more where rows are few.
SECTOR_ROWS = 16
SHORT_BLOCK = 128
# Instructions per lane beside those of its packs (addresses, exchanges, masked ends), counted in packs.
LANE_PACKS = 2.0
MASKED_LANE_PACKS = {2: 4.0, 4: 3.5}
LANE_COST = 3.2  # instructions of all lanes over packs of the row, up to which a row is within 3 % of a copy
# Least lanes, by masked or not: neighbours read and write this many packs at once.
LEAST_LANES = {False: 2, True: 8}
LANE_MOST_PACKS = 5
TWO_WARPS = range(113, 129)  # packs of a row for which two warps are better than one
WARP_PACKS = 4  # per thread before a row gets a second warp
FEW_PACKS = 1024  # packs of a row up to which fewer packs per thread, and more threads, are as fast
ALONE_PACKS = 2560  # packs of the longest row in one block where there are clusters
BLOCK_PACKS = 4096  # the same without clusters: two blocks of 512 threads keep 128 KB per multiprocessor in flight
THREAD_PACKS = 8  # per thread, which take 32 registers
MAX_WARPS = 32
RESERVED_BYTES = 4096  # of shared memory per block: the system's and the warps' parts
CLUSTER_WARPS = 8  # per block
# (blocks, most packs per thread) by masked or not; the first that holds the row is taken.
CLUSTERS = {False: ((2, 4), (4, 8), (8, 12), (16, 16)), True: ((2, 4), (4, 8), (8, 9), (16, 9))}
# (most packs per thread, blocks that registers leave room for) likewise.
CLUSTER_RESIDENT = {False: ((5, 6), (7, 5), (12, 4), (16, 3)), True: ((5, 6), (6, 5), (9, 4))}
# Longer rows: (warps, packs in registers, blocks that registers leave room for, most packs). Shared memory holds
# further packs. Masked packs take more registers, so registers hold at most eight.
LONG_ROWS = {
    False: ((8, 14, 3, 29), (8, 24, 2, 51), (16, 24, 1, 51)),
    True: ((8, 8, 4, 19), (16, 8, 2, 21), (32, 8, 1, 21)),
}
# Resident blocks per multiprocessor at which floats are kept and their exponentials computed twice.
RECOMPUTE_RESIDENT = 3


def choose(rows: int, columns: int, itemsize: int, keeps_exponentials: bool, device: DeviceProperties) -> Choice:
    """The technique for [rows, columns]. `keeps_exponentials`: results are made of exponentials, not of elements."""
    found = _technique(rows, columns, itemsize, keeps_exponentials, device)
    # The hint "evict first" helps where x fits the L2 cache and costs where not; whole rows per thread always gain.
    in_cache = rows * columns * itemsize <= device.l2_bytes
    if in_cache and isinstance(found, Held) and found.warps == found.packs == 1:
        found = in_cached_warp(found, itemsize)
    return replace(found, hint=int(in_cache or isinstance(found, Staged)))


def _technique(rows: int, columns: int, itemsize: int, keeps_exponentials: bool, device: DeviceProperties) -> Choice:
    masked = columns * itemsize % PACK_BYTES != 0
    packs = most_packs(columns, itemsize)
    if masked and columns in STAGED_LANES_COLUMNS and itemsize < 4:
        by_lanes = staged_lanes(columns)
        if columns < MASKED_FROM or rows >= by_lanes.warp_rows * LEAST_WARPS * device.multiprocessors:
            return by_lanes
    if masked and columns <= STAGED_COLUMNS[itemsize]:
        return staged(columns, itemsize)
    registers = PACK_BYTES // itemsize if keeps_exponentials else 4  # per pack: 8 where exponentials of halves are kept
    found = in_warp(columns, itemsize)
    if found is not None and (masked or packs not in TWO_WARPS):
        return found
    recompute = keeps_exponentials and itemsize < 4
    if packs <= WARP * WARP_PACKS:
        return many_warps(packs, WARP_PACKS * 4 // registers, masked, False, registers)
    most_blocks = device.max_cluster
    alone = BLOCK_PACKS if most_blocks == 1 else ALONE_PACKS
    if packs <= FEW_PACKS or (itemsize < 4 and packs <= alone // 2):
        return many_warps(packs, WARP_PACKS, masked, False, registers)
    # Floats in few warps of many packs are fastest; as many packs of halves spill.
    if packs <= (alone if itemsize == 4 or most_blocks == 1 else alone // 2):
        return many_warps(packs, THREAD_PACKS, masked, recompute)
    if most_blocks == 1:
        shared_bytes = device.shared_per_block_optin - RESERVED_BYTES
        shared_packs = shared_bytes // (PACK_BYTES * WARP * MAX_WARPS)  # per thread
        if rows * 2 <= device.multiprocessors or packs > MAX_WARPS * WARP * (THREAD_PACKS + shared_packs):
            return Split()
        return many_warps(packs, THREAD_PACKS, masked, recompute)
    found = clustered(packs, masked, most_blocks) or stretched(packs, masked, most_blocks, device)
    if found is None or rows * found.blocks * 2 <= device.multiprocessors:
        return Split()
    return replace(found, recompute=keeps_exponentials and (itemsize < 4 or found.resident == RECOMPUTE_RESIDENT))


def most_packs(columns: int, itemsize: int) -> int:
    """Most packs that a row reaches into: when it begins with the last element of a pack."""
    per_pack = PACK_BYTES // itemsize
    before = per_pack - 1 if columns % per_pack else 0
    return -(-(before + columns) // per_pack)


def in_warp(columns: int, itemsize: int) -> Held | None:
    """As many lanes of a warp as are worth their overhead; None where a warp does not hold the row."""
    per_pack = PACK_BYTES // itemsize
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
        rows = 2 if itemsize == 4 and packs == 1 and not masked else 1  # exponentials of floats take no more registers
        cost = lanes * (packs + (MASKED_LANE_PACKS[itemsize] if masked else LANE_PACKS / rows)) / least
        if cost < least_cost:
            block = SHORT_BLOCK if packs == 1 else 64
            block = 256 if packs == 1 and lanes == WARP else block
            resident = resident_blocks(24 + 8 * masked + rows * packs * per_pack, block)  # one float per element
            found, least_cost = Held(lanes, 1, 1, packs, 0, rows, masked, block, resident), cost
        if cost <= LANE_COST:
            break
        lanes //= 2
    return found


def in_cached_warp(found: Held, itemsize: int) -> Held:
    """The choice for x that fits the L2 cache, with one pack per lane: more rows at once and small blocks gain 3 %."""
    if itemsize == 4 and found.lanes == WARP // 2 and not found.masked:
        return replace(found, lanes=WARP // 4, packs=2, rows=4, block=WARP, resident=resident_blocks(88, WARP))
    block = found.block if found.masked or found.lanes == WARP else 2 * WARP
    return replace(found, rows=2, block=block, resident=resident_blocks(24 + 2 * PACK_BYTES // itemsize, block))


def resident_blocks(registers: int, block: int) -> int:
    """Blocks per multiprocessor, of `block` threads with `registers` registers each."""
    threads = min(2048, 65536 // (-(-registers // 8) * 8))
    return max(1, min(32, threads // block))


def clustered(packs: int, masked: bool, most_blocks: int) -> Held | None:
    """A cluster whose blocks are so small that several are resident, and some load while others exchange.

    None where the cluster's registers do not hold the row.
    """
    for blocks, per_thread in CLUSTERS[masked]:
        own = -(-packs // (WARP * CLUSTER_WARPS * blocks))
        if blocks <= most_blocks and own <= per_thread:
            resident = next(count for most, count in CLUSTER_RESIDENT[masked] if own <= most)
            return Held(WARP, CLUSTER_WARPS, blocks, own, 0, 1, masked, WARP * CLUSTER_WARPS, resident)
    return None


def stretched(packs: int, masked: bool, blocks: int, device: DeviceProperties) -> Held | None:
    """The largest cluster, with part of the row in shared memory; None where that does not hold the row either."""
    for warps, kept, resident, most in LONG_ROWS[masked]:
        own, block = -(-packs // (WARP * warps * blocks)), WARP * warps
        shared = max(0, own - kept)
        if own <= most and shared * block * PACK_BYTES + RESERVED_BYTES <= device.shared_per_block_optin:
            return Held(WARP, warps, blocks, own - shared, shared, 1, masked, block, resident)
    return None


def many_warps(packs: int, per_thread: int, masked: bool, recompute: bool, pack_registers: int = 4) -> Held:
    """One block of the fewest warps that hold the row, `per_thread` packs in registers and the rest in shared memory.

    `pack_registers`: registers per pack; 8 where its eight elements are kept as exponentials.
    """
    # The last pack of a masked row makes one more pack per thread, not a further warp.
    more = int(masked and per_thread < THREAD_PACKS)
    warps = min(max(2, -(-(packs - more) // (WARP * per_thread))), MAX_WARPS)
    own = -(-packs // (WARP * warps))  # packs per thread
    in_registers = min(own, per_thread + more)
    registers = in_registers * pack_registers
    # Threads per multiprocessor with these registers and 24 to 32 more; with 40, the compiler manages in 64 if it must.
    threads = next(most for up_to, most in ((8, 2048), (16, 1536), (40, 1024), (inf, 896)) if registers <= up_to)
    resident = max(1, min(32, threads // (WARP * warps)))
    shared = own - in_registers
    return Held(WARP, warps, 1, in_registers, shared, 1, masked, WARP * warps, resident, recompute=recompute)


def staged(columns: int, itemsize: int) -> Staged:
    """Rows per thread that are an odd number of packs, or of half packs where too long, to avoid bank conflicts."""
    per_pack = PACK_BYTES // itemsize
    group = per_pack // gcd(columns, per_pack)
    while group > 1 and group * columns * itemsize > STAGED_BYTES and group * columns * itemsize % 8 == 0:
        group //= 2
    registers = 16 + group * columns * itemsize // 4 + (columns // 2 if itemsize < 4 else 0)
    return Staged(columns, group, SHORT_BLOCK, resident_blocks(registers, SHORT_BLOCK))


def staged_lanes(columns: int) -> StagedLanes:
    """The fewest lanes per row that hold it."""
    lanes = 1
    while -(-(columns // 2 + 1) // lanes) > LANE_LOADS:
        lanes *= 2
    return in_staged_lanes(columns, lanes)


def in_staged_lanes(columns: int, lanes: int, rows: int = 1, block: int = WARP) -> StagedLanes:
    """Rows of `columns` halves by `lanes` lanes each."""
    loads = -(-(columns // 2 + 1) // lanes)  # a row may begin and end within 4 bytes
    group = max(1, SECTOR_ROWS * lanes // WARP)
    return StagedLanes(lanes, loads, group, rows, block, resident_blocks(24 + 2 * rows * loads, block))
