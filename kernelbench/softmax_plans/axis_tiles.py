"""What a block of common/one_read_axis.cuh holds of a view [outer, dim, inner]: packs, threads, shared memory.

A pack is 16 bytes; a word of 4 where rows begin anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from kernelbench.core import dtypes
from kernelbench.core.gpu import max_cluster
from kernelbench.core.records import Case, DeviceProperties

LAYOUTS = ("whole", "ragged", "shifted")  # as axis_tiles.cuh numbers them
WARP = 32
PACK, WORD = 16, 4  # bytes
BUSY = 0.9  # share of a tile's places for packs that is enough to look no further
PACKS = (8, 4, 6, 7, 5, 3, 2, 1)  # of a thread, the best first
# Threads of a block, and blocks of a multiprocessor, that leave registers: 64, 80 where rows are no whole packs, 96.
BOUND, CUT_BOUND, LARGE_BOUND = (1024, 1), (768, 1), (320, 2)
# Bytes of a slab that threads side by side are to move at once, by a pack's elements: a line; of half types, whose
# lanes' exchanges cost more than loads, a sector (262144 slabs of 16 by 4: 0.89 of a copy, 0.63 by lines).
LINE = {4: 128, 8: 32}
CHUNK = 4  # pairs that a lane joins at once
OWNED_PACKS = 8  # of a column that is one thread's, at most
WORDS, WORD_THREADS = 32, 544  # of a thread, and of a block, at most, where rows begin anywhere
LEAST_THREADS = 64  # of such a block, where there are rows for them
WORD_REGISTERS = 40  # of a thread, beside its words
REGISTERS = 65536  # of a multiprocessor
WIDENED_BYTES = 16 * 1024  # of a strip of few rows, which is wider in their place
CLUSTERS = (1, 2, 4, 8, 16)  # blocks of a cluster
OWNED_PACKED = 6  # packs of a row from which threads are better given columns of their own, where dim is short


@dataclass(frozen=True)
class View:
    """The array as [outer, dim, inner]. `fold`: columns, where inner is a pack of several short rows; else 0."""

    outer: int
    dim: int
    inner: int
    fold: int = 0


def pack_columns(dtype: str) -> int:
    """Elements of a pack of 16 bytes."""
    return 16 // dtypes.itemsize(dtype)


def view_of(case: Case) -> View:
    outer, dim, inner = case.outer_dim_inner
    per_pack = pack_columns(case.dtype)
    if inner < per_pack and per_pack % inner == 0 and dim * inner % per_pack == 0:
        return View(outer, dim * inner // per_pack, per_pack, inner)
    return View(outer, dim, inner)


@dataclass(frozen=True)
class Cut:
    """A way to lay tiles over a view, before rows and threads are chosen."""

    layout: str
    segment: int  # packs side by side
    width: int  # columns
    per_pack: int  # elements


@dataclass(frozen=True)
class Tile(Cut):
    """What a block holds of a cut, and whom it shares columns with."""

    rows: int  # of a part
    packs: int  # of a thread
    at_once: int  # rows of packs of which a thread has every so many
    bound: tuple[int, int]  # threads of a block, and blocks of a multiprocessor, that the compiler allows for
    fold: int = 0
    parts: int = 1  # of dim
    exchange: str = "block"  # "cluster", "gang" or "tickets", where parts are several
    slabs: int = 1  # of a block
    slots: int = 0  # further packs of a thread, in shared memory

    @property
    def pack_bytes(self) -> int:
        return WORD if self.layout == "shifted" else PACK

    @property
    def itemsize(self) -> int:
        return self.pack_bytes // self.per_pack

    @property
    def number(self) -> int:
        return LAYOUTS.index(self.layout)

    @property
    def threads(self) -> int:
        """Of a slab."""
        return self.segment * self.at_once

    @property
    def group(self) -> int:
        """Threads that find their columns' sums without shared memory: lanes of a warp, or each its own; else 0."""
        if self.parts > 1 or self.layout != "whole" or self.slots:
            return 0
        if self.at_once == 1:
            return 1
        return self.threads if self.threads <= WARP and is_power(self.threads) and is_power(self.segment) else 0

    @property
    def lanes(self) -> int:
        """Distance of a warp's lanes that have the same columns; 0 where there are none."""
        if self.at_once == 1 or (self.group == 0 and self.threads % WARP):
            return 1 if self.group == 1 else 0
        return self.segment if self.layout == "whole" and is_power(self.segment) and self.segment < WARP else 0

    @property
    def sheet_rows(self) -> int:
        """Rows that a block's threads write what they know of their columns in: one a warp where lanes were joined."""
        return self.threads // WARP if self.lanes else self.at_once

    @property
    def ways(self) -> int:
        """Lanes that join a column's rows, each a chunk of them at least."""
        copies = self.segment * self.per_pack // self.width if self.layout == "ragged" else 1
        ways = WARP
        while ways > 1 and (
            ways * self.width > self.threads
            or ways * CHUNK > self.sheet_rows * copies
            or (self.slabs > 1 and self.threads % ways)
        ):
            ways //= 2
        return ways

    @property
    def shared_bytes(self) -> int:
        """As Sheets of common/axis_join.cuh are laid out, behind slots."""
        if self.group:
            return 0
        rows = self.sheet_rows
        labels, padded = self.segment * self.per_pack, -(-self.width // 4) * 4
        wide = max(self.threads, padded)
        pairs = {"tickets": wide, "gang": wide, "cluster": self.parts * padded}.get(self.exchange, 0)
        floats = -(-rows * labels // 4) * 4 + 2 * padded + 2 * pairs
        slots = -(-self.threads * self.slots * self.pack_bytes // PACK)
        maxima = -(-rows * self.segment * self.pack_bytes // PACK)
        return PACK * (1 + slots + self.slabs * (maxima + -(-floats // 4)))

    @property
    def held_bytes(self) -> int:
        return self.pack_bytes * self.threads * (self.packs + self.slots)

    def strips(self, view: View) -> int:
        return -(-view.inner // self.width)

    def is_exact(self, view: View) -> bool:
        """Whether whole tiles have neither more packs than rows nor fewer rows at the end of dim."""
        filled = self.rows == self.at_once * (self.packs + self.slots)
        return self.layout == "whole" and filled and view.dim == self.rows * self.parts


def is_power(number: int) -> bool:
    return number & (number - 1) == 0


def tile_of(view: View, cut: Cut, rows: int, only: int | None = None) -> Tile | None:
    """The tile of so many rows: packs and threads that leave few places empty; None if no block holds it.

    `only`: packs of a thread, instead of those that fit best.
    """
    if cut.layout == "shifted":
        return word_tile(cut, rows, only)
    best, most = None, 0.0
    bound = LARGE_BOUND if only is not None and only > max(PACKS) else BOUND if cut.layout == "whole" else CUT_BOUND
    high, rows = packs_below(view, cut, rows)
    for packs in PACKS if only is None else (only,):
        filled = max(1, min(high, high * cut.segment * PACK // LINE[cut.per_pack]))
        if packs > filled and only is None and not owned(cut, high):
            continue
        at_once = -(-high // packs)
        if cut.layout == "whole" and is_power(cut.segment) and cut.segment < WARP and at_once > 1:
            at_once = aligned(at_once, cut.segment)
        if only is None and owned(cut, high) and (packs, at_once) != (high, 1):
            continue
        if cut.segment * at_once > bound[0]:
            continue
        busy = high / (at_once * packs)
        if busy > most + 0.02:
            tile = Tile(cut.layout, cut.segment, cut.width, cut.per_pack, rows, packs, at_once, bound, view.fold)
            best, most = tile, busy
        if busy >= BUSY:
            break
    return best


def word_tile(cut: Cut, rows: int, only: int | None) -> Tile | None:
    """The tile of so many rows that begin anywhere, by few threads of many words; None if no block holds it.

    `only`: words of a thread, at most; else some are fewer, for a block to have threads enough.
    """
    at_once = -(-rows // (only or WORDS))
    if only is None:
        at_once = max(at_once, min(rows, LEAST_THREADS // cut.segment))
    at_once = -(-at_once // cut.per_pack) * cut.per_pack
    threads = -(-cut.segment * at_once // WARP) * WARP
    if threads > WORD_THREADS:
        return None
    packs = -(-rows // at_once)
    bound = (threads, REGISTERS // (threads * (WORD_REGISTERS + packs)))
    return Tile(cut.layout, cut.segment, cut.width, cut.per_pack, rows, packs, at_once, bound)


def deep_tile(view: View, cut: Cut, rows: int, threads: int, kept: int, most: int = 16) -> Tile | None:
    """The tile of so many rows by few threads of many packs: half, at most `kept`, in registers, others in slots.

    `threads`: at most. `most`: packs of a thread. None if no block holds it.
    """
    high, rows = packs_below(view, cut, rows)
    at_once = -(-high // most)
    step = WARP // gcd(cut.segment, WARP)
    if cut.segment > WARP:
        at_once = max(at_once, threads // cut.segment)
    elif high > step and -(-at_once // step) * step * cut.segment <= threads:
        at_once = -(-at_once // step) * step  # whole warps
    if cut.layout == "shifted":
        at_once = -(-at_once // cut.per_pack) * cut.per_pack
    if cut.segment * at_once > threads:
        return None
    packs = -(-high // at_once)
    registers = packs if packs <= kept else min(-(-packs // 2), kept)
    bound = (-(-cut.segment * at_once // WARP) * WARP, 1)
    tile = Tile(cut.layout, cut.segment, cut.width, cut.per_pack, rows, registers, at_once, bound, view.fold)
    return replace(tile, slots=packs - registers)


def packs_below(view: View, cut: Cut, rows: int) -> tuple[int, int]:
    """Rows of packs that hold so many rows, and rows, which are some more where tiles are whole packs so."""
    if cut.layout != "ragged":
        return rows, rows
    beyond = cut.per_pack - 1  # elements of the first and last pack beyond the tile
    if view.dim * cut.width % cut.per_pack == 0:
        step = cut.per_pack // gcd(cut.width, cut.per_pack)
        rows, beyond = -(-rows // step) * step, 0
    return -(-(rows * cut.width + beyond) // (cut.segment * cut.per_pack)), rows


def owned(cut: Cut, high: int) -> bool:
    """Whether threads are better given columns of their own."""
    return cut.layout == "whole" and high <= OWNED_PACKS and cut.segment >= OWNED_PACKED


def aligned(at_once: int, segment: int) -> int:
    """So many rows or some more, so that lanes a row apart have the same columns."""
    threads = at_once * segment
    if threads >= WARP:
        return -(-threads // WARP) * WARP // segment
    power = 1 << (threads - 1).bit_length()
    return max(1, power // segment)


def clusters(device: DeviceProperties) -> tuple[int, ...]:
    """Blocks; the fewest first."""
    return tuple(blocks for blocks in CLUSTERS if blocks <= max_cluster(device))


def cluster_of(parts: int, tile: Tile) -> Tile:
    return replace(tile, parts=parts, exchange="cluster" if parts > 1 else "block")


def resident(tile: Tile, device: DeviceProperties) -> int:
    """Blocks that a GPU holds at once, by the registers that the compiler allows for."""
    threads = -(-tile.threads * tile.slabs // WARP) * WARP
    bound, blocks = tile.bound
    warps = -(-max(bound, WARP) * blocks // (4 * WARP)) * 4  # as many on each of the four schedulers
    registers = min(255, device.registers_per_multiprocessor // (warps * WARP) // 8 * 8)
    return device.multiprocessors * device.resident_blocks(threads, registers, tile.shared_bytes)


def evenly(count: int, most: int) -> int:
    """A share of at most `most`, of as few and equal shares as there are."""
    return -(-count // -(-count // most))
