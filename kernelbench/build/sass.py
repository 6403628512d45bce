"""Compares the memory instructions of a kernel's PTX with those of its machine code (SASS).

Counters of the simulator follow the PTX. ptxas may merge memory operations, split them, leave some out or put registers
into local memory; then a GPU counts differently, and the kernel is marked. This counts instructions in the code, not
executed ones. Copies from an unrolled loop are no difference, because they do not change what is executed while the
lanes of a warp stay together.
"""

import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Literal

from kernelbench.build.compiler import Compiler, wheel_folders
from kernelbench.build.machine_code import code_bytes
from kernelbench.build.ptx import function_bodies
from kernelbench.build.sass_changes import (
    SASS_CLASS,
    SPACES,
    Access,
    duplicated_code_note,
    machine_code_changes,
    moved_loads,
    spaces_resolved,
)
from kernelbench.core import processes

_TOOLS = (("nvdisasm", ("-c",)), ("cuobjdump", ("-sass",)))
_LINE_TOOLS = (("nvdisasm", ("-c", "-gp")),)  # with the line of the PTX above the instructions made of it
_TIMEOUT_S = 60.0
# By line of the PTX: an entry per instruction, with the bytes per lane of its access to shared memory, 0 for none.
Lines = Mapping[int, tuple[int, ...]]

NO_DISASSEMBLER = "not available: there is no nvdisasm or cuobjdump that reads this binary"

_VECTOR = {"v2": 2, "v4": 4, "v8": 8}
_TYPE = re.compile(r"(?:[busf]|bf)(8|16|32|64|128)(x2)?")

_PTX_JUMPS = frozenset(("bra", "brx", "call", "ret", "exit", "trap"))

# A function's code as nvdisasm (`.text.name:`) and cuobjdump (`Function : name`) begin it.
_SECTION = re.compile(r"^(?:\s*\.section\s+\.text\.([\w$.]+)|\s*Function : ([\w$.]+))", re.MULTILINE)
_PTX_LINE = re.compile(r'^\s*//## File "\.nv_debug_ptx_txt", line (\d+)', re.MULTILINE)
_ADDRESS = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/", re.MULTILINE)
_SASS_LINE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)", re.MULTILINE)


@dataclass(frozen=True)
class SassCheck:
    """The result of a comparison, with the instructions counted on both sides."""

    entry: str
    status: Literal["same", "changed", "not available"]
    note: str  # what changed, or why it is not available; "" if it is the same
    ptx: Mapping[Access, int]
    sass: Mapping[Access, int]
    copies: str = ""  # code that ptxas repeated: more requests than in the PTX where lanes leave a loop apart


def disassemble(cubin: Path, compiler: Compiler | None = None, *, lines: bool = False) -> str | None:
    """The SASS of a cubin, `lines`: with lines of the PTX; None where no disassembler is found, or none that can."""
    return _listing(line_disassemblers(compiler) if lines else _disassemblers(compiler, _TOOLS), cubin)


def disassemble_together(
    cubins: Iterable[Path], architecture: str, compiler: Compiler | None = None
) -> dict[Path, str] | None:
    """The SASS of many cubins of one architecture by one call of nvdisasm, which takes 0.4 s to start: their code in
    one file. None where that fails; a cubin without code, or a damaged one, is left out."""
    places: dict[Path, dict[str, tuple[int, int]]] = {}
    with NamedTemporaryFile(suffix=".bin") as file:
        for cubin in cubins:
            with suppress(OSError, ValueError):
                for entry, code in code_bytes(cubin).items():
                    start = file.tell()
                    file.write(code)
                    places.setdefault(cubin, {})[entry] = start, file.tell()
        end = file.tell()
        file.flush()
        raw = ("-b", architecture.upper().replace("_", ""))
        text = _listing(_disassemblers(compiler, (("nvdisasm", raw),)), Path(file.name)) if end else None
    if text is None:
        return None
    lines = {int(match[1], 16): match.start() for match in _ADDRESS.finditer(text)} | {end: len(text)}
    if not all(place in lines for entries in places.values() for spans in entries.values() for place in spans):
        return None
    return {
        cubin: "".join(f".section .text.{name}\n{text[lines[a] : lines[b]]}\n" for name, (a, b) in entries.items())
        for cubin, entries in places.items()
    }


