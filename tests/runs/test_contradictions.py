"""Files of a run that contradict themselves or one another: rows twice, of another suite, beside other samples."""

import csv
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core.errors import ResultsError, RunWarning
from kernelbench.runs.folders import shipped_runs
from kernelbench.runs.results import ENVIRONMENT_FILE, RESULTS_FILE, SAMPLES_FILE, Store, read_run
from kernelbench.runs.rows import rows_of
from tests.runs.test_results import ROW, SAMPLES
from tests.runs.test_rows import CHECK, LIMITS, OPERATION, result

TIMED = {**ROW, "cache": "cold", "method": "events", "low_s": 26e-6, "high_s": 27e-6}
COLD = [("cold", "events"), ("cold", "graph"), ("warm", "events")]

Cells = list[dict[str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two cases, each by two methods cold and warm, with three samples of each."""
    store = Store(tmp_path)
    store.write_environment({"suite": "softmax", "device": {"name": "Some GPU"}})
    for case in ("seq=16", "seq=32"):
        rows = [{**TIMED, "case": case, "cache": cache, "method": method} for cache, method in COLD]
        store.append(rows, [(case, "ft", *key, number, one[-1]) for key in COLD for number, one in enumerate(SAMPLES)])
    return tmp_path


def change(folder: Path, edit: Callable[[Cells], Any]) -> None:
    """Edit the rows of results.csv in their place; line 2 is the first."""
    with (folder / RESULTS_FILE).open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = list(rows[0])
    edit(rows)
    with (folder / RESULTS_FILE).open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def refusal(folder: Path) -> str:
    with pytest.raises(ResultsError) as caught:
        read_run(folder)
    return str(caught.value).removeprefix(f"{folder}/")


def warned(folder: Path) -> tuple[list[str], int]:
    """What is told of the samples, and how many are left."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run = read_run(folder)
        assert sum(len(seconds) for seconds, _ in run.samples_by_row.values()) == len(run.samples)
    return [str(one.message).removeprefix(f"{folder}/") for one in told if one.category is RunWarning], len(run.samples)


# ---- rows ----------------------------------------------------------------------------------------


def test_a_row_that_is_there_twice_is_refused_with_both_lines(folder: Path) -> None:
    change(folder, lambda rows: rows.append({**rows[1], "median_s": "2.65e-05"}))
    assert refusal(folder) == (
        "results.csv:8: seq=16, ft, cold, graph has a row in line 3 already; expected one row per case, "
        "implementation, cache and method; delete one of the two lines; without both, --resume measures it again"
    )
    change(folder, lambda rows: rows.pop())
    assert len(read_run(folder).rows) == 6


def test_two_rows_of_an_implementation_without_times_are_one_too_many(folder: Path) -> None:
    untimed = {"status": "failed", "cache": "", "method": "", "median_s": "", "low_s": "", "high_s": ""}
    change(folder, lambda rows: (rows[0].update(untimed), rows[2].update(untimed)))
    assert refusal(folder).startswith("results.csv:4: seq=16, ft has a row in line 2 already; ")


def test_rows_of_another_suite_are_refused_with_the_line(folder: Path) -> None:
    change(folder, lambda rows: rows[4].update(suite="relu"))
    advice = "; a run has one suite: delete the lines of the other one, or restore both files from one run"
    assert refusal(folder) == f"results.csv:6: its suite is 'relu', but that of {ENVIRONMENT_FILE} is 'softmax'{advice}"
    Store(folder).write_environment({})
    assert refusal(folder) == f"results.csv:6: its suite is 'relu', but that of the rows before is 'softmax'{advice}"
    change(folder, lambda rows: (rows[0].update(suite=""), rows[4].update(suite="softmax")))
    assert len(read_run(folder).rows) == 6
    Store(folder).write_environment({"suite": "relu"})
    assert refusal(folder).startswith("results.csv:3: its suite is 'softmax', but that of environment.json is 'relu'")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"low_s": "2.65e-05"}, "'low_s' must not be above median_s, 2.643e-05, got 2.65e-05"),
        ({"high_s": "2.64e-05"}, "'high_s' must not be below median_s, 2.643e-05, got 2.64e-05"),
        ({"method": "", "low_s": "1"}, "'low_s' must not be above median_s, 2.643e-05, got 1"),
        ({"check": "failed"}, "'status' must not be ok where check is failed"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(folder: Path, cells: dict[str, str], said: str) -> None:
    change(folder, lambda rows: rows[3].update(cells))
    assert refusal(folder) == (
        f"results.csv:5: {said}; delete that line to read the others; --resume measures it again"
    )


@pytest.mark.parametrize(
    "cells",
    [
        {"low_s": "2.643e-05", "high_s": "2.643e-05"},
        {"method": "", "low_s": "", "high_s": ""},
        {"check": "failed", "status": "wrong"},
        {"check": "passed"},
        {"check": "graded"},
    ],
)
def test_a_row_that_does_not_is_read(folder: Path, cells: dict[str, str]) -> None:
    change(folder, lambda rows: rows[3].update(cells))
    assert len(read_run(folder).rows) == 6


def test_such_a_row_is_not_written_either() -> None:
    (row,) = rows_of("s", OPERATION, result(check=replace(CHECK, passed=False)), LIMITS)
    assert row["reason"] == "its row cannot be kept: 'status' must not be ok where check is failed"


# ---- samples -------------------------------------------------------------------------------------


def longer(rows: Cells, factor: float) -> None:
    for row in rows:
        row.update({name: f"{factor * float(row[name]):.9g}" for name in ("low_s", "median_s", "high_s")})


def test_samples_that_are_not_of_their_rows_are_told_and_not_used(folder: Path) -> None:
    assert warned(folder) == ([], 18)
    change(folder, lambda rows: longer(rows[1:2], 3))
    told = (
        f"{SAMPLES_FILE}: the median of the samples of seq=16, ft, cold, graph is 2.643e-05 s, but that of its row in "
        "results.csv is 7.929e-05 s; these samples are not used; restore both files from one run, or measure again"
    )
    assert warned(folder) == ([told], 15)
    change(folder, lambda rows: longer([rows[0], *rows[2:]], 3))
    ((told,), left) = warned(folder)
    assert "seq=16, ft, cold, events is" in told
    assert "these samples are not used, nor those of 5 more rows; restore" in told
    assert left == 0


@pytest.mark.parametrize(("factor", "left"), [(1 + 9e-5, 18), (1 - 9e-5, 18), (1 + 1.2e-4, 0), (1 - 1.2e-4, 0)])
def test_digits_that_samples_do_not_have_are_no_difference(folder: Path, factor: float, left: int) -> None:
    change(folder, lambda rows: longer(rows, factor))
    assert warned(folder)[1] == left


@pytest.mark.parametrize(
    "cells", [{"reason": "by graph, 1 of 4 samples were not above 0 s: left out"}, {"min_s": "-1e-9"}]
)
def test_rows_of_more_samples_than_were_kept_keep_those(folder: Path, cells: dict[str, str]) -> None:
    """Of a median of samples that are not above 0 too."""
    change(folder, lambda rows: longer(rows[1:2], 0.9))
    change(folder, lambda rows: rows[1].update(cells))
    assert warned(folder) == ([], 18)
    change(
        folder, lambda rows: rows[1].update(reason="by events, 1 of 4 samples were not above 0 s: left out", min_s="")
    )
    assert warned(folder)[1] == 15, "those by another method tell nothing of it"


def test_the_median_of_an_even_number_of_samples_is_between_two(folder: Path) -> None:
    samples = [("seq=64", "ft", "cold", "events", number, f"{one}e-05") for number, one in enumerate((4, 1, 3, 2))]
    Store(folder).append([{**TIMED, "case": "seq=64", "median_s": 2.5e-5, "low_s": 1e-5, "high_s": 4e-5}], samples)
    assert warned(folder) == ([], 22)


def test_no_run_that_kernelbench_ships_contradicts_itself() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RunWarning)
        for folder in shipped_runs():
            assert len(read_run(folder).samples) >= 0
