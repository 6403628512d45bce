"""`kernelbench.load` and `kernelbench.run`: tables, records, and what they leave on disk."""

import csv
import gzip
import json
import logging
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import kernelbench
from kernelbench.compare.comparison import COMPARISON
from kernelbench.core import columns, places
from kernelbench.core.errors import InputError, ResultsError
from kernelbench.runs.row_records import RESULTS
from tests.conftest import Project
from tests.fake_simulator import FakeSimulator

ROOT = Path(__file__).resolve().parents[2]
SOFTMAX = places.RECORDED / "h200" / "softmax"
PAGE, NOTEBOOK = ROOT / "docs" / "python.md", ROOT / "docs" / "kernelbench.ipynb"


@pytest.fixture(scope="module")
def softmax() -> kernelbench.LoadedRun:
    return kernelbench.load(SOFTMAX)


def test_the_package_is_imported_without_anything_heavy() -> None:
    code = "import sys, kernelbench; kernelbench.__version__; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "rich", "kernelbench.walks"} & set(done.stdout.split())
    assert {"load", "run", "LoadedRun"} <= set(dir(kernelbench))


def test_rows_are_those_of_the_file_with_values_and_axes(softmax: kernelbench.LoadedRun) -> None:
    with gzip.open(SOFTMAX / "results.csv.gz", "rt", newline="") as file:
        written = list(csv.DictReader(file))
    rows = softmax.rows
    assert list(rows.columns) == [*columns.column_names(RESULTS), "seq"]
    assert len(rows) == len(written) > 200
    for name in ("case", "implementation", "status", "method"):
        assert list(rows[name]) == [row[name] for row in written]
    assert rows["median_s"].sum() == pytest.approx(sum(float(row["median_s"] or 0) for row in written))
    assert set(rows["seq"]) == {16, 32, 64, 128, 512, 1024}
    first = rows.iloc[0]
    assert (first["shape"], first["launches"][0][:7], first["input_loads"]) == ((32, 64, 16, 16), "softmax", {"x": 15})
    assert rows["samples"].dtype == "Int64"


def test_tables_and_records_say_the_same(softmax: kernelbench.LoadedRun) -> None:
    table, answer = softmax.comparison("torch"), softmax.answer("torch")
    assert set(table["baseline"]) == {"torch"}
    assert list(table.columns) == [*columns.column_names(COMPARISON), "seq"]
    assert [row.implementation for row in answer.comparison] == list(table["implementation"])
    assert set(softmax.comparison()["baseline"]) == {"ft"}, "the suite's"
    assert list(softmax.claims.columns) == columns.column_names(columns.CLAIMS)
    assert [one.verdict for one in softmax.answer().verdicts] == list(softmax.claims["verdict"])
    assert len(softmax.samples) > 1000
    assert (softmax.suite, softmax.device, softmax.folder) == ("softmax", "NVIDIA H200", SOFTMAX)


def test_a_run_of_the_simulator_has_counts_and_no_samples() -> None:
    run = kernelbench.load(places.RECORDED / "simulated" / "softmax")
    assert run.samples.empty
    assert run.rows["warp_instructions"].max() > 0
    assert run.summary().shape[1] == 6
    assert "warp instructions" in run._repr_html_()


def test_one_case_is_no_plural(softmax: kernelbench.LoadedRun) -> None:
    one = kernelbench.LoadedRun(replace(softmax.run, rows=softmax.run.rows[:1]))
    assert repr(one) == "<softmax on NVIDIA H200, 1 case, 1 row>"


def test_what_a_notebook_shows_is_escaped(softmax: kernelbench.LoadedRun) -> None:
    evil = "<script>alert(1)</script>"
    rows = tuple(replace(row, implementation=evil, case=row.case) for row in softmax.run.rows[:4])
    environment = {**softmax.run.environment, "suite": evil}
    html = kernelbench.LoadedRun(replace(softmax.run, rows=rows, environment=environment))._repr_html_()
    assert evil not in html
    assert html.count("&lt;script&gt;") == 2
    assert "holds in part" in softmax._repr_html_()
    shown = next(row for row in softmax.run.rows if row.implementation == "oneflow" and row.words["seq"] == "512")
    assert shown.median_s is not None
    assert f"{shown.median_s * 1e6:.4g} µs" in softmax._repr_html_()


