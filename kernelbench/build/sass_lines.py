"""The machine code of each line of a kernel's PTX, as nvdisasm lists it for a cubin with line numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from kernelbench.build.compiler import Compiler
from kernelbench.build.sass import disassemble, mnemonics, sass_functions, shared_bytes

# By line of the PTX: an entry per instruction, with the bytes per lane of its access to shared memory, 0 for none.
Lines = Mapping[int, tuple[int, ...]]

_PTX_LINE = re.compile(r'^\s*//## File "\.nv_debug_ptx_txt", line (\d+)', re.MULTILINE)


def machine_lines(cubin: Path, compiler: Compiler | None = None) -> dict[str, Lines]:
    """By entry; empty where no disassembler shows the lines."""
    text = disassemble(cubin, compiler, lines=True)
    return {} if text is None else {entry: _lines(code) for entry, code in sass_functions(text).items()}


def _lines(code: str) -> Lines:
    found: dict[int, list[int]] = defaultdict(list)
    _, *parts = _PTX_LINE.split(code)
    for line, instructions in zip(parts[::2], parts[1::2], strict=True):
        found[int(line)] += map(shared_bytes, mnemonics(instructions))
    return {line: tuple(sizes) for line, sizes in found.items()}
