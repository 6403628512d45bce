"""Figures of a self-test, on runs whose noise is known."""

from dataclasses import replace

import numpy as np
import pytest

from kernelbench.compare.measured import MeasuredRun, speedup
from kernelbench.compare.self_test import self_test
from kernelbench.runs.results import Run
from tests.two_runs import World, slowed, synthetic, with_samples

LENGTHS = np.geomspace(3e-6, 5e-3, 100)
QUIET = World(drift=0, launch_s=0, row=0, sample=0.004, wander=0)


def twins(world: World, seed: int, factor: float = 1.0, taken: int = 60) -> Run:
    """Rows of `kernel` and, as if they were the same, of `copy`; the first takes `factor` times as long."""
    run = synthetic(LENGTHS, seed, world, factor, taken)
    device = {"name": "Test GPU", "resolution_s": 32e-9}
    made = replace(run, environment={"device": device, "self_test": {"twins": {"copy": "kernel"}}})
    return with_samples(made, run.samples)


def test_rows_of_the_same_length_are_hardly_ever_told_apart() -> None:
    tests = [self_test(twins(QUIET, seed)) for seed in range(5)]
    assert [one["rows"] for one in tests] == [100] * 5
    assert sum(one["false_verdicts"] for one in tests) <= 2
    for one in tests:
        assert one["same"] + one["unsure"] + one["false_verdicts"] == 100
        assert len(one["false_rows"]) == one["false_verdicts"]
        assert [length["rows"] for length in one["lengths"]] == [7, 19, 21, 31, 22]


def test_rows_that_differ_are_false_verdicts_of_a_self_test() -> None:
    test = self_test(twins(QUIET, 1, factor=1.03))
    assert test["false_verdicts"] > 90
    assert "kernel on n=0, cold, by events: FASTER" in test["false_rows"][0] or test["false_verdicts"] < 100
    assert test["lengths"][-1]["within"] > 0.028


def test_drift_is_from_the_first_half_of_the_rounds_to_the_second() -> None:
    """Times that grow by 1 % within a run grow by half of it from one half to the other."""
    assert self_test(twins(QUIET, 1))["drift"] < 0.001
    run = twins(QUIET, 1)
    growing = run.samples.assign(seconds=run.samples["seconds"] * (1 + 0.01 * run.samples["round"] / 60))
    test = self_test(with_samples(run, growing))
    assert test["drift_signed"] == pytest.approx(0.005, abs=0.0005)
    assert test["drift"] == pytest.approx(0.005, abs=0.0005)
    assert test["false_verdicts"] <= 1, "it met both alike"


@pytest.mark.parametrize("length", [2, 3, 4])
def test_the_smallest_difference_that_is_found_is_found(length: int) -> None:
    """A slowdown of that size gets its verdict on nineteen of twenty rows of that length, a third of it hardly ever."""
    run = twins(QUIET, 7)
    found = self_test(run)["lengths"][length]
    for size, least, most in ((found["detectable"], 0.85, 1.0), (found["detectable"] / 3, 0.0, 0.3)):
        planted = slowed(run, 1 + size, lambda row: row.implementation == "copy")
        measured = MeasuredRun(planted)
        verdicts = []
        for case in measured.cases:
            sides = [measured.times(case.key, name, "cold")["events"] for name in ("kernel", "copy")]
            if found["from_s"] <= sides[0].median_s < (found["to_s"] or 1):
                verdicts.append(speedup(*sides).verdict)
        assert least <= verdicts.count("SLOWER") / len(verdicts) <= most


def test_a_run_without_pairs_has_no_figures() -> None:
    run = twins(QUIET, 1)
    alone = replace(run, rows=tuple(row for row in run.rows if row.implementation == "kernel"))
    test = self_test(with_samples(alone, run.samples))
    assert (test["rows"], test["drift"], test["lengths"][0]["detectable"]) == (0, None, None)
