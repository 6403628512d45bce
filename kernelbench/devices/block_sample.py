"""The sample of blocks that the simulator runs of a large grid: the first, the last, and groups of neighbours between.

Groups lie at the same fractions of the grid in every launch of a plan. A later launch runs only blocks within the part
that the launch before covered, so it finds what its blocks read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod

import numpy as np
import numpy.typing as npt

from kernelbench.core.errors import DeviceError

GROUPS = 8
UNEVEN = 4.0  # a grid is uneven if a block of one group costs this many times the median
UNEVEN_WORK = 32  # an uneven grid is run whole up to this many times the work of a sample
UNEVEN_SHARE = 1 / 64  # if a sample may cover less of the grid than this, the arrays are too large to run it whole
MOST_BLOCKS = 2**25  # numbered at once, in 256 MB; a grid may have 2^63
Blocks = npt.NDArray[np.int64]  # linear block numbers, x fastest
Spans = tuple[tuple[Fraction, Fraction], ...]  # (from, to) of each group, as fractions of the grid
Run = Callable[[Blocks], int]  # runs these blocks; the warp instructions that they took
RunEach = Callable[[Sequence[Blocks]], Sequence[int]]  # the same for each of several parts, side by side


@dataclass(frozen=True)
class Grid:
    """A grid as a row of slices along its longest dimension; a slice is always run whole, and has whole clusters."""

    extents: tuple[int, int, int]
    cluster: tuple[int, int, int] = (1, 1, 1)

    @property
    def axis(self) -> int:
        return int(np.argmax(self.extents))

    @property
    def slices(self) -> int:
        return self.extents[self.axis] // self.cluster[self.axis]

    @property
    def slice_blocks(self) -> int:
        return prod(self.extents) // self.slices

    def blocks(self, ranges: Sequence[tuple[int, int]]) -> Blocks:
        """The blocks of these ranges of slices, in the grid's order, each once. DeviceError for too many."""
        require_room(self.slice_blocks * sum(stop - start for start, stop in ranges))
        return self.blocks_of(np.unique(np.concatenate([np.arange(*one, dtype=np.int64) for one in ranges])))

    def blocks_of(self, slices: npt.NDArray[np.int64]) -> Blocks:
        """The same of these slices, which are sorted."""
        deep = self.cluster[self.axis]
        chosen = (slices[:, None] * deep + np.arange(deep)).reshape(-1)
        if self.slice_blocks == deep:
            return chosen
        x, y, z = (chosen if axis == self.axis else np.arange(n) for axis, n in enumerate(self.extents))
        linear = x[None, None, :] + self.extents[0] * (y[None, :, None] + self.extents[1] * z[:, None, None])
        return linear.reshape(-1)


def require_room(blocks: int) -> None:
    """DeviceError for more blocks than the simulator can number at once."""
    if blocks > MOST_BLOCKS:
        raise DeviceError(
            f"{blocks} blocks would have to be run, but the simulator runs at most {MOST_BLOCKS}; choose smaller cases "
            "with --filter, or leave out --full and --strict, so that it samples the blocks"
        )


