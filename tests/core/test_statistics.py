"""Medians and ratios: published ranks, exact coverage, and coverage by simulation."""

from math import comb

import numpy as np
import pytest

from kernelbench.core.statistics import bootstrap_medians, median_interval, paired_ratio_interval, ratio_interval


@pytest.mark.parametrize(
    ("n", "low", "high"),
    # Ranks of the 95 % interval of a median, as tables of nonparametric statistics print them.
    [(6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (15, 4, 12), (20, 6, 15), (25, 8, 18), (40, 14, 27), (100, 40, 61)],
)
def test_the_interval_ends_at_the_published_ranks(n: int, low: int, high: int) -> None:
    samples = np.random.default_rng(n).permutation(np.arange(1, n + 1))
    assert median_interval(samples) == ((n + 1) / 2, low, high)


@pytest.mark.parametrize("n", range(1, 6))
def test_few_samples_have_their_range_as_interval(n: int) -> None:
    samples = [3.0 + step for step in range(n)][::-1]
    assert median_interval(samples) == (3.0 + (n - 1) / 2, 3.0, 3.0 + n - 1)


def test_nothing_has_no_median() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median_interval([])


def at_most(heads: int, n: int) -> float:
    """How likely it is that n tosses of a coin show no more."""
    return sum(comb(n, k) for k in range(heads + 1)) / 2**n


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_interval_is_the_narrowest_of_that_confidence(confidence: float) -> None:
    for n in range(8, 401):
        _, low, high = median_interval(range(1, n + 1), confidence)
        assert low + high == n + 1, "as many samples below as above"
        covered, narrower = 1 - 2 * at_most(int(low) - 1, n), 1 - 2 * at_most(int(low), n)
        assert covered >= confidence > narrower, n


def test_the_interval_holds_the_median_of_a_skewed_distribution() -> None:
    generator = np.random.default_rng(1)
    draws = generator.lognormal(size=(4000, 20))
    intervals = [median_interval(draw)[1:] for draw in draws]
    covered = np.mean([low <= 1.0 <= high for low, high in intervals])
    exact = 1 - 2 * at_most(5, 20)
    assert covered == pytest.approx(exact, abs=0.012)


def test_a_ratio_divides_the_medians() -> None:
    ratio, low, high = ratio_interval([30e-6, 10e-6, 20e-6], [5e-6, 5e-6])
    assert ratio == pytest.approx(4.0)
    assert (low, high) == (pytest.approx(2.0), pytest.approx(6.0))
    assert ratio_interval([7e-6] * 9, [7e-6] * 5) == (1.0, 1.0, 1.0)


def test_a_ratio_is_the_same_every_time_and_whatever_the_unit() -> None:
    generator = np.random.default_rng(2)
    top, bottom = generator.normal(50, 1, 25), generator.normal(40, 1, 25)
    assert ratio_interval(top, bottom) == ratio_interval(top, bottom)
    assert ratio_interval(top * 1e-6, bottom * 1e-6) == pytest.approx(ratio_interval(top, bottom))


def test_a_ratios_interval_narrows_with_more_samples() -> None:
    generator = np.random.default_rng(3)
    widths = []
    for n in (20, 320):
        _, low, high = ratio_interval(generator.normal(50, 1, n), generator.normal(40, 1, n))
        widths.append(high - low)
    assert widths[1] < widths[0] / 2


def test_the_ratios_interval_holds_the_true_ratio() -> None:
    generator = np.random.default_rng(4)
    covered = 0
    for _ in range(200):
        _, low, high = ratio_interval(generator.normal(50, 1, 25), generator.normal(40, 1, 25))
        covered += low <= 1.25 <= high
    assert covered >= 182, "91 % of 200 draws; a bootstrap of 25 samples promises its 95 % only roughly"


@pytest.mark.parametrize("n", [1, 2, 7, 20, 33])
def test_bootstrap_medians_are_those_of_resamples(n: int) -> None:
    samples = np.random.default_rng(n).lognormal(size=n)
    drawn = np.random.default_rng(0).choice(samples, (40_000, n))
    shares = [0.03, 0.2, 0.5, 0.8, 0.97]
    expected = np.quantile(np.median(drawn, axis=1), shares)
    found = np.quantile(bootstrap_medians(samples, seed=1, draws=40_000), shares)
    spread = samples.std() or 1.0
    assert found == pytest.approx(expected, abs=0.03 * spread)
    assert np.array_equal(bootstrap_medians(samples, 1), bootstrap_medians(samples, 1))
    assert n == 1 or not np.array_equal(bootstrap_medians(samples, 1), bootstrap_medians(samples, 2))


def widths(*intervals: tuple[float, float, float]) -> list[float]:
    return [high - low for _, low, high in intervals]


def test_what_both_samples_of_a_round_share_cancels_in_their_ratio() -> None:
    rng = np.random.default_rng(5)
    moved = rng.lognormal(0, 0.05, 60)
    top, bottom = 50 * moved, 40 * moved
    places = np.arange(60)
    paired = paired_ratio_interval(top, bottom, (places, places))
    assert paired == pytest.approx((1.25, 1.25, 1.25))
    apart = paired_ratio_interval(top, bottom, (places, rng.permutation(60)))
    assert widths(apart)[0] > 0.02, "rounds that do not belong together bring nothing"


def test_samples_without_a_partner_narrow_a_paired_interval() -> None:
    rng = np.random.default_rng(6)
    top, bottom = rng.normal(50, 1, 400), rng.normal(40, 1, 400)
    first = np.arange(30)
    few, all_shared, most_alone = widths(
        paired_ratio_interval(top[:30], bottom[:30], (first, first)),
        paired_ratio_interval(top, bottom, (np.arange(400), np.arange(400))),
        paired_ratio_interval(top, bottom, (first, first)),
    )
    assert all_shared < few / 2
    assert most_alone == pytest.approx(all_shared, rel=0.3)
    value, low, high = paired_ratio_interval(top, bottom, (first, first))
    assert value == np.median(top) / np.median(bottom)
    assert low <= value <= high


@pytest.mark.parametrize("n", [12, 25, 33])
def test_a_paired_interval_holds_the_true_ratio(n: int) -> None:
    rng = np.random.default_rng(n)
    covered = 0
    for _ in range(200):
        common = rng.normal(0, 0.02, n)
        top, bottom = (level * np.exp(common + rng.normal(0, 0.02, n)) for level in (50, 40))
        _, low, high = paired_ratio_interval(top, bottom, (np.arange(n), np.arange(n)))
        covered += low <= 1.25 <= high
    assert covered >= 180, "90 % of 200 draws; a bootstrap of few samples promises its 95 % only roughly"
