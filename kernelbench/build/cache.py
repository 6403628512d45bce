"""Compiled kernels on disk, found again by their request and the files that the compiler read.

An entry is a folder REQUEST/KEY: source.ptx, binary.cubin, facts.json, dependencies.json, command.txt, and
manifest.json with size and hash of each. code_notes.py adds machine_code.json and machine_lines.json. Entries of one
request differ in the files that the compiler read; a lookup finds the one whose files are unchanged. An entry is made
in a workspace beside the entries and renamed in one step, so it is complete or absent. A damaged entry does not match
its manifest, or cannot be read, and is made again.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from kernelbench.build.compiler import Compiler
from kernelbench.build.dependencies import Dependencies, Files
from kernelbench.build.request import BuildRequest
from kernelbench.core.errors import InputError
from kernelbench.core.records import EntryFacts
from kernelbench.core.workspaces import delete_old_workspaces, put_away, workspace

PTX, CUBIN, FACTS, COMMAND, MANIFEST = "source.ptx", "binary.cubin", "facts.json", "command.txt", "manifest.json"
LIBRARY, DEPENDENCIES = "library.so", "dependencies.json"
_BESIDE = (FACTS, DEPENDENCIES, COMMAND)
_KERNELS, _HOST_CODE = (PTX, CUBIN, *_BESIDE), (LIBRARY, *_BESIDE)  # the files of both kinds of entries
_FORMAT = 7  # to be raised when the files of an entry or the meaning of its facts change


@dataclass(frozen=True)
class CacheEntry:
    """A complete, undamaged entry; the name of its folder is the key of the binary."""

    folder: Path
    facts: Mapping[str, EntryFacts]


def request_key(request: BuildRequest, compiler: Compiler, source: str) -> str:
    """Hash of a request; `source` is the hash of the source's content. Folders are not part of it, so that a moved
    checkout finds its entries; the file's name is, because the PTX has it."""
    parts = [
        _FORMAT,
        [compiler.version, compiler.environment],
        [request.architecture, request.flags, request.host_code, request.define_options, request.source.name, source],
    ]
    return sha256(json.dumps(parts).encode()).hexdigest()


class Cache:
    """Entries below one folder. Several processes may use it at once.

    InputError, with advice, if it cannot be written; existing entries can still be used.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True)
        delete_old_workspaces(folder)

    def find(self, key: str, request: BuildRequest, files: Files) -> CacheEntry | None:
        """The entry of this request key whose files are unchanged; None if there is none, or if it is damaged."""
        try:
            folders = sorted((self.folder / key).iterdir())
        except OSError:
            return None
        for folder in folders:
            if _current(folder, request, files) and (entry := _whole(folder)) is not None:
                return entry
        return None

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """A new folder to compile in; what is left in it at the end is deleted."""
        with ExitStack() as stack:
            with self._writing():
                folder = stack.enter_context(workspace(self.folder))
            yield folder

    def publish(
        self, workspace: Path, key: str, found: Dependencies, facts: Mapping[str, EntryFacts], command: str
    ) -> CacheEntry:
        """Make an entry of a workspace that holds source.ptx and binary.cubin, or library.so."""
        with self._writing():
            (workspace / FACTS).write_text(json.dumps({entry: asdict(each) for entry, each in facts.items()}, indent=1))
            (workspace / DEPENDENCIES).write_text(found.text())
            (workspace / COMMAND).write_text(command + "\n")
            contents = {name: (workspace / name).read_bytes() for name in _files(workspace)}
            (workspace / MANIFEST).write_text(json.dumps(_manifest(contents), indent=1))
            for path in workspace.iterdir():
                if path.name not in (*contents, MANIFEST):
                    path.unlink()
            workspace.chmod(self.folder.stat().st_mode & 0o777)  # the entry gets the permissions of the cache
            made = contents[LIBRARY if LIBRARY in contents else PTX]
            return _rename(workspace, self.folder / key / found.key(key, made), facts)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = "it is not a folder" if isinstance(error, FileExistsError) else error.strerror or error
            raise InputError(
                f"{self.folder}: cannot write compiled kernels here ({reason}); "
                f"make it writable or free disk space, or name another folder in KERNELBENCH_CACHE"
            ) from error


def _rename(workspace: Path, target: Path, facts: Mapping[str, EntryFacts]) -> CacheEntry:
    while True:
        try:
            target.parent.mkdir(mode=target.parent.parent.stat().st_mode & 0o777, exist_ok=True)
            os.rename(workspace, target)
            return CacheEntry(target, facts)
        except OSError:
            in_the_way = target if os.path.lexists(target) else target.parent
            usable = in_the_way.is_dir() and os.access(in_the_way, os.R_OK | os.W_OK | os.X_OK)
            if in_the_way != target and (usable or not os.path.lexists(in_the_way)):
                raise
        # Another process was faster, or something damaged is in the way.
        if (entry := _whole(target)) is not None:
            return entry
        with suppress(FileNotFoundError):  # another process removed it already
            put_away(in_the_way)


def _current(folder: Path, request: BuildRequest, files: Files) -> bool:
    try:
        return Dependencies.of_text((folder / DEPENDENCIES).read_bytes()).current(request, files)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False


def _whole(folder: Path) -> CacheEntry | None:
    """The entry; None if there is none, or if it is damaged."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        contents = {name: (folder / name).read_bytes() for name in _files(folder)}
        if manifest != _manifest(contents):
            return None
        facts = json.loads(contents[FACTS])
        return CacheEntry(folder, {entry: _facts(values) for entry, values in facts.items()})
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def _files(folder: Path) -> tuple[str, ...]:
    return _HOST_CODE if (folder / LIBRARY).exists() else _KERNELS


def _manifest(contents: Mapping[str, bytes]) -> dict[str, dict[str, str | int]]:
    return {name: {"bytes": len(data), "sha256": sha256(data).hexdigest()} for name, data in contents.items()}


def _facts(values: Mapping[str, object]) -> EntryFacts:
    """Facts from JSON, which has lists in place of tuples."""
    return EntryFacts(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})  # type: ignore[arg-type]
