"""From the interval of a ratio and its noise band to a verdict, and how many more samples an open one needs."""

from __future__ import annotations

from math import ceil

from kernelbench.compare.changes import MOST_SAMPLES, Verdict


def verdict_of(value: float, low: float, high: float, band: float) -> tuple[Verdict, float]:
    """The verdict on an interval of ln(second / first) with a band of +-`band`. For UNSURE also by what factor the
    interval must narrow, if the value stays, to lie on one side of each edge of the band."""
    if low > band:
        return "SLOWER", 1.0
    if high < -band:
        return "FASTER", 1.0
    if -band <= low and high <= band:
        return "SAME", 1.0
    factors = [1.0]
    for edge in (-band, band):
        if low < edge < high:
            width = high - value if edge > value else value - low
            factors.append(width / max(abs(edge - value), 1e-9))
    return "UNSURE", max(factors)


def more_samples(factor: float, taken: int) -> int | None:
    """How many to add to `taken`, as an interval narrows with the root of their number; None above MOST_SAMPLES."""
    more = max(1, ceil(min((factor**2 - 1) * taken, 2 * MOST_SAMPLES)))
    return more if more <= MOST_SAMPLES else None


def open_text(more: int | None) -> str:
    """Why a row is UNSURE, as its reason says it."""
    if more is None:
        return f"on the edge of its band: over {MOST_SAMPLES} more samples would be needed"
    return f"about {more} more samples of each would decide"
