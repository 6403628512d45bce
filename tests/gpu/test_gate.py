"""`kernelbench gate` on a GPU: a planted slowdown of 3 % is found, a change that changes no work passes, every time."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernelbench.runs.results import read_run

pytestmark = [pytest.mark.gpu, pytest.mark.timed, pytest.mark.nvcc]

SLOWED = Path(__file__).parent / "slowed"
TIMES = 10
CASES = ("--only", "steady", "--filter", "n>=11342848", "--filter", "n<=317053952")  # 20 us to 700 us on an H200


@pytest.fixture
def versions(_opened: object, compiler: object, tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with the same kernels."""
    folders = tmp_path / "base", tmp_path / "head"
    for folder in folders:
        shutil.copytree(SLOWED / "copy", folder / "copy", ignore=shutil.ignore_patterns("__pycache__"))
    return folders


def gate(base: Path, head: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kernelbench", "gate", str(base), str(head), str(SLOWED / "slowed.yaml"), *CASES]
    command += ["--device", "cuda", "--out", str(out), "--markdown", str(out.with_suffix(".md"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    return done


def change(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / "copy" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.timeout(1200)
def test_a_planted_slowdown_of_3_per_cent_is_found_every_time(versions: tuple[Path, Path], tmp_path: Path) -> None:
    base, head = versions
    change(head, "slowed.py", '"steady": 0', '"steady": 30')
    for number in range(TIMES):
        done = gate(base, head, tmp_path / f"planted{number}")
        assert done.returncode == 3, done.stdout
        counts = re.search(r"(\d+) timed rows: (\d+) SLOWER", " ".join(done.stdout.split()))
        assert counts is not None
        assert int(counts[2]) >= 0.95 * int(counts[1])
        assert "REGRESSION: steady" in (tmp_path / f"planted{number}.md").read_text()
        state = json.loads((tmp_path / f"planted{number}" / "slowed" / "environment.json").read_text())
        assert set(state["gate"]) == {"base", "head"}


@pytest.mark.timeout(1200)
def test_other_code_that_does_the_same_work_passes_every_time(versions: tuple[Path, Path], tmp_path: Path) -> None:
    """A branch that is never taken makes other machine code, so that both versions are measured."""
    base, head = versions
    change(head, "slowed.cu", "y[pack] = x[pack];", "y[pack] = x[pack];\n    if (packs < 0) y[0] = y[1];")
    for number in range(TIMES):
        out = tmp_path / f"same{number}"
        done = gate(base, head, out)
        assert done.returncode == 0, done.stdout
        assert {row.implementation for row in read_run(out / "slowed").rows} == {
            "steady",
            "steady.base",
            "steady.base.again",
        }


def test_an_equal_commit_is_not_measured(versions: tuple[Path, Path], tmp_path: Path) -> None:
    base, head = versions
    change(head, "slowed.cu", "// A copy of x to y", "// Another copy of x to y")
    done = gate(base, head, tmp_path / "equal")
    assert done.returncode == 0, done.stdout
    assert "run the same machine code" in " ".join(done.stdout.split())
    assert not (tmp_path / "equal").exists()
