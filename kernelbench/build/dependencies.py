"""The files that a compiler read, from its own list, and whether it would read the same now.

The list has only files that exist. A new file of the same name in an earlier include folder would hide one of them, so
files of the same names in include folders (rivals) are recorded too. Where no list suffices, the binary is compiled
each time: `__has_include` depends on files that do not exist, and a pipe cannot be read twice.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from kernelbench.build.request import BuildRequest
from kernelbench.core.errors import InputError
from kernelbench.core.sources import source_content

_ASKS = b"__has_include"
_NAME, _ESCAPED = re.compile(rb"(?:\\[ \t#:]|\S)+"), re.compile(rb"\\([ \t#:])|\$(\$)")  # in a make rule
_CONTINUED = re.compile(rb"\\[ \t\r\v\f]*\n")
_FIRST_HEADER = "/cuda_runtime.h"  # nvcc includes it before all others; its folder is the toolkit's


class Files:
    """Hashes of files and names in folders, each read once per build."""

    def __init__(self) -> None:
        self._hashes: dict[str, str] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._rivals: dict[tuple[str, str], tuple[str, ...]] = {}

    def hash(self, path: str) -> str:
        """Hash of the content of a regular file; '' if it cannot be read."""
        if path not in self._hashes:
            try:
                self._hashes[path] = sha256(source_content(Path(path))).hexdigest()
            except (InputError, ValueError):
                self._hashes[path] = ""
        return self._hashes[path]

    def rivals(self, folder: str, path: str) -> tuple[str, ...]:
        """Files below `folder` that the #include of `path`, found elsewhere, could mean instead."""
        if (folder, path) not in self._rivals:
            parts, names = path.split("/"), self._names_in(folder)
            tails = ("/".join((folder, *parts[at:])) for at, part in enumerate(parts) if part in names)
            self._rivals[folder, path] = tuple(tail for tail in tails if tail != path and os.path.isfile(tail))
        return self._rivals[folder, path]

    def _names_in(self, folder: str) -> frozenset[str]:
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._names[folder] = frozenset()
        return self._names[folder]


@dataclass(frozen=True)
class Dependencies:
    """The files from which a binary was made. A file below an include folder is spelled `0:common/a.cuh`, so that a
    moved checkout finds its entries."""

    source: str  # hash of its content
    headers: tuple[tuple[str, str], ...]  # as spelled, with the hash of the content
    rivals: tuple[str, ...]
    unlisted: bool  # the result depends on more than the list

    @classmethod
    def read(cls, rule: Path, request: BuildRequest) -> Dependencies:
        """Read the make rule that nvcc wrote, and hash the files as they are now. OSError if there is no rule."""
        files, source = Files(), str(request.source.absolute())
        paths = [path for path in _listed(rule) if path != source]
        spelled = sorted((_spelled(path, request), files.hash(path)) for path in paths)
        hashes = (files.hash(source), *(each for _, each in spelled))
        return cls(hashes[0], tuple(spelled), _rivals(paths, request, files), not all(hashes) or _asks(paths, request))

    @classmethod
    def of_text(cls, text: bytes) -> Dependencies:
        """Parse `text`; ValueError and similar errors if it is damaged."""
        values = json.loads(text)
        headers = tuple((spelled, each) for spelled, each in values["headers"])
        return cls(values["source"], headers, tuple(values["rivals"]), values["unlisted"])

    def text(self) -> str:
        return json.dumps(vars(self), indent=0)

    def current(self, request: BuildRequest, files: Files) -> bool:
        """Whether the compiler would read the same now."""
        if self.unlisted or files.hash(str(request.source.absolute())) != self.source:
            return False
        paths = [_path(spelled, request) for spelled, _ in self.headers]
        same = all(files.hash(path) == each for path, (_, each) in zip(paths, self.headers, strict=True))
        return same and _rivals(paths, request, files) == self.rivals

    def changed_since(self, moment_ns: int, request: BuildRequest) -> bool:
        """Whether a file that was read has changed since that moment, by the clock of its file system."""
        for path in (str(request.source.absolute()), *(_path(spelled, request) for spelled, _ in self.headers)):
            try:
                if os.stat(path).st_ctime_ns > moment_ns:
                    return True
            except OSError:  # its hash is then ''
                continue
        return False

    def key(self, request_key: str, made: bytes) -> str:
        """Hash of everything from which a binary was made, and of the result `made` where the list does not suffice. Of
        the toolkit's headers only contents count, not paths."""
        headers = [(spelled if not spelled.startswith("/") else "", each) for spelled, each in self.headers]
        parts = (request_key, self.source, headers, self.rivals, sha256(made).hexdigest() if self.unlisted else "")
        return sha256(json.dumps(parts).encode()).hexdigest()


def _listed(rule: Path) -> list[str]:
    r"""Files of a make rule `target: a.cu b.cuh ..`, over several lines, with blanks as `\ ` and dollars as `$$`."""
    _, _, names = rule.read_bytes().replace(b"\\\n", b" ").partition(b": ")
    found = (_ESCAPED.sub(rb"\1\2", name) for name in _NAME.findall(names))
    return list(dict.fromkeys(os.path.join(os.getcwd(), os.fsdecode(name)) for name in found))


def _spelled(path: str, request: BuildRequest) -> str:
    for number, folder in enumerate(request.include_folders):
        if path.startswith(f"{folder}/"):
            return f"{number}:{path.removeprefix(f'{folder}/')}"
    return path


def _path(spelled: str, request: BuildRequest) -> str:
    if spelled.startswith("/"):
        return spelled
    number, _, rest = spelled.partition(":")
    folders = request.include_folders
    return f"{folders[int(number)]}/{rest}" if int(number) < len(folders) else ""


def _rivals(paths: Sequence[str], request: BuildRequest, files: Files) -> tuple[str, ...]:
    own = [path for path in paths if not _spelled(path, request).startswith("/")]
    folders = {str(request.source.absolute().parent), *map(str, request.include_folders), *map(os.path.dirname, own)}
    found = {rival for folder in folders for path in paths for rival in files.rivals(folder, path)}
    return tuple(sorted(_spelled(path, request) for path in found))


def _asks(paths: Iterable[str], request: BuildRequest) -> bool:
    """Whether a file of the project or a define uses __has_include. Files of the toolkit may."""
    toolkit = next((path.removesuffix(_FIRST_HEADER) for path in paths if path.endswith(_FIRST_HEADER)), "")
    for path in (str(request.source.absolute()), *paths):
        foreign = _spelled(path, request).startswith("/") or (toolkit and path.startswith(f"{toolkit}/"))
        if not foreign:
            try:
                text = source_content(Path(path))
            except InputError:
                return True
            if _ASKS in _CONTINUED.sub(b"", text):
                return True
    return any(_ASKS.decode() in option for option in request.define_options)
