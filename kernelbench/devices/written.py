"""From maps of sectors and bytes to the elements of an output that a sample of blocks wrote."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

SECTOR_BYTES = 32
WORD = 8  # bytes of a map looked at together, since almost all are 0
Integers = npt.NDArray[np.int64]


def marked(sectors: npt.NDArray[np.uint8]) -> Integers:
    """Indices of the bytes of a map that are not 0."""
    whole = sectors.size // WORD * WORD
    words = np.flatnonzero(sectors[:whole].view(np.uint64))
    rows, columns = np.nonzero(sectors[:whole].reshape(-1, WORD)[words])
    tail = whole + np.flatnonzero(sectors[whole:])
    return np.concatenate((words[rows] * WORD + columns, tail)).astype(np.int64)


def ranges(sectors: Integers, good: npt.NDArray[Any], itemsize: int, elements: int) -> Integers:
    """Ranges [start, stop) of whole elements, of which every byte is `good`: booleans by byte, [sectors, 32]."""
    each = SECTOR_BYTES // itemsize
    rows, columns = np.nonzero(good.reshape(-1, each, itemsize).all(axis=2))
    found = sectors[rows] * each + columns
    found = found[found < elements]
    if not found.size:
        return np.empty((0, 2), np.int64)
    breaks = np.flatnonzero(np.diff(found) != 1)
    starts = found[np.concatenate(([0], breaks + 1))]
    stops = found[np.concatenate((breaks, [found.size - 1]))] + 1
    return np.stack((starts, stops), axis=1)
