"""A change-point test for a row's medians over time: optimal partitioning into levels, given the known noise.

A level is the median of the runs between two steps. The cuts are those with the least sum of absolute distances from
the levels, where each cut costs the noise of a typical one. A cut is a step if its two levels differ

- by more than the noise band and the interval of the two runs beside it, as `compare RUN RUN` has them, and
- by more than the runs scatter about their levels.

Other cuts are removed, the least certain first, and their two levels become one. With two runs, a step is what
`compare` calls SLOWER or FASTER. One run that differs is a step only at either end: in the middle it is an outlier, and
moves no level. A slow drift shows as a step where it has gone beyond the noise. Change-point packages weigh steps
against a penalty alone; none accepts a noise band per point, which is known here.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf, isfinite, sqrt

import numpy as np

Noise = Callable[[int, float], float]  # (place, change in ln) -> least change in ln that counts as a step there
NORMAL = 1.4826  # standard deviation of a normal distribution over the median of its absolute values
OF_MEDIAN = 1.2533  # standard error of a median over that of a mean
WITHIN_95 = 1.96


def find_steps(values: np.ndarray, noise: Noise) -> list[int]:
    """Places where a new level begins, in order. `values`: ln of the medians [runs], oldest first."""
    usual = [least for place in range(1, len(values)) if isfinite(least := noise(place, 1.0))]
    cuts = _partition(values, float(np.median(usual))) if usual else []
    while cuts:
        margins = _margins(values, cuts, noise)
        if min(margins) > 0:
            break
        del cuts[margins.index(min(margins))]
    return cuts


def medians_between(values: np.ndarray, steps: Sequence[int]) -> list[float]:
    """The median of each stretch between steps, one more than there are steps."""
    return [float(np.median(part)) for part in np.split(values, steps)]


def _partition(values: np.ndarray, penalty: float) -> list[int]:
    """The cuts with the least distances and penalties; between two cuts lie two values or more."""
    count = len(values)
    best, before = [0.0] + [inf] * count, [0] * (count + 1)
    for end in range(1, count + 1):
        for start in range(end):
            if end - start < 2 and start > 0 and end < count:
                continue
            part = values[start:end]
            cost = best[start] + float(np.abs(part - np.median(part)).sum()) + penalty
            if cost < best[end]:
                best[end], before[end] = cost, start
    cuts = [before[count]]
    while cuts[-1]:
        cuts.append(before[cuts[-1]])
    return cuts[-2::-1]


def _margins(values: np.ndarray, cuts: Sequence[int], noise: Noise) -> list[float]:
    """How much ln the levels beside each cut differ beyond noise, or beyond scatter where that is more."""
    parts, reached = np.split(values, cuts), medians_between(values, cuts)
    apart = np.concatenate([np.abs(part - level) for part, level in zip(parts, reached, strict=True)])
    scatter = WITHIN_95 * OF_MEDIAN * NORMAL * float(np.median(apart))
    sides = zip(cuts, pairwise(parts), pairwise(reached), strict=True)
    return [
        abs(second - first) - max(noise(cut, second - first), scatter * sqrt(1 / len(before) + 1 / len(after)))
        for cut, (before, after), (first, second) in sides
    ]
