"""Energy on a GPU: joules per call over seconds per call are watts that this board can draw, and repeats agree."""

import subprocess
import sys
from pathlib import Path

import pytest

from kernelbench.runs.results import read_run
from kernelbench.runs.row_records import Row

pytestmark = [
    pytest.mark.gpu, pytest.mark.timed, pytest.mark.nvcc, pytest.mark.usefixtures("_opened", "compiler"),
]  # fmt: skip

LARGE = ("--set", "shape=268435456", "--dtype", "float32", "--only", "copy", "--cache", "cold")  # 1 GB each way
SMALL = ("--set", "shape=65536", "--dtype", "float32", "--only", "copy", "--cache", "cold")


def run(out: Path, *arguments: str) -> list[Row]:
    command = [sys.executable, "-m", "kernelbench", "run", "copy", *arguments, "--energy", "--device", "cuda"]
    done = subprocess.run([*command, "--no-report", "--out", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    return [row for row in read_run(out).rows if row.cache == "cold"]


@pytest.mark.timeout(600)
def test_the_power_that_it_comes_to_is_one_the_board_draws(tmp_path: Path) -> None:
    found = [run(tmp_path / f"large{number}", *LARGE) for number in range(2)]
    limit = float(read_run(tmp_path / "large0").environment["device"]["power_limit_w"])
    watts = [row.energy_j / row.median_s for rows in found for row in rows]
    assert all(0.15 * limit < one < 1.05 * limit for one in watts), watts
    assert max(watts) / min(watts) < 1.1, watts


def test_a_case_that_the_l2_holds_has_a_reason_instead(tmp_path: Path) -> None:
    rows = run(tmp_path / "small", *SMALL)
    assert all(row.energy_j is None and "no energy: " in row.reason for row in rows), rows
