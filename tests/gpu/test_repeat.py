"""The suite of the published table, run twice: quickly, and with the same answer."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kernelbench.runs.results import Run, read_run

pytestmark = [pytest.mark.gpu, pytest.mark.timed, pytest.mark.nvcc]

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


@pytest.fixture(scope="module")
def runs(_opened: Any, compiler: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run, float]:
    """Two runs, and the seconds of the second, for which all is compiled."""
    folder = tmp_path_factory.mktemp("runs")
    first, first_s = timed_run(folder / "first")
    second, second_s = timed_run(folder / "second")
    print(f"\nfirst run {first_s:.1f} s, {first.environment['builds']}; second {second_s:.1f} s")
    return first, second, second_s


@pytest.mark.timeout(500)
def test_a_run_whose_kernels_are_compiled_is_quick(runs: tuple[Run, Run, float]) -> None:
    _, second, second_s = runs
    assert second.environment["builds"]["compiled"] == 0
    assert second_s < SECONDS


@pytest.mark.timeout(500)
def test_two_runs_agree_within_one_percent(runs: tuple[Run, Run, float]) -> None:
    for run in runs[:2]:
        bad = [one for one in run.rows if one.status in ("failed", "wrong") and one.role != "specimen"]
        assert not run.has_failures, [(one.case, one.implementation, one.reason) for one in bad]
    then, now = (
        {(row.case, row.implementation, row.cache, row.method): row.times[1] for row in run.rows if row.times}
        for run in runs[:2]
    )
    changes = {key: now[key] / seconds - 1 for key, seconds in then.items() if key in now and seconds >= FROM_S}
    assert len(changes) > 20
    print(f"{len(changes)} medians from {FROM_S * 1e6:.0f} us up; the largest changes:")
    for key in sorted(changes, key=lambda key: -abs(changes[key]))[:12]:
        print(*key, then[key], now[key], changes[key])
    apart = [key for key, change in changes.items() if abs(change) > WITHIN]
    assert not apart, f"{len(apart)} of {len(changes)} medians differ by more than {WITHIN:.0%}"
