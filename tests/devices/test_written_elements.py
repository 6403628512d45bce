"""Which elements a sample of blocks wrote, out of the maps of sectors and bytes."""

import numpy as np
import pytest

from kernelbench.devices.written_elements import SECTOR_BYTES, element_ranges

SOUND = 1


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_ranges_are_the_whole_elements_that_are_good(itemsize: int) -> None:
    random = np.random.default_rng(itemsize)
    good = random.random((40, SECTOR_BYTES)) < 0.9
    good[random.random(40) < 0.5] = True
    states = np.where(good, SOUND, random.choice([0, 2], good.shape)).astype(np.uint8)
    sectors = np.sort(random.choice(100, 40, replace=False)).astype(np.int64)
    elements = 100 * SECTOR_BYTES // itemsize - 3
    expected = set()
    for row, sector in enumerate(sectors):
        for first in range(0, SECTOR_BYTES, itemsize):
            element = (sector * SECTOR_BYTES + first) // itemsize
            if good[row, first : first + itemsize].all() and element < elements:
                expected.add(int(element))
    found = element_ranges(sectors, states, SOUND, itemsize, elements)
    assert {element for start, stop in found.tolist() for element in range(start, stop)} == expected
    assert (found[:, 0] < found[:, 1]).all()
    assert (found[1:, 0] > found[:-1, 1]).all(), "neighbours are one range"


def test_nothing_written_gives_no_ranges() -> None:
    assert element_ranges(np.empty(0, np.int64), np.empty((0, SECTOR_BYTES), np.uint8), SOUND, 4, 100).shape == (0, 2)
