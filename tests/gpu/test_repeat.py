"""The suite of the published table, run twice: quickly, and with the same answer."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kernelbench.runs.results import Run, read_run
from kernelbench.walks import answers

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
        bad = [(row.case, row.implementation, row.reason) for row in run.rows if row.status in ("failed", "wrong")]
        assert not answers.has_failures(run), bad
    assert second.environment["builds"]["compiled"] == 0
    assert second_s < SECONDS

    then, now = (
        {(row.case, row.implementation, row.cache, row.method): row.times[1] for row in run.rows if row.times}
        for run in (first, second)
    )
    changes = {key: now[key] / seconds - 1 for key, seconds in then.items() if key in now and seconds >= FROM_S}
    assert len(changes) > 20
    print(f"{len(changes)} medians from {FROM_S * 1e6:.0f} us up; the largest changes:")
    for key in sorted(changes, key=lambda key: -abs(changes[key]))[:12]:
        print(*key, then[key], now[key], changes[key])
    apart = [key for key, change in changes.items() if abs(change) > WITHIN]
    assert not apart, f"{len(apart)} of {len(changes)} medians differ by more than {WITHIN:.0%}"
