"""Temporary folders beside the place where their contents will go, and the removal of those that killed processes left.

The contents are renamed to their place in one step, so they are there completely or not at all.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

PREFIX = ".making-"
ABANDONED_S = 24 * 3600  # older folders that no process holds were left by a killed process


@contextmanager
def workspace(parent: Path) -> Iterator[Path]:
    """A new folder in `parent`, which is created if needed. What is left in it at the end is deleted.

    A lock of the operating system holds the folder; it ends with this process, however that ends.
    """
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: then only age counts
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Make others that ask for this folder, in this process or another, wait until this block ends."""
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: then both do the work
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def delete_old_workspaces(parent: Path) -> None:
    """Delete the workspaces in `parent` that are a day old and that no process holds."""
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # its owner or another process was faster, or another user owns it
            if time.time() - path.stat().st_mtime > ABANDONED_S and not _held(path):
                _delete(path)


def put_away(path: Path) -> None:
    """Remove something damaged, of whatever kind, from its place; FileNotFoundError if nothing is there."""
    aside = path.with_name(f"{PREFIX}{uuid4().hex}")  # in the same folder, where even unreadable folders can be renamed
    os.rename(path, aside)
    with suppress(OSError):
        _delete(aside)


def _held(path: Path) -> bool:
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def _delete(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    path.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)
