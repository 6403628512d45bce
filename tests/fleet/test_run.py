"""Whole fleets of simulated GPUs with real Dask processes: every GPU, shared cases, kills, Ctrl-C."""

import json
import shutil
import signal
from pathlib import Path

import psutil
import pytest

from kernelbench.compare import compare_within
from kernelbench.core import places
from kernelbench.runs.results import read_run
from tests.fleet.conftest import Fleets, measuring
from tests.processes import until

pytestmark = pytest.mark.nvcc
SMALL = ("--only", "naive,ft", "--filter", "seq<=32")
LONGER = ("--only", "naive,ft")  # six cases, two of which a simulated GPU counts at once
TWO = "simulated:h200,simulated:h200"


def cases(folder: Path) -> int:
    return len({row.case for row in read_run(folder).rows}) if (folder / "results.csv").exists() else 0


def test_each_gpu_counts_every_row_and_one_page_shows_all(fleets: Fleets) -> None:
    gpus = "simulated:a100,simulated:t4,simulated:h200"
    code, out, messages = fleets.run("run", "softmax", "--gpus", gpus, *SMALL, "--out", "f")
    assert code == 0, messages
    folder = fleets.folder / "f"
    for label in ("a100", "t4", "h200"):
        run = read_run(folder / label / "softmax")
        assert [row.implementation for row in run.rows] == ["naive", "ft"] * 2
        assert run.device == f"simulated ({label.upper()} properties)"
        assert not run.stopped
    page = (folder / "report.html").read_text()
    assert "What no run can be faster than" in page
    assert "default-src 'none'" in page
    report = json.loads((folder / "report.json").read_text())
    assert {row["gpu"] for row in report["counts"] if row["count"] == "bound"} == {"a100", "t4", "h200"}
    assert "3 simulated GPUs counted what kernels do and timed nothing: " in out
    assert "published claim" not in out, "none of them can be decided by these counts"
    assert json.loads((folder / "fleet.json").read_text())["finished"]
    assert fleets.left() == []

    code, _, messages = fleets.run("run", "softmax", "--gpus", gpus, *SMALL, "--out", "f")
    assert (code, "add --resume" in messages) == (2, True)
    code, _, messages = fleets.run("run", "softmax", "--gpus", gpus, *SMALL, "--out", "f", "--resume")
    assert (code, "3 of 3 runs are finished" in messages) == (0, True)
    code, _, messages = fleets.run("run", "softmax", "--gpus", gpus, "--only", "ft", "--out", "f", "--resume")
    assert (code, "its options were --only naive,ft" in messages) == (2, True)


def test_gpus_share_whole_suites(fleets: Fleets) -> None:
    shutil.copy(places.SUITES / "softmax.yaml", fleets.folder / "other.yaml")
    share = ("run", "softmax", "other.yaml", "--share", "--gpus", TWO, "--only", "naive,ft", "--filter", "seq<=32")
    code, out, messages = fleets.run(*share, "--out", "all", "--no-report")  # a name that Dask has for a topic too
    assert code == 0, messages
    assert "counted what kernels do and timed nothing" in out, "what it says needs no page"
    assert "page: " not in messages
    assert "Traceback" not in messages
    folder = fleets.folder / "all"
    owners = [read_run(folder / suite).environment["shared"] for suite in ("softmax", "other")]
    assert [list(one) for one in owners] == [["h200"], ["h200-2"]]
    assert not (folder / "parts" / "h200" / "other").exists()
    code, _, messages = fleets.run(*share, "--out", "all", "--no-report", "--resume")
    assert (code, "2 of 2 runs are finished" in messages) == (0, True)