def run_sample(
    grid: Grid,
    work: int,
    share: float,
    within: Spans | None,
    run: Run,
    least: int,
    each: RunEach | None = None,
) -> Spans | None:
    """Run a grid, or as much of it as `work` warp instructions and a `share` of it allow; returns what was covered,
    None for all of it.

    The first `least` slices of each group tell what one costs. If one group costs far more than most, because few
    blocks do the work of all, no sample is representative, and the grid is run whole if possible. `within`: what
    earlier launches covered, None for all. The choice is reproducible, because instructions are counted, not timed.
    `each`: runs the groups that tell the price; by default one after the other.
    """
    ranges = sampled_ranges(grid.slices, least, within)
    first = grid.blocks(ranges)
    prices = _prices(grid, ranges, each or (lambda parts: [run(one) for one in parts]))
    spent = sum(price for price, _ in prices)
    slices_run = first.size / grid.slice_blocks
    if within is None and share >= UNEVEN_SHARE and _uneven(prices):
        whole = _all_but(grid, ranges, UNEVEN_WORK * work - spent, run)
        return None if whole else _spans(ranges, grid)
    if within is None and share >= 1 and spent * grid.slices <= work * slices_run:
        rest = np.setdiff1d(grid.blocks([(0, grid.slices)]), first, assume_unique=True)
        if rest.size:
            run(rest)
        return None
    affordable = int(min(work * slices_run / max(spent, 1), share * grid.slices)) // (GROUPS - 1)
    if affordable > least:
        ranges = sampled_ranges(grid.slices, affordable, within)
        rest = np.setdiff1d(grid.blocks(ranges), first, assume_unique=True)
        if rest.size:
            run(rest)
    return _spans(ranges, grid)


def _prices(grid: Grid, ranges: Sequence[tuple[int, int]], each: RunEach) -> list[tuple[int, int]]:
    """Run each range by itself; returns (warp instructions, blocks) of each. Blocks in several ranges run once."""
    done, parts = np.zeros(0, np.int64), []
    for one in ranges:
        fresh = np.setdiff1d(grid.blocks([one]), done, assume_unique=True)
        if fresh.size:
            parts.append(fresh)
            done = np.concatenate([done, fresh])
    return [(price, part.size) for price, part in zip(each(parts), parts, strict=True)]


def _all_but(grid: Grid, done: Sequence[tuple[int, int]], work: int, run: Run) -> bool:
    """Run the other slices of a grid, part by part while `work` lasts; True if all were run."""
    if prod(grid.extents) > MOST_BLOCKS:
        return False
    rest = np.setdiff1d(np.arange(grid.slices), np.concatenate([np.arange(*one) for one in done]))
    for part in np.array_split(rest, min(rest.size, 4 * GROUPS)) if rest.size else ():
        if work <= 0:
            return False
        work -= run(grid.blocks_of(part))
    return True


def _uneven(prices: Sequence[tuple[int, int]]) -> bool:
    each = [price / blocks for price, blocks in prices]
    return max(each) > UNEVEN * max(float(np.median(each)), 1.0)


def run_first_blocks(extents: tuple[int, int, int], work: int, run: Run, group: int = 1) -> bool:
    """Run a grid whose blocks wait for earlier ones, from its first block on, whole groups of `group` at a time; True
    if that was all of it."""
    blocks, done = prod(extents), 0
    spent, step = 0, GROUPS
    while done < blocks and (done == 0 or spent < work):
        step = min(blocks - done, -(-max(GROUPS, step) // group) * group)
        spent += run(np.arange(done, done + step, dtype=np.int64))
        done += step
        # At most as many as all before, so that the last half of them can be told apart.
        step = min(done, int((work - spent) * done / max(spent, 1)))
    return done == blocks


def sampled_ranges(slices: int, length: int, within: Spans | None) -> list[tuple[int, int]]:
    """Ranges of at most `length` slices: at the start, at the end, and evenly between. Those at the ends have half the
    length, because each represents half as much of the grid as one with neighbours on both sides."""
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
    """The slices within a span of the grid; the nearest slice if there is none."""
    low, high = ceil(span[0] * slices), floor(span[1] * slices)
    if low < high:
        return low, high
    nearest = min(floor(span[0] * slices), slices - 1)
    return nearest, nearest + 1


def _covered(start: int, stop: int, slices: int) -> tuple[Fraction, Fraction]:
    """The span on which later launches may rely: without the outermost slices, because grids of different launches need
    not be cut at the same places."""
    inner = stop - start >= 3
    low = start + 1 if inner and start > 0 else start
    high = stop - 1 if inner and stop < slices else stop
    return Fraction(low, slices), Fraction(high, slices)
