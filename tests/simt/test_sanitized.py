"""The runtime with the checks of AddressSanitizer and UndefinedBehaviorSanitizer, in a process that loads them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernelbench.core import places
from kernelbench.simt import native
from tests.simt import sanitized_job

ROOT = Path(__file__).parents[2]


def sanitizer() -> str:
    """Path of libasan, as g++ knows it."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        pytest.skip("no g++: the simulator cannot be built")
    asked = [compiler, "-print-file-name=libasan.so"]
    found = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    if not found.is_file():
        pytest.skip("g++ has no libasan")
    return str(found.resolve())


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_whatever_runs_the_runtime_keeps_to_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    preload = sanitizer()
    monkeypatch.setattr(native, "SANITIZE", sanitized_job.CHECKS)
    native.built(sanitize=True)  # outside, since g++ itself would be slow under libasan
    environment = {
        **os.environ,
        "LD_PRELOAD": preload,
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "KERNELBENCH_CACHE": str(places.cache()),
        "PYTHONPATH": str(ROOT),
    }
    job = [sys.executable, "-m", "tests.simt.sanitized_job"]
    done = subprocess.run(job, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    assert "launches" in done.stdout
