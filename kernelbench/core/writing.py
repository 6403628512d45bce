"""The kind of what lies at a path, and files that are written in one step."""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def kind_of(path: Path) -> str:
    """The kind of what lies at `path`, without following links: "a file", "a link", "a pipe", ..; '' for nothing."""
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        return ""
    return next((name for holds, name in _KINDS if holds(mode)), "no file")


def write_whole(path: Path, data: bytes | str) -> Path:
    """Write a file in one step: readers see the old file or the new one, even if this process is killed.

    The file is on disk when this returns. A link of that name is replaced, not followed. Raises OSError, also for a
    device or a pipe at that path.
    """
    if (there := kind_of(path)) not in ("", "a file", "a link", "a folder"):
        raise OSError(errno.EEXIST, f"{there} lies there", str(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    temporary.unlink(missing_ok=True)
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags | _NO_LINK, 0o666)) as file:
            file.write(data.encode("utf-8") if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):  # of a full disk, for example: the first error is the one to report
            temporary.unlink(missing_ok=True)
        raise
    _see_name_on_disk(path.parent)
    return path


def _see_name_on_disk(folder: Path) -> None:
    """Flush the folder, so that the file's new name is on disk like its contents."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that cannot do this for a folder
            os.fsync(opened)
    finally:
        os.close(opened)