def _listing(tools: Iterable[tuple[Path, tuple[str, ...]]], file: Path) -> str | None:
    """What the first tool says that can read the file."""
    for tool, options in tools:
        try:
            return processes.output_of([str(tool), *options, str(file)], _TIMEOUT_S)
        except processes.FAILED:
            continue  # of another version than the cubin, or not for this machine
    return None


def line_disassemblers(compiler: Compiler | None = None) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Those that name the lines of the PTX, with their options."""
    return _disassemblers(compiler, _LINE_TOOLS)


def _disassemblers(
    compiler: Compiler | None, tools: tuple[tuple[str, tuple[str, ...]], ...]
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Disassemblers beside nvcc, in CUDA_HOME, on PATH and in the wheels."""
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    folders = [
        *([str(compiler.path.parent), str(compiler.path.resolve().parent)] if compiler else []),
        *(str(Path(home) / "bin") for home in homes),
        os.environ.get("PATH", os.defpath),
        *(str(folder / "bin") for folder in wheel_folders()),
    ]
    for folder in dict.fromkeys(folders):
        for tool, options in tools:
            if found := shutil.which(tool, path=folder):
                yield Path(found), options


def cross_check(ptx_text: str, entry: str, sass_text: str | None) -> SassCheck:
    """Compare an entry's memory instructions in its PTX with those in the SASS; ValueError for an unknown entry."""
    return cross_check_all(ptx_text, [entry], sass_text)[entry]


def cross_check_all(ptx_text: str, entries: Iterable[str], sass_text: str | None) -> dict[str, SassCheck]:
    """The same for several entries of a module."""
    known = function_bodies(ptx_text)
    code = None if sass_text is None else sass_functions(sass_text)
    return {entry: _cross_check(known, entry, code) for entry in entries}


def _cross_check(known: Mapping[str, list[tuple[str, str]]], entry: str, code: Mapping[str, str] | None) -> SassCheck:
    if entry not in known:
        raise ValueError(f"the PTX has no kernel '{entry}'; expected one of {', '.join(known)}")
    ptx = Counter(_ptx_accesses(known, entry))
    if code is None:
        return SassCheck(entry, "not available", NO_DISASSEMBLER, ptx, {})
    if entry not in code:
        return SassCheck(entry, "not available", f"not available: the SASS has no kernel '{entry}'", ptx, {})
    sass = Counter(_sass_accesses(code[entry]))
    resolved = spaces_resolved(ptx, sass)
    early = Counter(_ptx_accesses(known, entry, before=_PTX_JUMPS)), Counter(_sass_accesses(_before_exit(code[entry])))
    found = [*machine_code_changes(*resolved), *moved_loads(*resolved, *early)]
    return SassCheck(
        entry, "changed" if found else "same", "; ".join(found), ptx, sass, duplicated_code_note(*resolved)
    )


# ---- reading both --------------------------------------------------------------------------------


def _ptx_accesses(
    known: Mapping[str, list[tuple[str, str]]], entry: str, before: frozenset[str] = frozenset()
) -> Iterator[Access]:
    """Instructions of a kernel and of all functions that it may call, each once, up to the first opcode of `before`."""
    waiting, seen = [entry], {entry}
    while waiting:
        for opcode, operands in known[waiting.pop()]:
            parts = opcode.split(".")
            if parts[0] in before:
                return
            if parts[0] == "call":
                called = {name for name in re.findall(r"[\w$.]+", operands) if name in known} - seen
                seen |= called
                waiting += called
            elif access := _ptx_access(parts, operands):
                yield access


