"""Python as a process of its own, and what one waits for."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def python(*words: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python to its end, with this checkout on its path."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=60, check=False)


def until(true: Callable[[], Any], seconds: float = 120) -> None:
    """Wait for it."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.002)
