"""The elements of an output that a sample of blocks wrote, from maps of sectors and bytes."""

import numpy as np
import numpy.typing as npt

from kernelbench.core.counters import SECTOR_BYTES

WORD = 8  # bytes of a map that are tested at once, because almost all are 0
Integers = npt.NDArray[np.int64]


def element_ranges(
    sectors: Integers, states: npt.NDArray[np.uint8], good: int, itemsize: int, elements: int
) -> Integers:
    """Ranges [start, stop) of the elements whose bytes are all in the state `good`.

    `sectors` are sorted; `states` has one state per byte, [sectors, 32].
    """
    each = SECTOR_BYTES // itemsize
    alike = np.frombuffer(bytes([good]) * WORD, np.uint64)[0]
    whole = (states.view(np.uint64) == alike).all(axis=1)
    rows, columns = np.nonzero((states[~whole].reshape(-1, each, itemsize) == good).all(axis=2))
    single = sectors[~whole][rows] * each + columns
    found = np.concatenate((_runs(sectors[whole]) * each, _runs(single)))
    found = np.minimum(found[np.argsort(found[:, 0], kind="stable")], elements)
    found = found[found[:, 0] < found[:, 1]]
    if not len(found):
        return found
    first = np.concatenate(([True], found[1:, 0] != found[:-1, 1]))
    return np.stack((found[first, 0], found[np.concatenate((first[1:], [True])), 1]), axis=1)


def _runs(numbers: Integers) -> Integers:
    if not numbers.size:
        return np.empty((0, 2), np.int64)
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    starts = numbers[np.concatenate(([0], breaks + 1))]
    stops = numbers[np.concatenate((breaks, [numbers.size - 1]))] + 1
    return np.stack((starts, stops), axis=1)
