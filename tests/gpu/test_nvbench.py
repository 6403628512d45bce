"""Our cold medians against NVBench's, kernel by kernel; NVBench is NVIDIA's own harness (package cuda-bench).

With KERNELBENCH_RECORD=FOLDER the times are kept as FOLDER/nvbench.json and FOLDER/nvbench_wall.json; docs/measuring.md
shows the recorded ones.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.nvcc]

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("nvbench_script.py")
# From some 5 us to 1 ms; one and five launches, one and three reads, a thread, a warp and a block a row.
PAIRS = [
    ("oneflow", (32, 64, 16, 16)),
    ("ft", (32, 64, 16, 16)),
    ("naive", (32, 64, 16, 16)),
    ("oneflow", (32, 64, 32, 32)),
    ("tree_shuffle", (32, 64, 32, 32)),
    ("oneflow", (32, 64, 64, 64)),
    ("ft", (32, 64, 128, 128)),
    ("five_kernels", (32, 64, 128, 128)),
    ("oneflow_uncached", (4096, 16384)),
    ("oneflow", (32, 64, 512, 512)),
]
LONG_S = 20e-6
WITHIN = 0.01  # from there up
WITHIN_S = 0.5e-6  # below
TIME_SHARE = 0.1  # of NVBench's time with the settings that it comes with


def require_nvbench() -> None:
    for module, package in (("cuda.bench", "cuda-bench"), ("cuda.bindings", "cuda-bindings")):
        try:
            importlib.import_module(module)
        except ImportError as error:
            pytest.skip(f"{package} is not installed ({error}): pip install -e '.[nvbench]'")


@pytest.fixture(scope="module")
def recorded(_opened: Any, compiler: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what one call of the script measured."""
    require_nvbench()
    folder = tmp_path_factory.mktemp("nvbench")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), json.dumps(PAIRS), str(folder)],
        capture_output=True, text=True, cwd=folder, timeout=500, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    said = f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert (folder / "wall.json").is_file(), f"exit code {done.returncode}\n{said}"
    if kept := os.environ.get("KERNELBENCH_RECORD"):
        Path(kept).mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "times.json", Path(kept) / "nvbench.json")
        shutil.copy(folder / "wall.json", Path(kept) / "nvbench_wall.json")
    return folder


def rows_of(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text())
    assert [(row["implementation"], tuple(row["shape"])) for row in rows] == PAIRS
    return rows


def line(row: dict[str, Any], *more: str) -> str:
    theirs, ours = row["nvbench_s"], row["ours_s"]
    difference = f"{(ours / theirs - 1) * 100:+.2f} %" if theirs >= LONG_S else f"{(ours - theirs) * 1e6:+.2f} us"
    shape = "x".join(map(str, row["shape"]))
    cells = (row["implementation"], shape, f"{theirs * 1e6:.2f}", f"{ours * 1e6:.2f}", difference, *more)
    return f"| {' | '.join(cells)} |"


def apart(row: dict[str, Any]) -> bool:
    theirs, ours = row["nvbench_s"], row["ours_s"]
    return bool(abs(ours - theirs) > (WITHIN * theirs if theirs >= LONG_S else WITHIN_S))


@pytest.mark.timeout(600)
def test_cold_medians_agree_with_nvbench(recorded: Path) -> None:
    rows = rows_of(recorded / "times.json")
    print("\n| kernel | shape | NVBench (us) | ours (us) | difference |\n|---|---|---|---|---|")
    print(*map(line, rows), sep="\n")
    assert min(row["nvbench_samples"] for row in rows) >= 300
    assert min(row["nvbench_s"] for row in rows) < LONG_S < max(row["nvbench_s"] for row in rows)
    wrong = [line(row) for row in rows if apart(row)]
    assert not wrong, "more than 1 %, or 0.5 us, apart:\n" + "\n".join(wrong)


@pytest.mark.timeout(600)
def test_the_rounds_agree_with_nvbench_as_it_comes_in_a_tenth_of_its_time(recorded: Path) -> None:
    """Each by its own criterion for when to stop; the rounds with the verification of the last one."""
    rows = rows_of(recorded / "wall.json")
    print("\n| kernel | shape | NVBench (us) | ours (us) | difference | NVBench took (s) | ours took (s) |")
    for row in rows:
        print(line(row, f"{row['nvbench_wall_s']:.2f}", f"{row['ours_wall_s']:.3f}"))
    long = [row for row in rows if row["nvbench_s"] >= LONG_S]
    assert len(long) >= 5
    theirs_s, ours_s = (sum(row[name] for row in long) for name in ("nvbench_wall_s", "ours_wall_s"))
    print(f"from 20 us up: NVBench {theirs_s:.1f} s, ours {ours_s:.2f} s")
    assert ours_s <= TIME_SHARE * theirs_s
    wrong = [line(row) for row in long if apart(row)]
    assert not wrong, "more than 1 % apart:\n" + "\n".join(wrong)
