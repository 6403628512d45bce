"""Kernels that take their process down on a GPU: each costs its own row, and the others are right and timed."""

import subprocess
import sys
from pathlib import Path

import pytest

from kernelbench.runs.results import read_run

pytestmark = [pytest.mark.gpu, pytest.mark.nvcc]

BROKEN = Path(__file__).parent / "broken"
REASONS = {  # a part of what each row must say
    "illegal_address": "illegal memory access",
    "misaligned": "misaligned address",
    "endless": "no sign of life for 20 s",
    "trap": "",  # drivers have had several names for it
    "assertion": "assert",
    "too_large": "",
    "greedy": "memory",
    "crashing": "SIGABRT",
}


@pytest.mark.timeout(400)
def test_broken_kernels_cost_their_own_rows(device: object, compiler: object, tmp_path: Path) -> None:
    names = ["naive", *REASONS, "tree_shuffle"]
    command = [sys.executable, "-m", "kernelbench", "run", "softmax", "--device", "cuda", "--filter", "seq=64"]
    command += ["--kernels", str(BROKEN), "--only", ",".join(names), "--timeout", "20", "--quick", "--no-report"]
    done = subprocess.run([*command, "--out", str(tmp_path / "run")], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    rows = {row.implementation: row for row in read_run(tmp_path / "run").rows}
    for name, row in rows.items():
        print(name, row.status, row.reason)
    for name, part in REASONS.items():
        assert rows[name].status == "failed", f"{name}: {rows[name].status}"
        assert part in rows[name].reason, f"{name}: {rows[name].reason}"
    for name in ("naive", "tree_shuffle"):
        assert rows[name].times, rows[name].reason