def test_the_newest_run_is_loaded_where_none_is_named(project: Project) -> None:
    with pytest.raises(ResultsError, match="there is no run yet"):
        kernelbench.load()
    made = kernelbench.run(project.suite("good, other"), quick=True)
    assert kernelbench.load().folder == made.folder
    with pytest.raises(ResultsError, match="no run 'nothing'"):
        kernelbench.load("nothing")


def test_a_suite_is_run_as_the_command_does(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    suite = project.suite("good, other, compiled")
    with caplog.at_level(logging.INFO, "kernelbench"):
        run = kernelbench.run(
            suite, only=["good", "compiled"], filter="columns>=16", cache="cold", quick=True, out=project.root / "mine"
        )
    assert set(run.rows["implementation"]) == {"good", "compiled"}
    assert set(run.rows["columns"]) == {16, 32}
    assert {path.name for path in run.folder.iterdir()} == {"results.csv", "samples.csv.gz", "environment.json"}
    assert any("Measuring small" in message for message in caplog.messages)
    command = json.loads((run.folder / "environment.json").read_text())["command"]
    options = "--only good,compiled --filter 'columns>=16' --cache cold --quick --out"
    assert command.startswith(f"kernelbench run {suite} --no-report {options}")


def test_other_sizes_are_run_without_a_suite_file(project: Project) -> None:
    run = kernelbench.run(project.suite("good"), set="columns=24,40", dtype="float32", quick=True)
    assert set(run.rows["columns"]) == {24, 40}
    assert "--set columns=24,40 --dtype float32 --quick" in run.run.environment["command"]
    with pytest.raises(InputError, match="--grid: belongs to --cu FILE, which is missing"):
        kernelbench.run(project.suite("good"), grid="rows")
    with pytest.raises(InputError, match=r"missing\.cu"):
        kernelbench.run(project.suite("good"), cu=project.root / "missing.cu", grid="rows", block="32")


def test_without_a_gpu_it_counts(project: Project, simulator: FakeSimulator) -> None:
    run = kernelbench.run(project.suite("good, other"), wait=False)
    assert run.run.simulated
    assert "--no-wait" in run.run.environment["command"]
    assert run.rows["median_s"].isna().all()


@pytest.mark.parametrize("name", ["onyl", "suites", "arguments"])
def test_an_unknown_option_is_named(name: str, project: Project) -> None:
    with pytest.raises(
        TypeError, match=f"no option '{name}'; it has those of `kernelbench run --help`, except those for several GPUs"
    ):
        kernelbench.run("small", **{name: "good"})


def test_mistakes_have_the_message_of_the_command_line(project: Project) -> None:
    with pytest.raises(InputError, match="no implementation 'goood'; did you mean 'good'"):
        kernelbench.run(project.suite("good"), only="goood")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)\n```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_notebook_runs_and_is_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "runs", lambda: tmp_path)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["source"] for cell in cells] == blocks("python")[:-1]
    names: dict[str, object] = {}
    for cell in cells:
        *start, last = cell["source"].split("\n")
        exec("\n".join(start), names)
        shown = cell["outputs"][0]["data"]["text/plain"]
        assert repr(eval(last, names)).split() == shown.split()


@pytest.mark.nvcc
def test_the_run_on_the_page_counts_on_the_simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    start, last = blocks("python")[-1].split("\n")
    names: dict[str, object] = {"kernelbench": kernelbench}
    exec(start, names)
    table = eval(last, names)
    assert list(table["implementation"]) == ["naive", "oneflow"]
    assert set(table["status"]) == {"ok"}
    assert (table["lanes_per_instruction"] > 16).all()
    assert (tmp_path / "counted" / "results.csv").is_file()