def _ptx_access(parts: list[str], operands: str) -> Access | None:
    base = parts[0]
    spaces = [space for part in parts if (space := part.split("::")[0]) in (*SPACES, "param", "const")]
    # Shared memory of a cluster's other blocks is reached by addresses without a space, in the SASS.
    where = f".{spaces[0]}" if spaces and "shared::cluster" not in parts else ""
    if base in ("st", "red") and "async" in parts:  # counted by a barrier: STAS, REDAS
        return None
    if base in ("ld", "ldu", "st") and where not in (".param", ".const"):
        return f"{'st' if base == 'st' else 'ld'}{where}", _ptx_bytes(parts)
    if base in ("atom", "red"):
        return f"atom{where}{'.cas' if 'cas' in parts else ''}", 0
    if base == "cp" and parts[1:2] == ["async"] and len(spaces) == 2 and "bulk" not in parts:
        return "cp.async", int(operands.rpartition("]")[2].split(",")[1])
    if base in ("bar", "barrier") and "warp" not in parts and "cluster" not in parts:
        return "bar", 0
    if base in ("ldmatrix", "stmatrix"):
        return base, 4 * next((int(part[1:]) for part in parts if part in ("x1", "x2", "x4")), 1)
    return None


def _ptx_bytes(parts: list[str]) -> int:
    elements = next((_VECTOR[part] for part in parts if part in _VECTOR), 1)
    types = [match for part in parts if (match := _TYPE.fullmatch(part))]
    return elements * int(types[-1][1]) * (2 if types[-1][2] else 1) // 8 if types else 0


def sass_functions(sass_text: str) -> dict[str, str]:
    starts = list(_SECTION.finditer(sass_text))
    ends = [*(match.start() for match in starts), len(sass_text)][1:]
    return {match[1] or match[2]: sass_text[match.end() : end] for match, end in zip(starts, ends, strict=True)}


def _before_exit(code: str) -> str:
    """The code up to the first exit of only some lanes; all of it if there is none."""
    exits = (match for match in _SASS_LINE.finditer(code) if match[1] and match[2] == "EXIT")
    return code[: next((match.start() for match in exits), len(code))]


def _sass_accesses(code: str) -> Iterator[Access]:
    return filter(None, map(_sass_access, mnemonics(code)))


def mnemonics(code: str) -> Iterator[str]:
    """Mnemonics of all instructions but those that are never executed, which pad cp.async."""
    return (mnemonic for guard, mnemonic in _SASS_LINE.findall(code) if guard != "!PT")


def _sass_access(mnemonic: str) -> Access | None:
    base, *parts = mnemonic.split(".")
    name = SASS_CLASS.get(base)
    if name is None:
        return None
    if name == "bar" or name.startswith("atom"):
        return f"{name}.cas" if {"CAS", "CAST"} & set(parts) else name, 0
    if name.endswith("matrix"):
        return name, 4 * next((int(part) for part in parts if part in ("1", "2", "4")), 1)
    bits = [int(part.lstrip("US")) for part in parts if re.fullmatch(r"[US]?(8|16|64|128|256)", part)]
    return name, bits[-1] // 8 if bits else 4


def shared_bytes(mnemonic: str) -> int:
    """Bytes per lane that an instruction loads from shared memory or stores there; 0 for all others."""
    access = _sass_access(mnemonic)
    return access[1] if access and access[0] in ("ld.shared", "st.shared") else 0


def machine_lines(cubin: Path, compiler: Compiler | None = None) -> dict[str, Lines]:
    """The machine code of each line of the PTX, by entry; empty where no disassembler shows the lines."""
    text = disassemble(cubin, compiler, lines=True)
    return {} if text is None else {entry: _lines(code) for entry, code in sass_functions(text).items()}


def _lines(code: str) -> Lines:
    found: dict[int, list[int]] = defaultdict(list)
    _, *parts = _PTX_LINE.split(code)
    for line, instructions in zip(parts[::2], parts[1::2], strict=True):
        found[int(line)] += map(shared_bytes, mnemonics(instructions))
    return {line: tuple(sizes) for line, sizes in found.items()}
