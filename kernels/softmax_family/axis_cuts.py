"""Cuts of a view [outer, dim, inner] into tiles: whole rows of packs, strips of them, and what rows that are not whole
packs are cut into."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from .axis_tiles import LOAD, PACK, WIDENED_BYTES, Cut, View, evenly, narrow_pack

STRIP_BYTES = 128  # per row of a strip: a line of the caches
DOUBLED_DIM = range(129, 513)  # dim for which strips are two lines wide: clusters of two to four then hold it
# Most bytes of rows that are not cut into strips: of any rows, and of rows that are not whole lines.
CONTIGUOUS_BYTES, UNEVEN_BYTES = 256, 1024
NARROW_BYTES = 256  # per row of a strip of long dim whose rows begin anywhere
MAX_UNIT = 512  # packs of a contiguous tile's row, at most
WIDEST = 256  # packs, or 4-byte loads, of a strip's row, at most
OWNED_ROWS = 32  # most rows of a thread that has columns of its own, where rows are no multiple of 16 bytes
LEAST_STRIP_BYTES, MOST_STRIP_BYTES = 4096, 64 * 1024  # of all of dim
SMALL_VIEW = 2**24  # bytes of a view up to which packs of fewer than 16 bytes are tried for any rows: more threads
WIDE_BYTES = 512  # per row of a strip, up to which strips of long dim are tried


def usual_cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """Cuts into packs, the best for memory first; none for long rows that are not whole packs."""
    per_pack, row = PACK // itemsize, view.inner * itemsize
    if view.outer * view.dim == 1:  # the last pack may be a part
        segment = evenly(-(-view.inner // per_pack), WIDEST)
        yield Cut("whole", segment, segment * per_pack, per_pack)
        return
    if row % PACK == 0:
        if row <= CONTIGUOUS_BYTES or (row % STRIP_BYTES and row <= UNEVEN_BYTES):
            yield Cut("whole", view.inner // per_pack, view.inner, per_pack)
        if row < CONTIGUOUS_BYTES:
            return
        packs = STRIP_BYTES // PACK * (2 if view.dim in DOUBLED_DIM else 1)
        while view.dim * packs * PACK < WIDENED_BYTES and 2 * packs * per_pack <= view.inner and packs < WIDEST:
            packs *= 2
        segment = evenly(view.inner // per_pack, packs)
        yield Cut("whole", segment, segment * per_pack, per_pack)
        return
    unit = view.inner // gcd(view.inner, per_pack)
    if unit <= MAX_UNIT:
        yield Cut("ragged", unit, view.inner, per_pack)


def all_cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """The usual ones, whole rows, and strips from a line of the caches to what a small block holds."""
    per_pack, row = PACK // itemsize, view.inner * itemsize
    yield from usual_cuts(view, itemsize)
    if view.outer * view.dim == 1:
        return
    yield from _narrow_cuts(view, itemsize)
    if row % PACK:
        for loads in _widths(view.dim, row, LOAD, (16, 32, 64, 128, 256)):
            width = evenly(view.inner, loads * LOAD // itemsize)
            yield Cut("shifted", -(-(width + LOAD // itemsize - 1) * itemsize // LOAD), width, LOAD // itemsize)
        return
    if row <= UNEVEN_BYTES:
        yield Cut("whole", view.inner // per_pack, view.inner, per_pack)
    for packs in _widths(view.dim, row, PACK, (8, 16, 32, 64, 128, 256)):
        segment = evenly(view.inner // per_pack, packs)
        yield Cut("whole", segment, segment * per_pack, per_pack)


def long_cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """Those for blocks that exchange through memory: the usual cuts, then strips of two lines; narrow strips, twice as
    many bytes where blocks hold them, of rows that are not whole packs."""
    row = view.inner * itemsize
    yield from usual_cuts(view, itemsize)
    for strip in (NARROW_BYTES, 2 * NARROW_BYTES):
        if row % PACK and row > strip:
            yield unaligned_strips(view, itemsize, strip)
    if row % PACK == 0 and row > 2 * STRIP_BYTES:
        segment = evenly(row // PACK, 2 * STRIP_BYTES // PACK)
        yield Cut("whole", segment, segment * PACK // itemsize, PACK // itemsize)


def _narrow_cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """Those into the largest packs below 16 bytes of which rows are made, unless these are whole packs; for small views
    of few rows, which need more threads, into smaller packs too."""
    largest = narrow_pack(view, itemsize) if view.inner * itemsize % PACK else PACK
    small = view.outer * view.dim * view.inner * itemsize <= SMALL_VIEW and view.dim <= OWNED_ROWS and not view.fold
    for nbytes in (8, 4, 2):
        if nbytes > largest or nbytes < itemsize or not (small or nbytes == largest):
            continue
        for packs in (64, 128, 256) if nbytes > 2 or view.dim <= OWNED_ROWS else ():
            if small or packs == WIDEST or view.dim * packs * nbytes >= LEAST_STRIP_BYTES:
                yield narrow_strips(view, itemsize, packs, nbytes)


def narrow_strips(view: View, itemsize: int, packs: int, nbytes: int) -> Cut:
    """Strips of at most `packs` packs of `nbytes` bytes side by side, of which rows are made."""
    segment = evenly(view.inner * itemsize // nbytes, packs)
    return Cut(f"whole-{nbytes}", segment, segment * nbytes // itemsize, nbytes // itemsize)


def unaligned_strips(view: View, itemsize: int, strip: int) -> Cut:
    """Strips of rows that begin anywhere, `strip` bytes wide, or wider where there are few rows."""
    per_load, most = LOAD // itemsize, strip // itemsize
    while view.dim * most * itemsize < WIDENED_BYTES and 2 * most <= view.inner and most < WIDEST * per_load:
        most *= 2
    width = evenly(view.inner, most)
    return Cut("shifted", -(-(width + per_load - 1) // per_load), width, per_load)


def _widths(dim: int, row: int, pack_bytes: int, packs: tuple[int, ...]) -> Iterator[int]:
    """The numbers of packs side by side, among these, that cut a row of so many bytes into strips of a good size."""
    for each in packs:
        is_large = dim * each * pack_bytes > MOST_STRIP_BYTES and each * pack_bytes > WIDE_BYTES
        if each * pack_bytes < 2 * row and dim * each * pack_bytes >= LEAST_STRIP_BYTES and not is_large:
            yield each
