"""Techniques for rows [rows, columns] of the last axis, and the constants of each; row_plans launches them.

Rows are counted in packs of 16 bytes. A row that begins anywhere may reach into one pack more than it would fill.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, inf

from kernelbench import DeviceProperties
from ..common.launch_helpers import evicts_first
from .hardware import MAX_WARPS, PACK, REGISTERS, WARP


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

STAGED_BYTES = 160  # most bytes per thread of several rows: those of 1024 threads fit in shared memory
SHORT_BLOCK = 128
# Rows per warp by lanes: 16 rows of halves of any length are whole sectors of 32 bytes, and ask for at most four words
# per bank. Twice as many gain little, and lose more where rows are few.
SECTOR_ROWS = 16
THREAD_PACKS = 8  # that a thread keeps of all rows that it works on at once: 32 registers


def most_packs(columns: int, itemsize: int) -> int:
    """Most packs that a row reaches into: when it begins with the last element of a pack."""
    per_pack = PACK // itemsize
    before = per_pack - 1 if columns % per_pack else 0
    return -(-(before + columns) // per_pack)


def blocks_by_registers(registers: int, block: int) -> int:
    """Blocks per multiprocessor, of `block` threads with `registers` registers each, as if they were not divided among
    its partitions. The compiler may get fewer; softmax takes as long either way (results/h200/trials.yaml)."""
    threads = min(2048, REGISTERS // (-(-registers // 8) * 8))
    return max(1, min(32, threads // block))


def hinted(choice: Choice, nbytes: int, device: DeviceProperties) -> Choice:
    """The choice with the hint "evict first" where it helps, for an input of so many bytes.

    Threads that have whole rows get it at any size. Where the warps of one block share a row that begins anywhere, it
    cost up to 10 %, probably because the compiler then orders their loads otherwise.
    """
    in_warps = isinstance(choice, Held) and choice.masked and choice.warps > 1 and choice.blocks == 1
    return replace(choice, hint=int(isinstance(choice, Staged) or (evicts_first(nbytes, device) and not in_warps)))


def many_warps(packs: int, per_thread: int, masked: bool, pack_registers: int = 4) -> Held:
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
    return Held(WARP, warps, 1, in_registers, shared, 1, masked, WARP * warps, resident)


def staged(columns: int, itemsize: int) -> Staged:
    """Rows per thread that are an odd number of packs, or of half packs where too long, to avoid bank conflicts."""
    per_pack = PACK // itemsize
    group = per_pack // gcd(columns, per_pack)
    while group > 1 and group * columns * itemsize > STAGED_BYTES and group * columns * itemsize % 8 == 0:
        group //= 2
    registers = 16 + group * columns * itemsize // 4 + (columns // 2 if itemsize < 4 else 0)
    return Staged(columns, group, SHORT_BLOCK, blocks_by_registers(registers, SHORT_BLOCK))


def in_staged_lanes(columns: int, lanes: int, rows: int = 1, block: int = WARP) -> StagedLanes:
    """Rows of `columns` halves by `lanes` lanes each."""
    loads = -(-(columns // 2 + 1) // lanes)  # a row may begin and end within 4 bytes
    group = max(1, SECTOR_ROWS * lanes // WARP)
    return StagedLanes(lanes, loads, group, rows, block, blocks_by_registers(24 + 2 * rows * loads, block))
