"""What of a sampled run can be verified: the elements that its blocks wrote, and the rows that they lie in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernelbench.core.contracts import CountingDevice
from kernelbench.core.differences import Differences
from kernelbench.core.records import Array, Arrays, ArraySpec

GAP_ELEMENTS = 2**16  # of the largest array; a gap up to that costs less than to begin with another range behind it
MOST_ELEMENTS = 2**25  # of the largest array, verified for one implementation; rows beyond are left out evenly


@dataclass(frozen=True)
class Written:
    """What was written of one output: flat ranges [start, stop) that were written, int64 [n, 2], in order and apart."""

    ranges: Array

    def places(self, start: int, stop: int) -> Array | None:
        """Which elements from `start` to `stop` were written, counted from `start`; None for all of them."""
        first = np.searchsorted(self.ranges[:, 1], start, "right")
        last = np.searchsorted(self.ranges[:, 0], stop, "left")
        inside = np.clip(self.ranges[first:last] - start, 0, stop - start)
        if len(inside) == 1 and inside[0, 1] - inside[0, 0] == stop - start:
            return None
        lengths = inside[:, 1] - inside[:, 0]
        before = np.cumsum(lengths) - lengths  # ranges lie apart and in order, and so do their elements
        return np.arange(lengths.sum()) + np.repeat(inside[:, 0] - before, lengths)

    def rows(self, row_elements: int) -> Array:
        """Rows that hold any of it, as ranges."""
        return np.stack((self.ranges[:, 0] // row_elements, (self.ranges[:, 1] - 1) // row_elements + 1), axis=1)


def written_of(device: CountingDevice, specs: Sequence[ArraySpec], outputs: Arrays) -> Mapping[str, Written]:
    """What the last run wrote of each output; empty where every block was run."""
    found = {spec.name: device.written(outputs[spec.name]) for spec in specs if spec.role == "output"}
    return {name: Written(ranges) for name, ranges in found.items() if ranges is not None}


def row_ranges(written: Mapping[str, Written], outputs: Arrays, split: int, row_elements: int) -> Array:
    """Rows of [split, -1] that any output was written in, as ranges in order and apart, and small gaps between them.

    `row_elements`: of the largest array."""
    rows = [one.rows(outputs[name].size // split) for name, one in written.items()]
    return _merged(np.concatenate(rows), GAP_ELEMENTS // row_elements)


def pieces(ranges: Iterable[tuple[int, int]], rows_at_a_time: int, most_rows: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows cut into pieces; the first, the last and evenly spread ones where there are too many rows."""
    cut = [(at, min(at + rows_at_a_time, stop)) for start, stop in ranges for at in range(start, stop, rows_at_a_time)]
    rows = sum(stop - start for start, stop in cut)
    count = max(2, len(cut) * most_rows // rows) if rows > most_rows else len(cut)
    chosen = cut if count >= len(cut) else [cut[int(at)] for at in np.linspace(0, len(cut) - 1, count)]
    yield from chosen


def placed(found: Differences, places: Array | None) -> Differences:
    """Differences of the elements at these places, their first place counted among all elements."""
    if places is None or found.first is None:
        return found
    return replace(found, first=int(places[found.first]))


def _merged(ranges: Array, gap: int) -> Array:
    """Ranges in order, those that are no more than `gap` apart made one."""
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    if not len(ranges):
        return ranges
    ends = np.maximum.accumulate(ranges[:, 1])
    first = np.concatenate(([True], ranges[1:, 0] > ends[:-1] + gap))
    last = np.concatenate((first[1:], [True]))
    return np.stack((ranges[first, 0], ends[last]), axis=1)
