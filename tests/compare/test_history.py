"""Runs in time: steps are found where they were planted, noise and outliers give none, and suspects are named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.compare.history import History, history_of
from kernelbench.compare.history_steps import find_steps, medians_between
from kernelbench.compare.runs import compare_runs
from kernelbench.core import places
from kernelbench.report.history_text import history_sentence, suspects
from kernelbench.runs.results import Run, read_run
from tests.two_runs import World, slowed, synthetic, with_rows, with_samples

LENGTHS = np.geomspace(3e-6, 5e-3, 40)


def dated(run: Run, number: int, **state: Any) -> Run:
    """The run as the `number`th of a history, in an environment of its own."""
    started = f"2026-11-{number + 1:02}T08:00:00+00:00"
    changed = replace(run, folder=Path(f"run{number}"), environment={**run.environment, "started": started, **state})
    return with_samples(changed, run.samples)


@pytest.mark.parametrize(
    ("per_cent", "steps"),
    [
        ([0, 0, 0, 0, 0, 0], []),
        ([0.1, -0.2, 0.3, 0, -0.3, 0.2], []),
        ([0, 0, 0, 3, 3, 3], [3]),
        ([0, 0, 0, 3, 3, 0, 0], [3, 5]),
        ([0, 0, 3, 0, 0, 0], []),  # an outlier
        ([0, 0, 0, 0, 0, 3], [5]),  # the newest run
        ([3, 0, 0, 0, 0, 0], [1]),
        ([0, 3], [1]),
        ([0, 0.9], []),
        ([0, 0, 2, 2, 5, 5], [2, 4]),
        ([0, 2.5, -2.5, 2, -2, 2.5, 1, 3.5], []),  # the runs scatter by more than the step
    ],
)
def test_steps_are_changes_beyond_the_noise_that_last(per_cent: list[float], steps: list[int]) -> None:
    values = np.log1p(np.array(per_cent) / 100)
    assert find_steps(values, lambda place, change: 0.01) == steps
    assert len(medians_between(values, steps)) == len(steps) + 1


def test_of_two_runs_steps_are_what_compare_calls_slower_or_faster() -> None:
    run = read_run(places.RECORDED / "h200" / "softmax")
    other = slowed(run, 1.03, lambda row: row.implementation in ("ft", "naive"))
    expected = {
        (row.case, row.implementation, row.cache, row.method)
        for row in compare_runs(run, other).judged
        if row.verdict in ("SLOWER", "FASTER")
    }
    found = history_of([dated(run, 0), dated(other, 1)])
    assert {(one.case, one.implementation, one.cache, one.method) for one in found.changed} == expected
    assert len(expected) > 20
    assert {one.implementation for one in found.changed} == {"ft", "naive"}


@pytest.fixture(scope="module")
def planted() -> History:
    """Eight runs with drift, of which the last three have a kernel that is 4 % slower."""
    return history_of(
        [dated(synthetic(LENGTHS, seed, World(), factor=1.04 if seed >= 5 else 1.0), seed) for seed in range(8)]
    )


def test_a_planted_step_is_found_where_it_is(planted: History) -> None:
    own = [one for one in planted.trends if one.implementation == "kernel" and one.points[0].seconds > 20e-6]
    steps = [[step.moment for step in one.steps] for one in own]
    assert steps.count([5]) >= 0.95 * len(steps)
    assert np.median([one.ratio for one in own]) == pytest.approx(1.04, abs=0.005)


def test_rows_that_did_not_change_have_no_step(planted: History) -> None:
    others = [one for one in planted.trends if one.implementation == "copy"]
    quiet = history_of([dated(synthetic(LENGTHS, 100 + seed, World()), seed) for seed in range(8)]).trends
    assert sum(bool(one.steps) for one in (*others, *quiet)) <= 0.01 * (len(others) + len(quiet))


def test_what_changed_at_a_step_is_named() -> None:
    run = read_run(places.RECORDED / "h200" / "softmax")
    device = {**run.environment["device"], "driver": "590.00"}
    slower = slowed(run, 1.05, lambda row: row.implementation == "ft")
    (event,) = history_of([dated(run, 0), dated(run, 1), dated(slower, 2, device=device, git_commit="abc")]).events
    told = suspects(event)
    assert (event.before, event.moment) == (1, 2)
    assert f"{len(event.rows)} rows (ft): machine code as before, so their source is not the cause." in told
    assert "What else changed: driver: 580.159.04, then 590.00." in told
    assert f"What else changed: commit: {run.environment['git_commit'][:12]}, then abc." in told

    code = dict(run.environment["code"])
    binary = next(row.binary for row in run.rows if row.implementation == "ft")
    code["new"] = {entry: {**one, "hash": "other"} for entry, one in code[binary].items()}
    built = with_rows(slower, lambda row: replace(row, binary="new") if row.binary == binary else row)
    (event,) = history_of([dated(run, 0), dated(built, 1, code=code)]).events
    assert any("(ft): other machine code." in one for one in suspects(event))


def test_a_row_that_one_run_lacks_is_compared_across_it() -> None:
    runs = [synthetic(LENGTHS[20:24], seed, World()) for seed in range(3)]
    runs[1] = replace(runs[1], rows=tuple(row for row in runs[1].rows if row.case != "n=2"))
    runs[2] = slowed(runs[2], 1.1, lambda row: row.case == "n=2" and row.implementation == "kernel")
    found = history_of([dated(run, number) for number, run in enumerate(runs)])
    (trend,) = found.changed
    assert [(step.before, step.moment) for step in trend.steps] == [(0, 2)]
    assert [first for first, _, _ in trend.levels_s] == [0, 2]
    assert history_sentence(found).startswith(
        "synthetic on Test GPU: 1 of 8 rows changed over 3 runs, 2026-11-01 08:00 UTC to"
    )