@pytest.mark.exhaustive  # as the next two: up to 30 s, most of them waiting for Dask and a simulator
def test_a_gpu_that_is_free_takes_over_a_suite_and_resume_finds_it_there(fleets: Fleets) -> None:
    """All suites have one case and so look alike; the first takes longer than the other three together."""
    softmax = (places.SUITES / "softmax.yaml").read_text()
    for name, seq in (("slow", 128), ("one", 16), ("two", 16), ("three", 16)):
        own = softmax.replace("seq: [16, 32, 64, 128, 512, 1024]", f"seq: [{seq}]").partition("claims: ")[0]
        (fleets.folder / f"{name}.yaml").write_text(own)
    share = ("run", "slow.yaml", "one.yaml", "two.yaml", "three.yaml", "--share", "--gpus", TWO, "--only", "oneflow",
             "--full", "--out", "f", "--no-report")  # fmt: skip
    code, _, messages = fleets.run(*share)
    assert code == 0, messages
    owners = {name: list(read_run(fleets.folder / "f" / name).environment["shared"]) for name in ("slow", "two")}
    assert owners == {"slow": ["h200"], "two": ["h200-2"]}
    assert json.loads((fleets.folder / "f" / "fleet.json").read_text())["taken_over"] == {"two": "h200-2"}
    code, _, messages = fleets.run(*share, "--resume")
    assert (code, "4 of 4 runs are finished" in messages) == (0, True)


@pytest.mark.exhaustive
def test_a_killed_worker_loses_its_rows_in_flight_alone(fleets: Fleets) -> None:
    share = ("run", "softmax", "--share", "--gpus", TWO, *LONGER, "--out", "f", "--no-report")
    client = fleets.start(*share)
    part = fleets.folder / "f" / "parts" / "h200-2" / "softmax"
    until(lambda: cases(part) >= 1)
    (own,) = [one for one in measuring(fleets) if str(part) in one.cmdline()]
    psutil.Process(own.ppid()).kill()
    _, messages = client.communicate(timeout=200)
    assert client.returncode == 1
    assert "h200-2: softmax was not finished: its worker was lost; --resume goes on" in messages
    until(lambda: not fleets.left(), 60)
    kept = (part / "results.csv").read_text()
    finished = cases(part)
    assert 1 <= finished < 3
    joined = read_run(fleets.folder / "f" / "softmax")
    assert len({row.case for row in joined.rows}) == 3 + finished, "those of the other GPU, and of the lost worker"

    code, _, messages = fleets.run(*share, "--resume")
    assert code == 0, messages
    assert "1 of 2 runs are finished" in messages
    assert f"h200-2: softmax: {finished} of 3 cases are finished" in messages
    assert "measured again" not in messages
    assert (part / "results.csv").read_text().startswith(kept)
    joined = read_run(fleets.folder / "f" / "softmax")
    assert [row.words["seq"] for row in joined.rows[::2]] == ["16", "32", "64", "128", "512", "1024"]
    shares = joined.environment["shared"]
    assert sorted(case for one in shares.values() for case in one["cases"]) == sorted({row.case for row in joined.rows})
    assert all(len(one["cases"]) == 3 for one in shares.values())
    assert compare_within(joined, "ft", {})


@pytest.mark.exhaustive
def test_ctrl_c_keeps_what_is_finished(fleets: Fleets) -> None:
    words = ("run", "softmax", "--gpus", "simulated:h200", *LONGER, "--out", "f", "--no-report")
    client = fleets.start(*words)
    folder = fleets.folder / "f" / "h200" / "softmax"
    until(lambda: cases(folder) >= 1)
    client.send_signal(signal.SIGINT)
    _, messages = client.communicate(timeout=100)
    assert client.returncode == 130, messages
    assert "Finished cases are kept; the same command with --resume goes on." in messages
    assert "Traceback" not in messages
    until(lambda: not fleets.left(), 60)
    finished = cases(folder)
    assert 1 <= finished < 6
    code, _, messages = fleets.run(*words, "--resume")
    assert code == 0, messages
    assert f"h200: softmax: {finished} of 6 cases are finished" in messages
    assert cases(folder) == 6
