"""Which outputs of a sampled run can be verified: the elements that its blocks wrote, and their rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernelbench.core.contracts import CountingDevice
from kernelbench.core.differences import Differences
from kernelbench.core.records import Array, Arrays, ArraySpec

GAP_ELEMENTS = 2**16  # of the largest array; ranges with smaller gaps are joined, which costs less than a new range
MOST_ELEMENTS = 2**25  # of the largest array, verified per implementation; beyond it, evenly spread rows are skipped


@dataclass(frozen=True)
class Written:
    """Written elements of one output: disjoint ascending ranges [start, stop), int64 [n, 2]."""

    ranges: Array

    def places(self, start: int, stop: int) -> Array | None:
        """Indices, relative to `start`, of the written elements in [start, stop); None for all of them."""
        first = np.searchsorted(self.ranges[:, 1], start, "right")
        last = np.searchsorted(self.ranges[:, 0], stop, "left")
        inside = np.clip(self.ranges[first:last] - start, 0, stop - start)
        if len(inside) == 1 and inside[0, 1] - inside[0, 0] == stop - start:
            return None
        lengths = inside[:, 1] - inside[:, 0]
        before = np.cumsum(lengths) - lengths  # ranges lie apart and in order, and so do their elements
        return np.arange(lengths.sum()) + np.repeat(inside[:, 0] - before, lengths)

    def rows(self, row_elements: int) -> Array:
        """Ranges of rows with at least one written element."""
        return np.stack((self.ranges[:, 0] // row_elements, (self.ranges[:, 1] - 1) // row_elements + 1), axis=1)


def written_of(device: CountingDevice, specs: Sequence[ArraySpec], outputs: Arrays) -> Mapping[str, Written]:
    """Written elements of each output in the last run; empty if every block ran."""
    found = {spec.name: device.written(outputs[spec.name]) for spec in specs if spec.role == "output"}
    return {name: Written(ranges) for name, ranges in found.items() if ranges is not None}


def row_ranges(written: Mapping[str, Written], outputs: Arrays, split: int, row_elements: int) -> Array:
    """Disjoint ascending ranges of the rows of [split, -1] that the run wrote to. Ranges with small gaps are joined.

    `row_elements`: of the largest array."""
    rows = [one.rows(outputs[name].size // split) for name, one in written.items()]
    return _merged(np.concatenate(rows), GAP_ELEMENTS // row_elements)


def sampled_ranges(ranges: Iterable[tuple[int, int]], rows_at_a_time: int, most_rows: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows cut into pieces. If there are too many rows: the first, the last and evenly spread pieces."""
    cut = [(at, min(at + rows_at_a_time, stop)) for start, stop in ranges for at in range(start, stop, rows_at_a_time)]
    rows = sum(stop - start for start, stop in cut)
    count = max(2, len(cut) * most_rows // rows) if rows > most_rows else len(cut)
    chosen = cut if count >= len(cut) else [cut[int(at)] for at in np.linspace(0, len(cut) - 1, count)]
    yield from chosen


def placed(found: Differences, places: Array | None) -> Differences:
    """`found`, whose first mismatch is an index into `places`, with its index among all elements instead."""
    if places is None or found.first is None:
        return found
    return replace(found, first=int(places[found.first]))


def _merged(ranges: Array, gap: int) -> Array:
    """Ascending ranges; those at most `gap` apart are joined."""
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    if not len(ranges):
        return ranges
    ends = np.maximum.accumulate(ranges[:, 1])
    first = np.concatenate(([True], ranges[1:, 0] > ends[:-1] + gap))
    last = np.concatenate((first[1:], [True]))
    return np.stack((ranges[first, 0], ends[last]), axis=1)
