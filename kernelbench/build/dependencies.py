"""What a compiler read, by its own list, and whether it would read the same now.

A list has what was read, not what was looked for in vain. So files of the same names that lie in the folders where
headers are looked for are kept beside it: a new one may hide the one that was read. A binary is compiled anew
each time where no list is enough: `__has_include` asks whether a file is there, and a pipe cannot be read twice.
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
from kernelbench.core.sources import content

_ASKS = b"__has_include"
_CONTINUED = re.compile(rb"\\[ \t\r\v\f]*\n")
_FIRST_HEADER = "/cuda_runtime.h"  # nvcc includes it before all others; its folder is the toolkit's


class Files:
    """Hashes of files and names in folders, each read once: as good as what is on disk for one build."""

    def __init__(self) -> None:
        self._hashes: dict[str, str] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._rivals: dict[tuple[str, str], tuple[str, ...]] = {}

    def hash(self, path: str) -> str:
        """Hash of a regular file's content; '' for what cannot be read."""
        if path not in self._hashes:
            try:
                self._hashes[path] = sha256(content(Path(path))).hexdigest()
            except (InputError, ValueError):
                self._hashes[path] = ""
        return self._hashes[path]

    def rivals(self, folder: str, path: str) -> tuple[str, ...]:
        """Files below `folder` that an #include which found `path` elsewhere may mean."""
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
    """What one binary was made from. A file below an include folder is spelled `0:common/a.cuh`, so that a moved
    checkout finds its entries."""

    source: str  # hash of the source's content
    headers: tuple[tuple[str, str], ...]  # as spelled, with the hash of the content
    rivals: tuple[str, ...]
    unlisted: bool  # more decided what was made than the list tells

    @classmethod
    def read(cls, rule: Path, request: BuildRequest) -> Dependencies:
        """From the make rule that nvcc wrote, and the files as they are now. OSError where it wrote none."""
        files, source = Files(), str(request.source.absolute())
        paths = [path for path in _listed(rule) if path != source]
        spelled = sorted((_spelled(path, request), files.hash(path)) for path in paths)
        hashes = (files.hash(source), *(each for _, each in spelled))
        return cls(hashes[0], tuple(spelled), _rivals(paths, request, files), not all(hashes) or _asks(paths, request))

    @classmethod
    def of_text(cls, text: bytes) -> Dependencies:
        """ValueError and its like for a text that holds none."""
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
        """Whether a file that was read was written after that moment, by the clock of its file system."""
        for path in (str(request.source.absolute()), *(_path(spelled, request) for spelled, _ in self.headers)):
            try:
                if os.stat(path).st_ctime_ns > moment_ns:
                    return True
            except OSError:  # its hash is '' then
                continue
        return False

    def key(self, request_key: str, made: bytes) -> str:
        """Hash of all that went into a binary, and of what was `made` where the list does not tell all. Places of the
        toolkit's headers are not in it, only what they say."""
        headers = [(spelled if not spelled.startswith("/") else "", each) for spelled, each in self.headers]
        parts = (request_key, self.source, headers, self.rivals, sha256(made).hexdigest() if self.unlisted else "")
        return sha256(json.dumps(parts).encode()).hexdigest()


def _listed(rule: Path) -> list[str]:
    r"""Files of a make rule: one on a line, blanks written as `\ `, behind a first line that has target and source."""
    lines = rule.read_bytes().split(b"\n")[1:]
    names = (line.strip(b" ").removesuffix(b"\\").removesuffix(b" ").replace(b"\\ ", b" ") for line in lines)
    return list(dict.fromkeys(os.path.join(os.getcwd(), os.fsdecode(name)) for name in names if name))


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
    """Whether a file of the project, or a define, asks which files are there. Those of the toolkit may."""
    toolkit = next((path.removesuffix(_FIRST_HEADER) for path in paths if path.endswith(_FIRST_HEADER)), "")
    for path in (str(request.source.absolute()), *paths):
        foreign = _spelled(path, request).startswith("/") or (toolkit and path.startswith(f"{toolkit}/"))
        if not foreign:
            try:
                text = content(Path(path))
            except InputError:
                return True
            if _ASKS in _CONTINUED.sub(b"", text):
                return True
    return any(_ASKS.decode() in option for option in request.define_options)
