"""Cuts of a view [outer, dim, inner] into tiles: whole rows of packs, strips of them, and what rows that are not whole
packs are cut into."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from .axis_tiles import MOST_LOADS, Cut, View, evenly, narrow_pack
from .hardware import LINE, LOAD, PACK, WARP

UNEVEN_BYTES = 1024  # longest rows that may be left whole
WIDEST = 256  # packs, or 4-byte loads, of a tile's row, at most
LEAST_STRIP_BYTES, MOST_STRIP_BYTES = 4096, 64 * 1024  # of all of dim
SMALL_VIEW = 2**24  # bytes of a view up to which packs of fewer than 16 bytes are tried for any rows: more threads


def is_small(view: View, itemsize: int) -> bool:
    return view.outer * view.dim * view.inner * itemsize <= SMALL_VIEW


def usual_cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """Cuts into packs, the best for memory first; none for long rows that are not whole packs."""
    per_pack, row = PACK // itemsize, view.inner * itemsize
    if view.outer * view.dim == 1:  # the last pack may be a part
        segment = evenly(-(-view.inner // per_pack), WIDEST)
        yield Cut("whole", segment, segment * per_pack, per_pack)
        return
    if row % PACK == 0:
        if row % LINE and row <= UNEVEN_BYTES:
            yield Cut("whole", view.inner // per_pack, view.inner, per_pack)
        yield whole_strips(view, itemsize, LINE)
        return
    unit = view.inner // gcd(view.inner, per_pack)
    if unit <= WIDEST:
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
        yield whole_strips(view, itemsize, packs * PACK)


def long_cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """Those for blocks that exchange through memory: the usual cuts, then strips of two lines. Rows that are not
    whole packs are cut into strips of two and of four lines, and left whole from half of such a strip on."""
    row = view.inner * itemsize
    yield from usual_cuts(view, itemsize)
    for strip in (2 * LINE, 4 * LINE):
        if row % PACK and row > strip // 2:
            yield unaligned_strips(view, itemsize, strip)
    if row % PACK == 0 and row > 2 * LINE:
        yield whole_strips(view, itemsize, 2 * LINE)


def _narrow_cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """Those into the largest packs below 16 bytes of which rows are made, unless these are whole packs.

    Small views need more threads, so they are cut into smaller packs too, unless they have many rows of whole packs.
    Large views of many rows are not cut into packs of 2 bytes.
    """
    largest = narrow_pack(view, itemsize) if view.inner * itemsize % PACK else PACK
    small, few = is_small(view, itemsize), view.dim <= MOST_LOADS
    any_pack = small and not view.fold and (few or largest < PACK)
    for nbytes in (8, 4, 2):
        if nbytes > largest or nbytes < itemsize or not (any_pack or nbytes == largest):
            continue
        for packs in (64, 128, 256) if nbytes > 2 or small or few else ():
            if any_pack or packs == WIDEST or view.dim * packs * nbytes >= LEAST_STRIP_BYTES:
                yield narrow_strips(view, itemsize, packs, nbytes)


def whole_strips(view: View, itemsize: int, strip: int) -> Cut:
    """Strips of rows of whole packs, at most `strip` bytes wide.

    Up to the packs of a warp they are whole lines of the caches, so that a warp has whole rows of a strip. Wider ones
    have equal widths.
    """
    per_pack, packs = PACK // itemsize, view.inner * itemsize // PACK
    segment = min(strip // PACK, packs) if strip <= WARP * PACK else evenly(packs, strip // PACK)
    return Cut("whole", segment, segment * per_pack, per_pack)


def narrow_strips(view: View, itemsize: int, packs: int, nbytes: int) -> Cut:
    """Strips of at most `packs` packs of `nbytes` bytes side by side, of which rows are made."""
    segment = evenly(view.inner * itemsize // nbytes, packs)
    return Cut(f"whole-{nbytes}", segment, segment * nbytes // itemsize, nbytes // itemsize)


def unaligned_strips(view: View, itemsize: int, strip: int) -> Cut:
    """Strips of rows that begin anywhere, `strip` bytes wide."""
    per_load, width = LOAD // itemsize, evenly(view.inner, strip // itemsize)
    return Cut("shifted", -(-(width + per_load - 1) // per_load), width, per_load)


def _widths(dim: int, row: int, pack_bytes: int, packs: tuple[int, ...]) -> Iterator[int]:
    """The numbers of packs side by side, among these, that cut a row of so many bytes into strips of a good size."""
    for each in packs:
        is_large = dim * each * pack_bytes > MOST_STRIP_BYTES and each * pack_bytes > 4 * LINE
        if each * pack_bytes < 2 * row and dim * each * pack_bytes >= LEAST_STRIP_BYTES and not is_large:
            yield each
