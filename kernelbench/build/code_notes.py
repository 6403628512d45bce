"""What ptxas changed of a binary's memory instructions: found once somebody asks, and kept beside the binary, because
nvdisasm takes a third of a second."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from kernelbench.build.compiler import Compiler
from kernelbench.build.sass import cross_check_all, disassemble
from kernelbench.core.records import Binary
from kernelbench.core.writing import write_whole

NOTES = "machine_code.json"


def may_share(binary: Binary) -> bool:
    """Whether any of its kernels may access shared memory."""
    return bool(binary.facts) and ".shared" in binary.ptx_path.read_text()


def code_notes(binary: Binary, compiler: Compiler | None = None) -> Mapping[str, str]:
    """By kernel, how its memory instructions differ from those of the PTX; '' where they are the same, and
    "not available: .." without a disassembler."""
    return _notes(binary.path, binary.ptx_path, tuple(binary.facts), compiler)


@cache
def _notes(path: Path, ptx: Path, entries: tuple[str, ...], compiler: Compiler | None) -> Mapping[str, str]:
    kept = path.with_name(NOTES)
    with suppress(OSError, ValueError):
        found = json.loads(kept.read_text())
        if isinstance(found, dict) and found.keys() == set(entries):
            return {str(entry): str(note) for entry, note in found.items()}
    code = disassemble(path, compiler) if entries else ""
    notes = {entry: check.note for entry, check in cross_check_all(ptx.read_text(), entries, code).items()}
    if code is not None:
        with suppress(OSError):  # a cache that cannot be written still serves
            write_whole(kept, json.dumps(notes, indent=1))
    return notes
