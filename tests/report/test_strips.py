"""The small histograms."""

import numpy as np
import pytest

from kernelbench.report import strips


def test_median_is_in_the_middle_and_far_samples_in_the_outermost_bars():
    seconds = np.array([1e-5] * 8 + [2e-5, 0.5e-5])
    assert strips.histogram(seconds) == {0: 1, 20: 8, 40: 1}


def test_one_bar_is_two_thousandths_of_the_median():
    assert strips.histogram(np.array([1.0, 1.0, 1.0, 1.002, 1.004])) == {20: 3, 21: 1, 22: 1}


def test_rare_samples_stay_visible():
    path = strips.path(np.array([1.0] * 100 + [1.02]))
    assert path == "M41 16v-16M61 16v-1"


@pytest.mark.parametrize("number", [1, 60])
def test_every_sample_is_counted(number):
    rng = np.random.default_rng(1)
    assert sum(strips.histogram(1 + rng.random(number)).values()) == number


def test_a_strip_for_each_measured_row(synthetic_run):
    made = strips.sample_strips(synthetic_run.samples)
    ok = [row for row in synthetic_run.rows if row.status == "ok"]
    assert set(made) == {(row.case, row.implementation, row.cache, row.method) for row in ok}
    assert strips.sample_strips(synthetic_run.samples.iloc[:0]) == {}
