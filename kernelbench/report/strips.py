"""The distribution of a row's samples as a small histogram: a few hundred bytes of SVG path per row.

All strips share one scale, so that they can be compared at a glance: the middle is the row's median, the ends
lie `REACH` away from it, and samples beyond are gathered in the outermost bars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas

REACH = 0.04  # of the median, to either side
BINS = 41  # odd: one bar stands for the median itself
WIDTH, HEIGHT, _BAR = 82, 16, 2  # pixels; page.css draws the strip in this size

Key = tuple[str, str, str, str]  # case, implementation, cache, method


def sample_strips(samples: pandas.DataFrame) -> dict[Key, str]:
    """The `d` of an SVG path per measured row that has raw samples."""
    if not len(samples):
        return {}
    keys = ["case", "implementation", "cache", "method"]
    groups = samples.groupby(keys, sort=False)["seconds"]
    return {tuple(map(str, key)): path(values.to_numpy(dtype=float)) for key, values in groups}  # type: ignore[misc]


def path(seconds: np.ndarray) -> str:
    """Bars standing on the lower edge; the fullest bin has the full height, and every bin with a sample is visible."""
    counts = histogram(seconds)
    bars = []
    for place, count in counts.items():
        height = max(1, round(HEIGHT * count / max(counts.values())))
        bars.append(f"M{place * _BAR + 1} {HEIGHT}v-{height}")
    return "".join(bars)


def histogram(seconds: np.ndarray) -> Mapping[int, int]:
    """The number of samples per bin, for bins that have any; bins are numbered from the left."""
    middle = BINS // 2
    bins = np.rint((seconds / np.median(seconds) - 1) / (REACH / middle)).clip(-middle, middle).astype(int) + middle
    places, counts = np.unique(bins, return_counts=True)
    return dict(zip(places.tolist(), counts.tolist(), strict=True))
