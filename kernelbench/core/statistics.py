"""Medians with intervals, and ratios of medians: pure functions over samples in seconds."""

from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np

PRECISION = 0.005  # width of the 95 % interval over the median at which sampling stops
TAIL = 0.025  # beyond a 95 % interval, on either side
PAIRED_DRAWS = 1000  # resamples of rounds; four times as many move the ends of an interval by 1/30 of its width


def median_interval(samples: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """Median and its distribution-free interval (order statistics; Conover, Practical Nonparametric
    Statistics, 3.2). With fewer than 6 samples the interval is the range: no narrower one has 95 %."""
    ordered = np.sort(np.asarray(samples, dtype=float))
    n = len(ordered)
    if n == 0:
        raise ValueError("no samples, so there is no median")
    rank = _lower_rank(n, confidence)
    low, high = max(rank - 1, 0), min(n - rank, n - 1)
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high])


@cache
def _lower_rank(n: int, confidence: float) -> int:
    """Rank, from 1, of the ordered sample that bounds the median from below; 0 if there is none.

    This is a quantile of the binomial distribution. Importing scipy.stats for it takes a second, during which the first
    case of a run would get no samples.
    """
    outcomes, rank = 2**n, 0
    of_rank = below = 1
    while below / outcomes < (1 - confidence) / 2:
        rank += 1
        of_rank = of_rank * (n - rank + 1) // rank
        below += of_rank
    return rank


def ratio_interval(
    numerator: Sequence[float] | np.ndarray, denominator: Sequence[float] | np.ndarray
) -> tuple[float, float, float]:
    """median(numerator) / median(denominator) with its 95 % percentile-bootstrap interval."""
    tops, bottoms = bootstrap_medians(numerator, 0), bootstrap_medians(denominator, 1)
    low, high = np.quantile(tops / bottoms, [TAIL, 1 - TAIL])
    return float(np.median(np.asarray(numerator)) / np.median(np.asarray(denominator))), float(low), float(high)


def paired_ratio_interval(
    numerator: np.ndarray, denominator: np.ndarray, shared: tuple[np.ndarray, np.ndarray]
) -> tuple[float, float, float]:
    """median(numerator) / median(denominator) with its 95 % percentile-bootstrap interval over rounds.

    `shared`: places of the samples with a partner from the same round, in the same order on both sides. Both samples of
    a round are drawn together, so that common disturbances cancel; samples without a partner are drawn separately.
    """
    tops, bottoms = (
        np.log(_drawn_medians(samples, places, side))
        for side, (samples, places) in enumerate(zip((numerator, denominator), shared, strict=True))
    )
    low, high = np.exp(np.quantile(tops - bottoms, [TAIL, 1 - TAIL]))
    value = float(np.median(numerator) / np.median(denominator))
    return value, min(float(low), value), max(float(high), value)


def _drawn_medians(samples: np.ndarray, shared: np.ndarray, side: int) -> np.ndarray:
    """Medians of resamples; samples at `shared` are drawn alike for both sides. Ranks are drawn and sorted in place of
    samples: NumPy sorts integers of 32 bits by vector instructions, ten times as fast as those of 16 on AVX2."""
    order = np.argsort(samples)
    ranks = np.empty(len(samples), np.uint32)
    ranks[order] = np.arange(len(samples))
    own = np.delete(ranks, shared)
    drawn = ranks[shared].take(_drawn_places(len(shared), 2))  # faster than by []
    if len(own):
        drawn = np.concatenate([drawn, own.take(_drawn_places(len(own), side))], axis=1)
    drawn.sort(axis=1)
    ordered, middle = samples[order], drawn.shape[1] // 2
    upper: np.ndarray = ordered[drawn[:, middle]]
    return upper if drawn.shape[1] % 2 else (ordered[drawn[:, middle - 1]] + upper) / 2


@lru_cache(maxsize=256)
def _drawn_places(n: int, seed: int) -> np.ndarray:
    """Places of `n` samples, drawn `n` at a time with replacement."""
    return np.random.default_rng([seed, n]).integers(0, n, (PAIRED_DRAWS, n), dtype=np.int32)


def bootstrap_medians(samples: Sequence[float] | np.ndarray, seed: int, draws: int = 4000) -> np.ndarray:
    """Medians of `draws` resamples, without resampling: the order statistics of n draws from n samples are those of n
    uniform numbers (beta distributed), looked up in the sorted samples. The cost does not grow with the samples."""
    ordered = np.sort(np.asarray(samples, dtype=float))
    low, high = _median_places(len(ordered), seed, draws)
    medians: np.ndarray = (ordered[low] + ordered[high]) / 2
    return medians


@cache
def _median_places(n: int, seed: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Places, in n sorted samples, of the two samples whose mean is the median of each resample."""
    rng = np.random.default_rng([seed, n])
    rank = (n + 1) // 2
    lower = rng.beta(rank, n - rank + 1, draws)
    upper = lower if n % 2 else lower + (1 - lower) * rng.beta(1, n - rank, draws)  # the next order statistic
    places = [np.minimum((uniform * n).astype(np.int32), n - 1) for uniform in (lower, upper)]
    return places[0], places[1]
