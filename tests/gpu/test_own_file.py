"""A `.cu` of the user's on a GPU: a kernel with its grid, and host code that launches with `<<<>>>`."""

import subprocess
import sys
from pathlib import Path

import pytest

from kernelbench.runs.results import read_run
from tests.cli.test_cu import LAUNCHER, NAIVE

pytestmark = [pytest.mark.gpu, pytest.mark.nvcc, pytest.mark.usefixtures("_opened", "compiler")]

WRONG = NAIVE.replace("/ sum", "/ (sum + 1)")


def run(folder: Path, text: str, entry: str) -> subprocess.CompletedProcess[str]:
    """Of softmax, with the text as `my.cu` and its kernel or host function `entry`."""
    (folder / "my.cu").write_text(text)
    command = [sys.executable, "-m", "kernelbench", "run", "softmax", "--cu", str(folder / "my.cu"), "--entry", entry]
    command += ["--only", "my,naive", "--set", "seq=32,100", "--device", "cuda"]
    command += ["--out", str(folder / "run"), "--no-report"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("text", "entry"),
    [("// grid: ceil(rows / 256)\n// block: 256\n" + NAIVE, "my_softmax"), (NAIVE + LAUNCHER, "go")],
    ids=["kernel", "launcher"],
)
def test_it_is_right_and_timed(tmp_path: Path, text: str, entry: str) -> None:
    done = run(tmp_path, text, entry)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = read_run(tmp_path / "run").rows
    assert {(row.implementation, row.status) for row in rows} == {("my", "ok"), ("naive", "ok")}
    timed = {(row.implementation, row.case) for row in rows if row.median_s}
    assert timed == {(row.implementation, row.case) for row in rows}


def test_a_wrong_one_that_host_code_launches_gets_no_time(tmp_path: Path) -> None:
    done = run(tmp_path, WRONG + LAUNCHER, "go")
    assert done.returncode == 1, done.stdout + done.stderr
    rows = read_run(tmp_path / "run").rows
    assert {(row.status, row.median_s) for row in rows if row.implementation == "my"} == {("wrong", None)}
    assert any(row.median_s for row in rows if row.implementation == "naive")
