"""Finds the suite file that the user means."""

from __future__ import annotations

import os
from pathlib import Path

from kernelbench.core.errors import InputError
from kernelbench.core.problems import shown, suggest

_SUFFIXES = (".yaml", ".yml")


def find_suite(name_or_path: str, folder: Path) -> Path:
    """The file for 'softmax', 'softmax.yaml', 'suites/softmax.yaml' or any path.

    A path to a file comes first, then the suites of `folder`. Raises InputError, which names the nearest suite.
    """
    given = Path(name_or_path)
    is_path = given.suffix in _SUFFIXES or os.sep in name_or_path
    # `folder.parent`: 'suites/softmax.yaml' works in any current folder.
    bases = (Path(), folder, folder.parent) if is_path else (folder, Path())
    endings = ("", *_SUFFIXES) if is_path else _SUFFIXES
    for candidate in (base / f"{name_or_path}{ending}" for base in bases for ending in endings):
        if _is_file(candidate):
            return candidate
    raise InputError(f"no suite {shown(name_or_path)}{_nearest(given, folder)}")


def require_file(path: Path) -> None:
    """InputError, which names the nearest suite beside it, unless `path` is a file."""
    if not _is_file(path):
        raise InputError(f"{path}: no such file{_nearest(path, path.parent)}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or has a NUL
        return False


def _nearest(given: Path, folder: Path) -> str:
    try:
        names = sorted(path.stem for path in folder.iterdir() if path.suffix in _SUFFIXES)
    except (OSError, ValueError):
        names = []
    return suggest(given.stem, names) or f"; there are none in {folder}"
