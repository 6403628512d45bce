"""What of a sampled run is looked at."""

import numpy as np
import pytest

from kernelbench.core.differences import Differences
from kernelbench.measure.sampled_outputs import GAP_ELEMENTS as GAP
from kernelbench.measure.sampled_outputs import Written, placed, row_ranges

WRITTEN = Written(np.array([[2, 5], [7, 9], [12, 20]]))


@pytest.mark.parametrize(
    ("start", "stop", "places"),  # None: all of them
    [(0, 10, [2, 3, 4, 7, 8]), (4, 8, [0, 3]), (5, 7, []), (20, 30, []), (12, 20, None), (13, 18, None),
     (11, 21, [1, 2, 3, 4, 5, 6, 7, 8])],
)  # fmt: skip
def test_places_that_were_written(start: int, stop: int, places: list[int] | None) -> None:
    found = WRITTEN.places(start, stop)
    assert (None if found is None else found.tolist()) == places


def test_the_first_difference_is_placed_among_all_elements() -> None:
    found = Differences(1, first=3, got=0.0, expected=1.0, max_absolute=1.0, max_relative=1.0)
    assert placed(found, WRITTEN.places(0, 10)).first == 7
    assert placed(found, None).first == 3


@pytest.mark.parametrize(
    ("row_elements", "ranges"),
    [
        (1, [[0, GAP + 20], [3 * GAP, 3 * GAP + 10]]),
        (2 * GAP, [[0, 10], [GAP + 10, GAP + 20], [3 * GAP, 3 * GAP + 10]]),
    ],
)
def test_rows_with_little_between_them_are_looked_at_together(row_elements: int, ranges: list[list[int]]) -> None:
    starts = np.array([0, GAP + 10, 3 * GAP])
    written = {"y": Written(np.stack((starts, starts + 10), axis=1))}
    outputs = {"y": np.zeros(4 * GAP, np.int8)}
    assert row_ranges(written, outputs, 4 * GAP, row_elements).tolist() == ranges
