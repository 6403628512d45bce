"""Our cold medians against NVBench's, kernel by kernel; NVBench is NVIDIA's own harness (package cuda-bench).

With KERNELBENCH_RECORD=FOLDER the times are kept as FOLDER/nvbench.json; docs/measuring.md shows the recorded ones.
"""

from __future__ import annotations

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


def require_nvbench() -> None:
    for module, package in (("cuda.bench", "cuda-bench"), ("cuda.bindings", "cuda-bindings")):
        try:
            importlib.import_module(module)
        except ImportError as error:
            pytest.skip(f"{package} is not installed ({error}): pip install 'kernelbench[nvbench]'")


@pytest.mark.timeout(400)
def test_cold_medians_agree_with_nvbench(device: Any, compiler: Any, tmp_path: Path) -> None:
    require_nvbench()
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), json.dumps(PAIRS), str(tmp_path)],
        capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    said = f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert (tmp_path / "times.json").is_file(), f"exit code {done.returncode}\n{said}"
    rows = json.loads((tmp_path / "times.json").read_text())
    if folder := os.environ.get("KERNELBENCH_RECORD"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / "times.json", Path(folder) / "nvbench.json")
    assert [(row["implementation"], tuple(row["shape"])) for row in rows] == PAIRS
    print("\n| kernel | shape | NVBench (us) | ours (us) | difference |\n|---|---|---|---|---|")
    apart = []
    for row in rows:
        theirs, ours = row["nvbench_s"], row["ours_s"]
        assert row["nvbench_samples"] >= 300
        difference = f"{(ours / theirs - 1) * 100:+.2f} %" if theirs >= LONG_S else f"{(ours - theirs) * 1e6:+.2f} us"
        shape = "x".join(map(str, row["shape"]))
        line = f"| {row['implementation']} | {shape} | {theirs * 1e6:.2f} | {ours * 1e6:.2f} | {difference} |"
        print(line)
        if abs(ours - theirs) > (WITHIN * theirs if theirs >= LONG_S else WITHIN_S):
            apart.append(line)
    assert min(row["nvbench_s"] for row in rows) < LONG_S < max(row["nvbench_s"] for row in rows)
    assert not apart, "more than 1 %, or 0.5 us, apart:\n" + "\n".join(apart)
