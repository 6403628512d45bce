"""What ptxas changed of a binary's memory instructions, and the machine code of each line of its PTX: found once
somebody asks, and kept beside the binary, because nvdisasm takes half a second."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from kernelbench.build.compiler import Compiler
from kernelbench.build.sass import Lines, cross_check_all, disassemble, disassemble_together, machine_lines
from kernelbench.core.records import Binary
from kernelbench.core.writing import write_whole

NOTES, LINES = "machine_code.json", "machine_lines.json"


def may_share(binary: Binary) -> bool:
    """Whether any of its kernels may access shared memory."""
    return bool(binary.facts) and ".shared" in binary.ptx_path.read_text()


def access_notes(binary: Binary, compiler: Compiler | None = None) -> Mapping[str, str]:
    """By kernel, how its memory instructions differ from those of the PTX; '' where they are the same, and
    "not available: .." without a disassembler. {} of a host library, which has no PTX."""
    return _notes(binary.path, binary.ptx_path, tuple(binary.facts), compiler) if binary.facts else {}


def code_lines(binary: Binary) -> Mapping[str, Lines]:
    """machine_lines() of the binary, kept beside it."""
    kept = binary.path.with_name(LINES)
    with suppress(OSError, ValueError, TypeError, AttributeError):
        found = {
            entry: {int(line): tuple(map(int, sizes)) for line, sizes in lines.items()}
            for entry, lines in json.loads(kept.read_text()).items()
        }
        if found.keys() >= binary.facts.keys():
            return found
    made = machine_lines(binary.path)
    if made:
        _write(kept, json.dumps(made))
    return made


def note_all(binaries: Iterable[Binary], compiler: Compiler) -> None:
    """Keep access_notes() of the binaries that may share: those of one architecture by one call of nvdisasm."""
    waiting: dict[str, list[Binary]] = defaultdict(list)
    for binary in binaries:
        if may_share(binary) and _kept(binary.path, binary.facts.keys()) is None:
            waiting[binary.architecture].append(binary)
    for architecture, alike in waiting.items():
        code = disassemble_together([one.path for one in alike], architecture, compiler) or {}
        for one in alike:
            if one.path in code:
                _keep(one.path, _compared(one.ptx_path, one.facts, code[one.path]))


@cache
def _notes(path: Path, ptx: Path, entries: tuple[str, ...], compiler: Compiler | None) -> Mapping[str, str]:
    kept = _kept(path, entries)
    if kept is not None:
        return kept
    code = disassemble(path, compiler)
    notes = _compared(ptx, entries, code)
    if code is not None:
        _keep(path, notes)
    return notes


def _compared(ptx: Path, entries: Iterable[str], code: str | None) -> dict[str, str]:
    return {entry: check.note for entry, check in cross_check_all(ptx.read_text(), entries, code).items()}


def _kept(path: Path, entries: Iterable[str]) -> dict[str, str] | None:
    with suppress(OSError, ValueError):
        found = json.loads(path.with_name(NOTES).read_text())
        if isinstance(found, dict) and found.keys() == set(entries):
            return {str(entry): str(note) for entry, note in found.items()}
    return None


def _keep(path: Path, notes: Mapping[str, str]) -> None:
    _write(path.with_name(NOTES), json.dumps(notes, indent=1))


def _write(path: Path, text: str) -> None:
    with suppress(OSError):  # a cache that cannot be written still serves
        write_whole(path, text)
