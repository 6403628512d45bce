"""`run --counters` on this GPU: its launches under Nsight Compute, beside the simulator's."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core import places
from kernelbench.core.hardware_counters import count_agreement
from kernelbench.runs.hardware_counters import read_counters
from kernelbench.runs.results import read_run

pytestmark = [pytest.mark.gpu, pytest.mark.nvcc]


@pytest.mark.timeout(300)
def test_launches_are_found_counted_and_compared(device: Any, compiler: Any, tmp_path: Path) -> None:
    if shutil.which("g++") is None or find_spec("ncu_report") is None:
        pytest.skip("g++ and ncu-report are needed")
    out = tmp_path / "run"
    command = [sys.executable, "-m", "kernelbench", "run", "softmax", "--filter", "seq=512", "--only",
               "ft,oneflow,naive,tree_modulo,copy,torch", "--quick", "--cache", "cold", "--counters", "--no-report",
               "--out", str(out)]  # fmt: skip
    done = subprocess.run(command, cwd=places.ROOT, capture_output=True, text=True, timeout=280, check=False)
    print(done.stdout)
    about = json.loads((out / "environment.json").read_text())["counters"]
    if why := about.get("unavailable"):
        pytest.skip(why)
    run, launches = read_run(out), read_counters(out)
    correct = {row.implementation for row in run.rows if row.status == "ok"}
    assert {one.implementation for one in launches} == correct
    assert [one for one in launches if not one.hardware] == []
    compared = [one for one in launches if one.agreement]
    assert {one.implementation for one in compared} == correct - {"torch"}
    assert [one for one in compared if one.agreement == "unexplained"] == []
    assert count_agreement(launches).equal > 0
    for one in launches:
        assert 0 < one.hardware["achieved_occupancy"] <= 1
        assert one.hardware["dram_read_bytes"] > 0
        assert one.stalls
    assert {row.cache for row in run.rows if row.times} == {"cold"}, "the pass adds no times"
