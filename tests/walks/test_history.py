"""`kernelbench history`: which runs of a folder it sets against each other, and what it prints and writes."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from kernelbench import devices
from kernelbench.core import columns
from tests.conftest import Command, Project, softmax
from tests.endings import ended, refused
from tests.fake_simulator import FakeSimulator


@pytest.fixture
def nightly(project: Project, command: Command) -> Path:
    """Four runs, of which the last two have a slower `good`."""
    suite = project.suite("good, other", "[8, 16]")
    for seconds in (50e-6, 50e-6, 55e-6, 55e-6):
        project.device.kernels["good"] = (softmax, seconds, 5e-6)
        ended(0, command("run", suite, "--cache", "cold", "--no-report"))
    return project.root / "results" / "runs"


def change(folder: Path, **state: object) -> None:
    path = folder / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **state}))


def test_the_answer_comes_first_then_the_step_and_its_suspects(nightly: Path, command: Command) -> None:
    runs = sorted(nightly.iterdir())
    change(runs[1], git_commit="before")
    change(runs[2], git_commit="after")
    told = " ".join(ended(0, command("history"))[0].split())
    assert told.startswith("small on Fake GPU: 2 of 4 rows changed over 4 runs, 2")
    assert "2 rows slower by 9.8 %." in told
    assert "2 rows (good): calls of a library." in told
    assert "What else changed: commit: before, then after." in told
    assert (
        told.index("2 rows slower")
        < told.index("Rows; a positive change is slower")
        < told.index("Runs run started commit")
    )
    assert "columns=8 good cold events 51.00 µs 56.00 µs +9.80 3: +9.80" in told
    assert " other cold" not in told
    assert " other cold events" in " ".join(ended(0, command("history", "small", "--all"))[0].split())


def test_csv_and_json_have_every_row(nightly: Path, command: Command) -> None:
    lines = list(csv.DictReader(io.StringIO(ended(0, command("history", "--format", "csv"))[0])))
    assert list(lines[0]) == columns.column_names(columns.HISTORY)
    assert [(line["implementation"], bool(line["step"])) for line in lines] == [("good", True), ("other", False)] * 2
    assert {line["runs"] for line in lines} == {"4"}
    (found,) = json.loads(ended(0, command("history", "--format", "json"))[0])["histories"]
    assert len(found["runs"]) == 4
    assert len(found["rows"]) == 4
    assert [(event["before"], event["moment"], event["rows"]) for event in found["events"]] == [(1, 2, 2)]
    markdown = ended(0, command("history", "--format", "markdown"))[0]
    assert markdown.startswith("**small on Fake GPU: 2 of 4 rows changed over 4 runs")
    assert "| columns=8 | good | cold | events |" in markdown


def test_the_page_is_one_offline_file_with_a_chart_per_changed_row(nightly: Path, command: Command) -> None:
    change(sorted(nightly.iterdir())[2], git_commit="<script>alert(1)</script>")
    out, _ = ended(0, command("history", "--out", "page/history.html"))
    assert out.endswith("written to page/history.html\n")
    page = Path("page/history.html").read_text()
    assert page.count("<svg ") == 2
    assert "2 of 4 rows changed over 4 runs" in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert "&lt;script&gt;" in page


def test_only_runs_of_one_gpu_model_are_set_against_each_other(nightly: Path, command: Command) -> None:
    runs = sorted(nightly.iterdir())
    for folder in runs[2:]:
        change(folder, device={"name": "Other GPU"})
    told = " ".join(ended(0, command("history"))[0].split())
    assert "small on Fake GPU: 0 of 4 rows changed over 2 runs" in told
    assert "small on Other GPU: 0 of 4 rows changed over 2 runs" in told
    change(runs[3], device={"name": "Third GPU"})
    told = " ".join(ended(0, command("history"))[0].split())
    assert f"{runs[3].name} the only run of small on Third GPU" in told[told.index("Left out") :]


def test_runs_that_do_not_belong_are_left_out_with_the_reason(
    nightly: Path, command: Command, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = sorted(nightly.iterdir())
    change(runs[0], started=None)
    change(runs[1], gate={"base": "a", "head": "b"})
    for name in ("copied", "damaged"):
        shutil.copytree(runs[3], nightly / name)
    (nightly / "damaged" / "environment.json").write_text("{")
    monkeypatch.setattr(devices, "open_device", lambda name: FakeSimulator({"good": (softmax, 0.0, 0.0)}))
    ended(0, command("run", project.root / "suites" / "small.yaml", "--only", "good", "--no-report"))
    told = " ".join(ended(0, command("history"))[0].split())
    assert "changed over 3 runs" in told
    left_out = json.loads(ended(0, command("history", "--format", "json"))[0])["left_out"]
    for place, reason in (
        (runs[0], "environment.json does not say when it was started"),
        (runs[1], "a run of `kernelbench gate`, whose HEAD may never have been merged"),
        (sorted(nightly.glob("2*"))[-1], "a run of the simulator, which has no times"),
        (nightly / "damaged" / "environment.json", "cannot be read"),
    ):
        assert any(one.startswith(f"{place}: {reason}") for one in left_out)
        assert f"{place.relative_to(nightly)} {reason}" in told[told.index("Left out") :]


def test_a_folder_of_folders_is_read_and_another_suite_is_not(
    nightly: Path, command: Command, project: Project
) -> None:
    for number, folder in enumerate(sorted(nightly.iterdir())):
        shutil.copytree(folder, project.root / "archive" / f"night{number}" / "small")
    assert "over 4 runs" in " ".join(ended(0, command("history", "small", "--runs", "archive"))[0].split())
    assert "no two timed runs of 'large' on one model of GPU" in refused(command("history", "large"))
    assert "A folder of runs is named with --runs archive." in refused(command("history", "archive"))
    assert "nowhere: no such folder" in refused(command("history", "--runs", "nowhere"))
