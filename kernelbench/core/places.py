"""Folders of kernels, suites, ledger and recorded runs: beside the package in a checkout or editable install, inside it
in a wheel."""

import os
from contextlib import suppress
from pathlib import Path

from kernelbench.core.errors import InputError

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent if (PACKAGE.parent / "kernels").is_dir() else PACKAGE / "_data"

KERNELS = ROOT / "kernels"
SPECIMENS = ROOT / "tests" / "specimens"
SUITES = ROOT / "suites"
LEDGER = ROOT / "results" / "published"
TUNED = PACKAGE / "planning" / "tables"  # tables of launch parameters that the project ships
RECORDED = ROOT / "results"  # results/<gpu>/[<group>/]<suite>/: runs that the project ships


def in_checkout() -> bool:
    return ROOT != PACKAGE / "_data"


def runs() -> Path:
    """The user's own runs: results/runs/ in a checkout, else below the current folder."""
    return (ROOT if in_checkout() else Path.cwd()) / "results" / "runs"


def as_typed(run: Path) -> str:
    """A run's folder as one types it: those of the project as `results/h200/softmax`, which commands find anywhere."""
    path, recorded = run.resolve(), RECORDED.resolve()
    return str(path.relative_to(recorded.parent) if path.is_relative_to(recorded) else run)


def cache() -> Path:
    """Folder of compiled kernels: KERNELBENCH_CACHE, else in the user's cache folder; InputError without either."""
    if override := os.environ.get("KERNELBENCH_CACHE"):
        return Path(override)
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:  # the system does not know the user, as in some containers
        raise InputError("no home folder to keep compiled kernels in; name a folder in KERNELBENCH_CACHE") from error
    return Path(base) / "kernelbench"


def share_cache() -> None:
    """Let libraries use the same folder for their caches: a home folder may be read-only."""
    with suppress(InputError):
        for variable, name in (("CUPY_CACHE_DIR", "cupy"), ("MPLCONFIGDIR", "matplotlib")):
            os.environ.setdefault(variable, str(cache() / name))


def own_tuned() -> Path | None:
    """Folder of the user's tables of tuned launch parameters: KERNELBENCH_TUNED, else in the user's configuration
    folder. None without either, and where KERNELBENCH_TUNED is "none"."""
    if override := os.environ.get("KERNELBENCH_TUNED"):
        return None if override == "none" else Path(override)
    try:
        base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    except RuntimeError:  # the system does not know the user
        return None
    return Path(base) / "kernelbench" / "tuned"


def tuned() -> tuple[Path, ...]:
    """Folders of tables of tuned launch parameters, the user's own first; none where KERNELBENCH_TUNED is "none"."""
    if os.environ.get("KERNELBENCH_TUNED") == "none":
        return ()
    return tuple(folder for folder in (own_tuned(), TUNED) if folder)


def locks() -> Path:
    """Folder of the locks on GPUs, which all users of this machine share: KERNELBENCH_LOCKS, else /tmp. Not TMPDIR,
    which differs from job to job where a scheduler sets it."""
    return Path(os.environ.get("KERNELBENCH_LOCKS") or "/tmp")
