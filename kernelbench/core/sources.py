"""The text of a kernel: its .cu and the headers that it includes from the folders of kernels.

This is the text that a person reads, and of which the source hash is made; it needs no compiler. The compiler itself
lists the files that it reads for one set of defines: see build/dependencies.py.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelbench.core import places
from kernelbench.core.errors import InputError

MOST_BYTES = 64 * 2**20  # of a source; the largest header of the toolkit has 1 MB
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*(?:\"([^\"\n]+)\"|<([^>\n]+)>)", re.MULTILINE)


def include_folders(source: Path) -> tuple[Path, ...]:
    """The folder that holds the operation's folder, and the project's kernels."""
    return tuple(dict.fromkeys((source.absolute().parent.parent, places.KERNELS)))


def source_texts(source: Path) -> Iterator[tuple[str, bytes]]:
    """The source, then all headers that it includes, directly or not, from its own folder or the include folders, each
    with its name as spelled there. InputError for a file that cannot be read."""
    waiting: list[tuple[str, Path]] = [("source", source.absolute())]
    seen: set[Path] = set()
    while waiting:
        spelled, path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        text = source_content(path)
        yield spelled, text
        for quoted, angled in _INCLUDE.findall(text):
            name = os.fsdecode(quoted or angled)
            folders = [path.parent] * bool(quoted) + [*include_folders(source)]
            waiting += [(name, header) for header in _first_file(folders, name)]


def source_content(path: Path) -> bytes:
    """The bytes of a source or header; InputError if it is not a regular file or larger than any source."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # does not wait for a pipe
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise InputError(f"{path}: not a file; expected CUDA source here")
            with open(descriptor, "rb", closefd=False) as file:
                text = file.read(min(found.st_size, MOST_BYTES) + 1)  # takes no more memory than that
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected CUDA source here") from error
    if len(text) > MOST_BYTES:
        raise InputError(f"{path}: larger than {MOST_BYTES >> 20} MB; expected CUDA source here")
    return text


def _first_file(folders: Sequence[Path], name: str) -> list[Path]:
    """The first file of that name, if there is one; nvcc reports names that the operating system refuses."""
    try:
        return [(folder / name).resolve() for folder in folders if (folder / name).is_file()][:1]
    except OSError:  # a name that is too long, a folder that cannot be entered
        return []
