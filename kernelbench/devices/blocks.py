"""Which blocks of a large grid the simulator runs: the first, the last, and groups of neighbours spread between.

Groups lie at the same shares of every launch of a plan, so that a later launch finds what its blocks read: it runs
only blocks whose share of its grid lies inside what the launch before it covered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod

import numpy as np
import numpy.typing as npt

from kernelbench.core.errors import DeviceError

GROUPS = 8
UNEVEN = 4.0  # times what a block of the middle group costs, beyond which one group does the work of others
UNEVEN_WORK = 32  # times the work of a sample, up to which such a grid is run whole
UNEVEN_SHARE = 1 / 64  # of the grid: where a sample may be no more than that, the arrays are too large to be run whole
MOST_BLOCKS = 2**25  # numbered at once, 256 MB; a grid may have 2^63
Blocks = npt.NDArray[np.int64]  # linear block numbers, x fastest
Spans = tuple[tuple[Fraction, Fraction], ...]  # of each group: from, to, as shares of the grid
# run(blocks) -> warp instructions that these blocks took
Run = Callable[[Blocks], int]


@dataclass(frozen=True)
class Grid:
    """A grid as a row of slices along its longest dimension; a slice is run as a whole."""

    extents: tuple[int, int, int]

    @property
    def axis(self) -> int:
        return int(np.argmax(self.extents))

    @property
    def slices(self) -> int:
        return self.extents[self.axis]

    @property
    def slice_blocks(self) -> int:
        return prod(self.extents) // self.slices

    def blocks(self, slices: Sequence[tuple[int, int]]) -> Blocks:
        """The blocks of ranges of slices, in the grid's order, each once. DeviceError for too many of them."""
        require_room(self.slice_blocks * sum(stop - start for start, stop in slices))
        chosen = np.unique(np.concatenate([np.arange(start, stop, dtype=np.int64) for start, stop in slices]))
        if self.slice_blocks == 1:
            return chosen
        x, y, z = (chosen if axis == self.axis else np.arange(n) for axis, n in enumerate(self.extents))
        linear = x[None, None, :] + self.extents[0] * (y[None, :, None] + self.extents[1] * z[:, None, None])
        return linear.reshape(-1)


def require_room(blocks: int) -> None:
    """DeviceError for more blocks than the simulator can number at once."""
    if blocks > MOST_BLOCKS:
        raise DeviceError(
            f"{blocks} blocks would have to be run, the simulator runs {MOST_BLOCKS} at most; choose smaller cases "
            "with --filter, or let it sample the blocks, without --full and --strict"
        )


def sample(
    extents: tuple[int, int, int], work: int, share: float, within: Spans | None, run: Run, least: int
) -> Spans | None:
    """Run a grid, or as much of it as `work` warp instructions allow, but no more than a `share` of it; what was
    covered, None for all of it.

    First `least` slices of each group, which tell what a block costs. Where one group costs far more than most, since
    few blocks do the work of all, a sample stands for nothing, and the grid is run whole if it can be. `within`: what
    the launches before covered, None for all. The same choice each time, for instructions are counted, not timed.
    """
    grid = Grid(extents)
    ranges = groups(grid.slices, least, within)
    first = grid.blocks(ranges)
    prices = _prices(grid, ranges, run)
    spent = sum(price for price, _ in prices)
    slices_run = first.size / grid.slice_blocks
    if within is None and share >= UNEVEN_SHARE and _uneven(prices):
        whole = _all_but(first, prod(extents), UNEVEN_WORK * work - spent, run)
        return None if whole else _spans(ranges, grid)
    if within is None and share >= 1 and spent * grid.slices <= work * slices_run:
        rest = np.setdiff1d(grid.blocks([(0, grid.slices)]), first, assume_unique=True)
        if rest.size:
            run(rest)
        return None
    affordable = int(min(work * slices_run / max(spent, 1), share * grid.slices)) // (GROUPS - 1)
    if affordable > least:
        ranges = groups(grid.slices, affordable, within)
        rest = np.setdiff1d(grid.blocks(ranges), first, assume_unique=True)
        if rest.size:
            run(rest)
    return _spans(ranges, grid)


def _prices(grid: Grid, ranges: Sequence[tuple[int, int]], run: Run) -> list[tuple[int, int]]:
    """Run each range by itself: warp instructions, and blocks. What ranges share is run once."""
    done, found = np.zeros(0, np.int64), []
    for one in ranges:
        fresh = np.setdiff1d(grid.blocks([one]), done, assume_unique=True)
        if fresh.size:
            found.append((run(fresh), fresh.size))
            done = np.concatenate([done, fresh])
    return found


def _all_but(done: Blocks, blocks: int, work: int, run: Run) -> bool:
    """Run the other blocks of a grid, a share of them at a time while there is work left; True where all were run."""
    if blocks > MOST_BLOCKS:
        return False
    rest = np.setdiff1d(np.arange(blocks), done, assume_unique=True)
    for part in np.array_split(rest, min(rest.size, 4 * GROUPS)):
        if work <= 0:
            return False
        work -= run(part)
    return True


def _uneven(prices: Sequence[tuple[int, int]]) -> bool:
    each = [price / blocks for price, blocks in prices]
    return max(each) > UNEVEN * max(float(np.median(each)), 1.0)


def prefix(extents: tuple[int, int, int], work: int, run: Run, group: int = 1) -> bool:
    """Run a grid whose blocks wait for earlier ones from its first block on, `group` blocks at least at a time; True
    where that was all of it."""
    blocks, done = prod(extents), 0
    spent, step = 0, GROUPS
    while done < blocks and (done == 0 or spent < work):
        step = min(blocks - done, -(-max(GROUPS, step) // group) * group)
        spent += run(np.arange(done, done + step, dtype=np.int64))
        done += step
        step = int((work - spent) * done / max(spent, 1))
    return done == blocks


def groups(slices: int, length: int, within: Spans | None) -> list[tuple[int, int]]:
    """Ranges of at most `length` slices each: at the start, at the end, and evenly between. Those at the ends have
    half the length, since each stands for half as much of the grid as one that has neighbours on both sides."""
    found = []
    for number in range(GROUPS):
        place = Fraction(number, GROUPS - 1)
        low, high = (0, slices) if within is None else _inside(within[number], slices)
        size = min(length if 0 < place < 1 else -(-length // 2), high - low)
        start = low + floor(place * (high - low - size))
        found.append((start, start + size))
    return found


def _spans(ranges: Sequence[tuple[int, int]], grid: Grid) -> Spans:
    return tuple(_covered(start, stop, grid.slices) for start, stop in ranges)


def _inside(span: tuple[Fraction, Fraction], slices: int) -> tuple[int, int]:
    """The slices that lie inside a share of the grid; the nearest one where none does."""
    low, high = ceil(span[0] * slices), floor(span[1] * slices)
    if low < high:
        return low, high
    nearest = min(floor(span[0] * slices), slices - 1)
    return nearest, nearest + 1


def _covered(start: int, stop: int, slices: int) -> tuple[Fraction, Fraction]:
    """The share that later launches may rely on: without the outermost slices, since grids of different launches
    need not be cut at the same places."""
    inner = stop - start >= 3
    low = start + 1 if inner and start > 0 else start
    high = stop - 1 if inner and stop < slices else stop
    return Fraction(low, slices), Fraction(high, slices)
