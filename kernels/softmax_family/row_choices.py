"""Which technique softmax and log-softmax along the last axis take for a row, for row_plans to make launches of.

A row is counted in packs of 16 bytes. One that begins anywhere may reach into one pack more than it would fill.
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
    """Rows in registers, and further packs in shared memory: the constants of common/held_rows.cuh.

    Those of common/warp_rows.cuh where a row has one warp or less of it.
    """

    lanes: int  # of a row, 32 where it has several warps
    warps: int  # of a row in a block
    blocks: int  # of a row: a cluster
    packs: int  # of a row in a thread's registers
    shared_packs: int  # and in its slots of shared memory
    rows: int  # that a thread works on at once
    masked: bool  # rows begin anywhere
    block: int  # threads
    resident: int  # blocks that registers must leave room for
    hint: int = 0
    fast: bool = False
    recompute: bool = False  # powers are computed twice, so that of a row its packs are kept, which have fewer bytes

    @property
    def capacity(self) -> int:
        """Packs of a row."""
        return self.lanes * self.warps * self.blocks * (self.packs + self.shared_packs)


@dataclass(frozen=True)
class Staged:
    """Whole short rows of a thread, through shared memory: the constants of common/staged_rows.cuh."""

    columns: int
    group: int  # rows of a thread
    block: int = 128
    resident: int = 8
    hint: int = 0
    fast: bool = False


@dataclass(frozen=True)
class StagedLanes:
    """Rows of halves by lanes of a warp, through shared memory: the constants of common/staged_lanes.cuh."""

    lanes: int  # of a row
    words: int  # of 4 bytes, of a row in a lane's registers
    group: int  # rows that lanes take one after another
    rows: int = 1  # of these, at once
    block: int = WARP
    resident: int = 32
    hint: int = 0
    fast: bool = False

    @property
    def warp_rows(self) -> int:
        return WARP // self.lanes * self.group


@dataclass(frozen=True)
class Split:
    """Two launches over chunks of rows: the constants of common/split_rows.cuh."""

    packs: int = 4
    block: int = 256
    resident: int = 4
    hint: int = 0
    fast: bool = False


Choice = Held | Staged | StagedLanes | Split

# ---- Which ---------------------------------------------------------------------------------------

# Rows that do not end with a pack: up to here whole in a thread, beyond by masked packs, where short ones have many
# ends and idle lanes. Of a copy: 65 float32 0.90, not 0.87 (H200).
STAGED_COLUMNS = {2: 64, 4: 72}
STAGED_BYTES = 160  # of a thread's rows where it has several: 1024 threads keep as much as fits shared memory in flight
# Of halves, from there on a thread that holds a row has so many registers that too few are resident, and masked packs
# of lanes cost 22 instructions an element, where lanes that take words from shared memory have 10 to 12. Of a copy, on
# an H200: 89 bfloat16 1.01, masked 0.83; 193 1.02 and 0.95; 257 1.00 and 0.98, 300 1.01 and 0.98. Of longer rows masked
# packs have few ends.
STAGED_LANES_COLUMNS = range(65, 304)
# Warps of a multiprocessor, of rows that begin with this length: each takes rows one after another, so that of few rows
# masked packs are done earlier, a thread's whole rows later. 129 bfloat16 by 8 warps 5.2 us, masked 4.4; by 15 7.0 and
# 7.6; 65 by 2 warps 2.5 us, whole in a thread 3.3 (H200).
LEAST_WARPS, MASKED_FROM = 12, 89
LANE_WORDS = 12  # of a lane: 193 bfloat16 by 7 words 1.02 of a copy, by 13 1.00; 65 by 9 1.02, by 17 1.01 (H200)
# A warp's rows by lanes: halves of so many are whole sectors of 32 bytes, however long, and ask for at most four words
# of a bank. Twice as many ask for two and gain little, 127 bfloat16 0.984 of a copy, not 0.978; where rows are few they
# lose more: 4 MB of 129 in 5.7 us, not 5.2 (H200).
SECTOR_ROWS = 16
SHORT_BLOCK = 128
# A lane's instructions that are not a pack's (addresses, exchanges, and ends where those are masked), in packs.
LANE_PACKS = 2.0
MASKED_LANE_PACKS = {2: 4.0, 4: 3.5}
LANE_COST = 3.2  # of all lanes, in packs of the row: up to here a row is within 3 % of a copy, by 3.6 at 0.89 (H200)
# Neighbours read and write so many packs at once; masked rows have partial ones at both ends. Of a copy, on an H200:
# 24 bfloat16 by two 0.98, by one 0.84; 100 of them by eight 0.92, by four 0.76.
LEAST_LANES = {False: 2, True: 8}
LANE_MOST_PACKS = 5
# Packs of which two warps are better than one: 800 bfloat16 by two 0.93, by one 0.98 of a copy; 1000 by two 1.00.
TWO_WARPS = range(113, 129)
WARP_PACKS = 4  # of a thread before a row gets a second warp
FEW_PACKS = 1024  # up to here fewer packs a thread, and more threads, are as fast
BLOCK_PACKS = 4096  # 64 KB in 512 threads: two such blocks keep 128 KB of a multiprocessor in flight
ALONE_PACKS = 2560  # up to here without a cluster: 8191 float32 by nine warps 0.93 of a copy, by four blocks 0.75
THREAD_PACKS = 8  # of registers: 32 words
MAX_WARPS = 32
RESERVED_BYTES = 4096  # of shared memory a block: the system's and the warps' parts
CLUSTER_WARPS = 8  # of a block
# Of rows that begin with a pack, and of masked ones: blocks, and packs a thread at most, from the one to be taken
# first. Of a copy, on an H200: 24576 float32 by six packs in four blocks 1.02, by three in eight 1.00; 147456 bfloat16
# by nine in eight 1.02, by five in sixteen 1.00; 45055 float32, masked, by six in eight 1.00, by twelve in four 0.66.
CLUSTERS = {False: ((2, 4), (4, 8), (8, 12), (16, 16)), True: ((2, 4), (4, 8), (8, 9), (16, 9))}
# Likewise: packs a thread at most, and blocks that registers leave room for. 163840 float32 by ten packs 1.01 with four
# blocks, 0.88 with two; 98304 by six 1.02 with five, 0.98 with four.
CLUSTER_RESIDENT = {False: ((5, 6), (7, 5), (12, 4), (16, 3)), True: ((5, 6), (6, 5), (9, 4))}
# Of longer rows: warps, packs in registers, blocks that they leave room for, and packs at most, of which others are in
# shared memory. 393216 float32 by 14 and 10 packs 0.93, by eight of 24 warps 0.72; 524288 by 24 and eight 0.88, by 14
# and 18 0.83.
# Of masked ones by no more than eight in registers, as many threads as have room: 524287 bfloat16 0.91, by 13 0.86;
# 1048575 by 16 warps 0.85, by eight of 24 packs 0.69; 786431 float32 by 32 warps 0.69, by eight of 24 packs 0.62.
LONG_ROWS = {
    False: ((8, 14, 3, 29), (8, 24, 2, 51), (16, 24, 1, 51)),
    True: ((8, 8, 4, 19), (16, 8, 2, 21), (32, 8, 1, 21)),
}
# Blocks by which powers of floats are not kept but computed again: 262144 float32 0.99 so, 0.96 by two blocks that keep
# them, 0.86 by three.
RECOMPUTE_RESIDENT = 3


def choose(rows: int, columns: int, itemsize: int, keeps_powers: bool, device: DeviceProperties) -> Choice:
    """The technique for rows of so many columns. `keeps_powers`: the result is made of powers, not of elements."""
    found = _technique(rows, columns, itemsize, keeps_powers, device)
    # Evict first, rows of packs gain 1 to 5 % where x fits the L2 cache, and lose 3 to 5 % beyond; staged ones gain
    # always, but for those by lanes, which lose 1 % beyond (H200).
    in_cache = rows * columns * itemsize <= device.l2_bytes
    if in_cache and isinstance(found, Held) and found.warps == found.packs == 1:
        found = in_cached_warp(found, itemsize)
    return replace(found, hint=int(in_cache or isinstance(found, Staged)))


def _technique(rows: int, columns: int, itemsize: int, keeps_powers: bool, device: DeviceProperties) -> Choice:
    masked = columns * itemsize % PACK_BYTES != 0
    packs = most_packs(columns, itemsize)
    if masked and columns in STAGED_LANES_COLUMNS and itemsize < 4:
        by_lanes = staged_lanes(columns)
        if columns < MASKED_FROM or rows >= by_lanes.warp_rows * LEAST_WARPS * device.multiprocessors:
            return by_lanes
    if masked and columns <= STAGED_COLUMNS[itemsize]:
        return staged(columns, itemsize)
    words = PACK_BYTES // itemsize if keeps_powers else 4  # registers of a pack: eight where halves' powers are kept
    found = in_warp(columns, itemsize)
    if found is not None and (masked or packs not in TWO_WARPS):
        return found
    recompute = keeps_powers and itemsize < 4
    if packs <= WARP * WARP_PACKS:
        return many_warps(packs, WARP_PACKS * 4 // words, masked, False, words)
    most_blocks = device.max_cluster
    alone = BLOCK_PACKS if most_blocks == 1 else ALONE_PACKS
    if packs <= FEW_PACKS or (itemsize < 4 and packs <= alone // 2):
        return many_warps(packs, WARP_PACKS, masked, False, words)
    # 4096 float32 by 4 warps 0.98 of a copy, by 8 0.97; 16384 by 16 warps 0.97, by 32 0.91. Of halves as many spill.
    if packs <= (alone if itemsize == 4 or most_blocks == 1 else alone // 2):
        return many_warps(packs, THREAD_PACKS, masked, recompute)
    if most_blocks == 1:
        shared_bytes = device.shared_per_block_optin - RESERVED_BYTES
        slots = shared_bytes // (PACK_BYTES * WARP * MAX_WARPS)  # of a thread in shared memory
        if rows * 2 <= device.multiprocessors or packs > MAX_WARPS * WARP * (THREAD_PACKS + slots):
            return Split()
        return many_warps(packs, THREAD_PACKS, masked, recompute)
    found = clustered(packs, masked, most_blocks) or stretched(packs, masked, most_blocks, device)
    if found is None or rows * found.blocks * 2 <= device.multiprocessors:
        return Split()
    return replace(found, recompute=keeps_powers and (itemsize < 4 or found.resident == RECOMPUTE_RESIDENT))


def most_packs(columns: int, itemsize: int) -> int:
    """Packs that a row reaches into at most: where it begins with a pack's last element."""
    per_pack = PACK_BYTES // itemsize
    before = per_pack - 1 if columns % per_pack else 0
    return -(-(before + columns) // per_pack)


def in_warp(columns: int, itemsize: int) -> Held | None:
    """As many lanes as are worth their own instructions; None where a warp's lanes do not hold the row."""
    per_pack = PACK_BYTES // itemsize
    masked = columns % per_pack != 0
    least, most = -(-columns // per_pack), most_packs(columns, itemsize)
    if itemsize == 4 and most == 4:  # 0.99 of a copy, not 0.93 by a pack of each lane
        return Held(2, 1, 1, 2, 0, 2, False, SHORT_BLOCK, resident=8)
    found, least_cost = None, inf
    lanes = WARP if itemsize == 4 or most > WARP else WARP // 2  # 256 bfloat16 by 32 lanes 0.992 of a copy, by 16 0.997
    while lanes >= min(LEAST_LANES[masked], power_of_two_from(most)):
        packs = -(-most // lanes)
        if packs > LANE_MOST_PACKS:
            break
        rows = 2 if itemsize == 4 and packs == 1 and not masked else 1  # its powers take no more registers than packs
        cost = lanes * (packs + (MASKED_LANE_PACKS[itemsize] if masked else LANE_PACKS / rows)) / least
        if cost < least_cost:
            block = SHORT_BLOCK if packs == 1 else 64
            block = 256 if packs == 1 and lanes == WARP else block  # 128 float32 0.99 of a copy, not 0.97
            resident = resident_blocks(24 + 8 * masked + rows * packs * per_pack, block)  # a float each
            found, least_cost = Held(lanes, 1, 1, packs, 0, rows, masked, block, resident), cost
        if cost <= LANE_COST:
            break
        lanes //= 2
    return found


def in_cached_warp(found: Held, itemsize: int) -> Held:
    """Rows of a pack a lane, where x fits the L2 cache: more of them at once, by small blocks.

    Two rows of halves a thread gain up to 3 % there, and lose 1 % beyond. 65536 rows of 32 bfloat16 take 3.88 us by two
    warps a block, 4.01 by four; 131072 of 64 float32 18.2 us by two packs a lane, 18.4 by one (H200).
    """
    if itemsize == 4 and found.lanes == WARP // 2 and not found.masked:
        return replace(found, lanes=WARP // 4, packs=2, rows=4, block=WARP, resident=resident_blocks(88, WARP))
    block = found.block if found.masked or found.lanes == WARP else 2 * WARP
    return replace(found, rows=2, block=block, resident=resident_blocks(24 + 2 * PACK_BYTES // itemsize, block))


def resident_blocks(registers: int, block: int) -> int:
    """Blocks of a multiprocessor, of threads with so many registers."""
    threads = min(2048, 65536 // (-(-registers // 8) * 8))
    return max(1, min(32, threads // block))


def clustered(packs: int, masked: bool, most_blocks: int) -> Held | None:
    """Blocks of eight warps with so little of a row that several are resident, and load while others exchange.

    None where registers of a cluster do not hold the row.
    """
    for blocks, per_thread in CLUSTERS[masked]:
        own = -(-packs // (WARP * CLUSTER_WARPS * blocks))
        if blocks <= most_blocks and own <= per_thread:
            resident = next(count for most, count in CLUSTER_RESIDENT[masked] if own <= most)
            return Held(WARP, CLUSTER_WARPS, blocks, own, 0, 1, masked, WARP * CLUSTER_WARPS, resident)
    return None


def stretched(packs: int, masked: bool, blocks: int, device: DeviceProperties) -> Held | None:
    """The largest cluster, with a part of the row in shared memory; None where that does not hold it, either."""
    for warps, kept, resident, most in LONG_ROWS[masked]:
        own, block = -(-packs // (WARP * warps * blocks)), WARP * warps
        slots = max(0, own - kept)
        if own <= most and slots * block * PACK_BYTES + RESERVED_BYTES <= device.shared_per_block_optin:
            return Held(WARP, warps, blocks, own - slots, slots, 1, masked, block, resident)
    return None


def many_warps(packs: int, per_thread: int, masked: bool, recompute: bool, pack_words: int = 4) -> Held:
    """As few warps of a block as hold the row with so many packs of registers a thread, and shared memory for the rest.

    `pack_words`: registers that a pack takes: 8 where eight elements are kept as powers.
    """
    # A masked row's last pack is one more of a thread, not a further warp: 2047 bfloat16 0.95 of a copy, not 0.92.
    more = int(masked and per_thread < THREAD_PACKS)
    warps = min(max(2, -(-(packs - more) // (WARP * per_thread))), MAX_WARPS)
    own = -(-packs // (WARP * warps))  # packs of a thread
    in_registers = min(own, per_thread + more)
    words = in_registers * pack_words
    # Threads of a multiprocessor, of so many registers and 24 to 32 more. 40 do with 64 where no more are allowed:
    # 8191 bfloat16 by 24 warps of a multiprocessor 0.91 of a copy, 4097 by 32 1.00 (H200).
    threads = next(most for up_to, most in ((8, 2048), (16, 1536), (40, 1024), (inf, 896)) if words <= up_to)
    resident = max(1, min(32, threads // (WARP * warps)))
    slots = own - in_registers
    return Held(WARP, warps, 1, in_registers, slots, 1, masked, WARP * warps, resident, recompute=recompute)


def staged(columns: int, itemsize: int) -> Staged:
    """Rows of a thread that are an odd number of packs; half as many, and of half packs, where they are too long."""
    per_pack = PACK_BYTES // itemsize
    group = per_pack // gcd(columns, per_pack)
    while group > 1 and group * columns * itemsize > STAGED_BYTES and group * columns * itemsize % 8 == 0:
        group //= 2
    registers = 16 + group * columns * itemsize // 4 + (columns // 2 if itemsize < 4 else 0)
    return Staged(columns, group, SHORT_BLOCK, resident_blocks(registers, SHORT_BLOCK))


def staged_lanes(columns: int) -> StagedLanes:
    """As few lanes a row as hold it."""
    lanes = 1
    while -(-(columns // 2 + 1) // lanes) > LANE_WORDS:
        lanes *= 2
    return in_staged_lanes(columns, lanes)


def in_staged_lanes(columns: int, lanes: int, rows: int = 1, block: int = WARP) -> StagedLanes:
    """Rows of so many lanes. A warp a block by default: 89 bfloat16 1.00 of a copy, by four warps 0.98 (H200)."""
    words = -(-(columns // 2 + 1) // lanes)  # that it may begin and end within
    group = max(1, SECTOR_ROWS * lanes // WARP)
    return StagedLanes(lanes, words, group, rows, block, resident_blocks(24 + 2 * rows * words, block))
