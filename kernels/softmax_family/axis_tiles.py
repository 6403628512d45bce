"""Tiles, which blocks of one_read_axis.cuh hold of a view [outer, dim, inner]: packs, threads, shared memory.

A pack is what a thread loads at once: 16 bytes, or fewer where rows are no multiple of 16 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

from kernelbench import Case, DeviceProperties, dtypes
from .hardware import LOAD, PACK, REGISTERS, WARP

# Bytes of a pack, by layout. Rows are whole packs in all but two layouts, see axis_tiles.cuh.
PACK_BYTES = {"whole": 16, "ragged": 16, "shifted": 4, "whole-8": 8, "whole-4": 4, "whole-2": 2}
BUSY = 0.9  # share of a tile's places filled with packs from which no further tile is tried
PACKS = (8, 4, 6, 7, 5, 3, 2, 1)  # per thread, the best first
# (threads per block, blocks per multiprocessor) for 64 registers; for 80, where rows are not whole packs.
BOUND, CUT_BOUND = (1024, 1), (768, 1)
JOIN_CHUNK = 4  # (maximum, sum) pairs that a lane joins at once: a define of the kernels
# If rows are no multiple of 16 bytes. Most 4-byte loads per thread, and most rows of a thread that has columns of its
# own; most threads per block; fewest threads per block, if there are rows for them.
MOST_LOADS, UNALIGNED_THREADS, LEAST_THREADS = 32, 544, 64
UNALIGNED_REGISTERS = 40  # per thread of such a block, beside what it loads


@dataclass(frozen=True)
class View:
    """The array as [outer, dim, inner]. `fold`: columns of a row, where inner is one pack of several rows; else 0."""

    outer: int
    dim: int
    inner: int
    fold: int = 0


def pack_columns(dtype: str) -> int:
    """Elements of a pack of 16 bytes."""
    return PACK // dtypes.itemsize(dtype)


def view_of(case: Case) -> View:
    outer, dim, inner = case.outer_dim_inner
    if dim == 1:
        return View(1, 1, outer * inner)
    per_pack = pack_columns(case.dtype)
    if inner < per_pack and per_pack % inner == 0 and dim * inner % per_pack == 0:
        return View(outer, dim * inner // per_pack, per_pack, inner)
    return View(outer, dim, inner)


@dataclass(frozen=True)
class Cut:
    """The way in which tiles divide a view, before rows and threads are chosen."""

    layout: str
    segment: int  # packs side by side
    width: int  # columns
    per_pack: int  # elements

    @property
    def pack_bytes(self) -> int:
        return PACK_BYTES[self.layout]

    @property
    def is_whole(self) -> bool:
        """Whether rows are whole packs."""
        return self.layout.startswith("whole")

    @property
    def registers(self) -> int:  # of a pack
        return -(-self.pack_bytes // LOAD)


@dataclass(frozen=True)
class Tile(Cut):
    """The rows and threads of a block within a cut, and how it shares columns with other blocks."""

    rows: int  # of its part of dim
    packs: int  # per thread, in registers
    at_once: int  # rows of packs that the block's threads hold side by side
    bound: tuple[int, int]  # threads per block, blocks per multiprocessor that the compiler leaves registers for
    fold: int = 0
    parts: int = 1  # into which dim is cut, one per block
    exchange: str = "block"  # "cluster", "co-resident" or "tickets" where there are several parts
    slabs: int = 1  # per block
    shared_packs: int = 0  # further packs per thread, in shared memory
    more_strips: int = 0  # further strips of a slab per block, whose threads have columns of their own

    @property
    def itemsize(self) -> int:
        return self.pack_bytes // self.per_pack

    @property
    def threads(self) -> int:
        """Per slab."""
        return self.segment * self.at_once

    @cached_property
    def group(self) -> int:
        """Threads that sum up a column without shared memory: lanes of a warp, or 1; 0 where they need it."""
        if self.parts > 1 or not self.is_whole or self.shared_packs:
            return 0
        if self.at_once == 1:
            return 1
        return self.threads if self.threads <= WARP and is_power(self.threads) and is_power(self.segment) else 0

    @cached_property
    def lanes(self) -> int:
        """Distance between lanes of a warp that have the same columns; 0 where none have."""
        if self.at_once == 1 or (self.group == 0 and self.threads % WARP):
            return 1 if self.group == 1 else 0
        return self.segment if self.is_whole and is_power(self.segment) and self.segment < WARP else 0

    @cached_property
    def state_rows(self) -> int:
        """Rows of column state per block: one per warp where lanes were joined, else one per row of threads."""
        return self.threads // WARP if self.lanes else self.at_once

    @cached_property
    def ways(self) -> int:
        """Lanes that join a column's state, each at least JOIN_CHUNK rows of it."""
        copies = self.segment * self.per_pack // self.width if self.layout == "ragged" else 1
        ways = WARP
        while ways > 1 and (
            ways * self.width > self.threads
            or ways * JOIN_CHUNK > self.state_rows * copies
            or (self.slabs > 1 and self.threads % ways)
        ):
            ways //= 2
        return ways

    @property
    def held_strips(self) -> int:
        return 1 + self.more_strips

    @cached_property
    def shared_bytes(self) -> int:
        """Packs in shared memory, then column state as axis_columns.cuh lays it out."""
        if self.group:
            return 0
        rows = self.state_rows
        labels, padded = self.segment * self.per_pack, -(-self.width // 4) * 4
        wide = max(self.threads, padded)
        pairs = {"tickets": wide, "co-resident": wide, "cluster": self.parts * padded}.get(self.exchange, 0)
        floats = -(-rows * labels // 4) * 4 + 2 * padded + 2 * pairs
        kept = LOAD * self.registers
        packs = -(-self.threads * self.shared_packs * kept // PACK)
        maxima = -(-rows * self.segment * kept // PACK)
        return PACK * (1 + packs + self.slabs * (maxima + -(-floats // 4)))

    @property
    def held_bytes(self) -> int:
        return self.pack_bytes * self.threads * (self.packs * self.held_strips + self.shared_packs)

    def strips(self, view: View) -> int:
        return -(-view.inner // self.width)

    def is_exact(self, view: View) -> bool:
        """Whether every pack of every tile is whole: rows fill the packs, and tiles fill dim."""
        filled = self.rows == self.at_once * (self.packs + self.shared_packs)
        return self.is_whole and filled and view.dim == self.rows * self.parts


def is_power(number: int) -> bool:
    return number & (number - 1) == 0


def tile_of(view: View, cut: Cut, rows: int, only: int | None = None) -> Tile | None:
    """The tile of `rows` rows with few empty places; None if no block holds it.

    `only`: packs per thread, instead of those that fit best.
    """
    if cut.pack_bytes < PACK:
        return unaligned_tile(cut, rows, only)
    best, most = None, 0.0
    bound = BOUND if cut.layout == "whole" else CUT_BOUND
    high, rows = packs_below(view, cut, rows)
    for packs in PACKS if only is None else (only,):
        at_once = -(-high // packs)
        if cut.layout == "whole" and is_power(cut.segment) and cut.segment < WARP and at_once > 1:
            at_once = aligned(at_once, cut.segment)
        if cut.segment * at_once > bound[0]:
            continue
        busy = high / (at_once * packs)
        if busy > most + 0.02:
            tile = Tile(cut.layout, cut.segment, cut.width, cut.per_pack, rows, packs, at_once, bound, view.fold)
            best, most = tile, busy
        if busy >= BUSY:
            break
    return best


def unaligned_tile(cut: Cut, rows: int, only: int | None) -> Tile | None:
    """The tile of `rows` rows that are no multiple of 16 bytes, by few threads of many loads; None if none holds it.

    `only`: loads per thread, at most. Without it some threads have fewer, so that a block has enough threads.
    """
    at_once = -(-rows // (only or MOST_LOADS // cut.registers))
    if only is None:
        at_once = max(at_once, min(rows, LEAST_THREADS // cut.segment))
    if cut.layout == "shifted":
        at_once = -(-at_once // cut.per_pack) * cut.per_pack
    elif is_power(cut.segment) and cut.segment < WARP and at_once > 1:
        at_once = aligned(at_once, cut.segment)
    if cut.segment * at_once > UNALIGNED_THREADS:
        return None
    tile = Tile(cut.layout, cut.segment, cut.width, cut.per_pack, rows, -(-rows // at_once), at_once, (0, 0))
    return replace(tile, bound=unaligned_bound(tile))


def unaligned_bound(tile: Tile) -> tuple[int, int]:
    """(Threads per block, blocks per multiprocessor), by the registers of many loads."""
    threads = -(-tile.threads * tile.slabs // WARP) * WARP
    held = tile.packs * tile.registers * tile.held_strips
    return threads, max(1, REGISTERS // (threads * (UNALIGNED_REGISTERS + held)))


def deep_tile(view: View, cut: Cut, rows: int, threads: int, kept: int, most: int = 16) -> Tile | None:
    """The tile of `rows` rows by at most `threads` threads of at most `most` packs; None if no block holds it.

    Half of a thread's packs, at most `kept`, are in registers, the others in shared memory.
    """
    high, rows = packs_below(view, cut, rows)
    at_once = -(-high // most)
    step = WARP // gcd(cut.segment, WARP)
    if cut.segment > WARP:
        at_once = max(at_once, threads // cut.segment)
    elif high > step and -(-at_once // step) * step * cut.segment <= threads:
        at_once = -(-at_once // step) * step  # whole warps
    if cut.layout == "shifted":
        above = -(-at_once // cut.per_pack) * cut.per_pack
        at_once = above if cut.segment * above <= threads else at_once // cut.per_pack * cut.per_pack
    if cut.segment * at_once > threads or at_once * most < high:
        return None
    packs = -(-high // at_once)
    registers = packs if packs <= kept else min(-(-packs // 2), kept)
    bound = (-(-cut.segment * at_once // WARP) * WARP, 1)
    tile = Tile(cut.layout, cut.segment, cut.width, cut.per_pack, rows, registers, at_once, bound, view.fold)
    return replace(tile, shared_packs=packs - registers)


def packs_below(view: View, cut: Cut, rows: int) -> tuple[int, int]:
    """(Rows of packs that hold `rows` rows, and `rows`, raised where that makes tiles of whole packs)."""
    if cut.layout != "ragged":
        return rows, rows
    beyond = cut.per_pack - 1  # elements of the first and last pack beyond the tile
    if view.dim * cut.width % cut.per_pack == 0:
        step = cut.per_pack // gcd(cut.width, cut.per_pack)
        rows, beyond = -(-rows // step) * step, 0
    return -(-(rows * cut.width + beyond) // (cut.segment * cut.per_pack)), rows


def narrow_pack(view: View, itemsize: int) -> int:
    """Bytes of the largest pack below 16 of which rows are made."""
    return next(nbytes for nbytes in (8, 4, 2) if view.inner * itemsize % nbytes == 0)


def aligned(at_once: int, segment: int) -> int:
    """`at_once`, raised so that lanes one row apart have the same columns."""
    threads = at_once * segment
    if threads >= WARP:
        return -(-threads // WARP) * WARP // segment
    power = 1 << (threads - 1).bit_length()
    return max(1, power // segment)


def clusters(device: DeviceProperties) -> tuple[int, ...]:
    """Blocks per cluster that the device allows, the fewest first."""
    return tuple(1 << power for power in range(device.max_cluster.bit_length()))


def cluster_of(parts: int, tile: Tile) -> Tile:
    return replace(tile, parts=parts, exchange="cluster") if parts > 1 else tile


def evenly(count: int, most: int) -> int:
    """The size of the fewest equal shares of `count` that are at most `most` each."""
    return -(-count // -(-count // most))
