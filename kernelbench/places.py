"""Where kernels, suites, ledger and recorded runs lie: beside the package in a checkout (or editable
install), inside it in a wheel."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent if (PACKAGE.parent / "kernels").is_dir() else PACKAGE / "_data"

KERNELS = ROOT / "kernels"
SPECIMENS = ROOT / "tests" / "specimens"
SUITES = ROOT / "suites"
LEDGER = ROOT / "results" / "published"
RECORDED = ROOT / "results"  # results/<gpu>/<suite>/: runs that the project ships


def runs() -> Path:
    """The user's own runs: results/runs/ in a checkout, else below the current folder."""
    base = ROOT if ROOT != PACKAGE / "_data" else Path.cwd()
    return base / "results" / "runs"


def cache() -> Path:
    """Compiled kernels: KERNELBENCH_CACHE, else the user's cache folder."""
    if override := os.environ.get("KERNELBENCH_CACHE"):
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kernelbench"
