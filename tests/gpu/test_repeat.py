"""The suite of the published table, run twice: quickly, and with the same answer."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kernelbench.runs.results import Run, read_run

pytestmark = [pytest.mark.gpu, pytest.mark.nvcc]

FROM_S = 20e-6  # below, a hundredth is a few steps of the event clock
WITHIN = 0.01
SECONDS = 30  # of a run whose kernels are compiled


def timed_run(out: Path) -> tuple[Run, float]:
    """The command as a user types it: each run is a process with a context of its own."""
    began = time.monotonic()
    command = [sys.executable, "-m", "kernelbench", "run", "softmax", "--device", "cuda", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return read_run(out), time.monotonic() - began


@pytest.mark.timeout(500)
def test_two_runs_agree_within_one_percent(device: Any, compiler: Any, tmp_path: Path) -> None:
    first, first_s = timed_run(tmp_path / "first")
    second, second_s = timed_run(tmp_path / "second")
    print(f"\nfirst run {first_s:.1f} s, {first.environment['builds']}; second {second_s:.1f} s")
    for run in (first, second):
        bad = [one for one in run.rows if one.status in ("failed", "wrong") and one.role != "specimen"]
        assert not run.has_failures, [(one.case, one.implementation, one.reason) for one in bad]
    assert second.environment["builds"]["compiled"] == 0
    assert second_s < SECONDS

    key = ["case", "implementation", "cache", "method"]
    both = first.table.merge(second.table, on=key, suffixes=("_1", "_2"))
    both = both[both["median_s_1"] >= FROM_S]
    both["change"] = both["median_s_2"] / both["median_s_1"] - 1
    both = both.sort_values("change", key=abs, ascending=False)
    assert len(both) > 20
    print(f"{len(both)} medians from {FROM_S * 1e6:.0f} us up; the largest changes:")
    print(both[[*key, "median_s_1", "median_s_2", "change"]].head(12).to_string(index=False))
    apart = both[both["change"].abs() > WITHIN]
    assert apart.empty, f"{len(apart)} of {len(both)} medians differ by more than {WITHIN:.0%}"
