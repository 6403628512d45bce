"""What lies where something is to be written, and whether `--out` may name it.

A file is written beside its place and renamed over it. A device, a pipe or a link that lies there would be replaced,
so a place that the user names must be empty or hold a file.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from kernelbench.core.errors import InputError
from kernelbench.core.writing import kind_of


def require_file_place(path: Path) -> None:
    """InputError unless a file can be written as `path`: a new one, or in the place of a file that may be written.

    Folders on the way that are missing can be made.
    """
    found = kind_of(path)
    if found == "a link":
        raise InputError(f"--out {path}: a link to {os.readlink(path)}; name that file itself, or another one")
    if found not in ("", "a file"):
        raise InputError(f"--out {path}: {found}, which would be replaced; name a file")
    if found and not os.access(path, os.W_OK):
        raise InputError(f"--out {path}: cannot be written ({os.strerror(errno.EACCES)}); name another file")
    folder = next(one for one in path.absolute().parents if kind_of(one))
    wrong = errno.ENOTDIR if not folder.is_dir() else 0 if os.access(folder, os.W_OK | os.X_OK) else errno.EACCES
    if wrong:
        raise InputError(f"{path.parent}: cannot write here ({os.strerror(wrong)}); choose another place with --out")


def require_folder_place(path: Path) -> None:
    """InputError where something else than a folder, or a link to one, lies at `path`."""
    if (found := kind_of(path)) and not path.is_dir():
        leads = " that leads to no folder" if found == "a link" else ""
        raise InputError(f"--out {path}: {found}{leads}; expected a folder, which is made where there is none")
