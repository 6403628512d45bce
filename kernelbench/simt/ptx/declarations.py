"""Declarations of registers, parameters and variables, and the initialisers of variables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from kernelbench.simt.ir import TYPE_BYTES
from kernelbench.simt.ptx.numbers import integer
from kernelbench.simt.ptx.operands import NAME, split
from kernelbench.simt.ptx.text import MOST_REGISTERS, MOST_VARIABLE_BYTES, quoted, raise_ptx_error

_REGISTER = re.compile(rf"({NAME})\s*(?:<\s*([0-9]{{1,9}})\s*>)?")
_WORD = re.compile(r"\.[A-Za-z_][A-Za-z0-9_]*")
_ALIGN = re.compile(r"\.align\s+([0-9]{1,9}|0[xX][0-9a-fA-F]{1,8})(?![0-9A-Za-z])")
_DECLARATOR = re.compile(rf"({NAME})\s*((?:\[[^\[\]]*\]\s*)*)")
_ATTRIBUTE = re.compile(r"\.attribute\s*\([^()]*\)")
_DIMENSION = re.compile(r"\[([^\[\]]*)\]")
_LANES = {".v2": 2, ".v4": 4, ".v8": 8}
_POINTER_SPACES = {".const", ".global", ".local", ".shared"}
_MOST_ALIGNMENT = 1 << 16
_MOST_DIMENSIONS = 16
_MOST_WORDS = 8  # before the name: .align 8 .u64 .ptr .global .align 16 is five
_OPAQUE = {".texref", ".samplerref", ".surfref"}


@dataclass(frozen=True)
class Declared:
    """`.align 8 .v2 .f32 x[4]`; the first of `dimensions` is None for `x[]`."""

    name: str
    type: str
    lanes: int
    alignment: int
    dimensions: tuple[int | None, ...]

    @property
    def item_bytes(self) -> int:
        return TYPE_BYTES[self.type] * self.lanes

    def bytes(self, first: int = 0) -> int:
        """Total bytes; `first` replaces an open dimension."""
        total = self.item_bytes * prod(first if size is None else size for size in self.dimensions)
        if total > MOST_VARIABLE_BYTES:
            raise_ptx_error(f"{quoted(self.name)} has {total} bytes; at most {MOST_VARIABLE_BYTES}")
        return total


def registers(text: str) -> list[tuple[str, str, int | None, int]]:
    """`.v2 .f32 a, b<10>` after .reg: name, type, count of a numbered range, lanes."""
    type, lanes, _, rest = _leading(text)
    found = []
    for item in rest.split(","):
        match = _REGISTER.fullmatch(item.strip())
        if match is None:
            raise_ptx_error(f"expected the name of a register, got {quoted(item)}")
        count = None if match[2] is None else int(match[2])
        if count is not None and (count > MOST_REGISTERS or lanes > 1):
            raise_ptx_error(f"{quoted(item)}: at most {MOST_REGISTERS} registers in a declaration, and no vectors")
        found.append((match[1], type, count, lanes))
    return found


def declared_variables(text: str) -> list[tuple[Declared, str]]:
    """`.align 4 .b8 x[16] = {1, 2}, y` after its space: each variable and the text of its initialiser."""
    type, lanes, alignment, rest = _leading(text)
    found = []
    for item in split(rest):
        declarator, equals, initialiser = item.partition("=")
        if equals and not initialiser.strip():
            raise_ptx_error(f"expected an initialiser after '=' in {quoted(item)}")
        found.append((_declared(declarator.strip(), type, lanes, alignment), initialiser.strip()))
    return found


def declared_parameter(text: str) -> Declared:
    """`.param .align 8 .b8 x[32]`, `.param .u64 .ptr .global .align 16 p`."""
    if text.startswith(".reg"):
        raise_ptx_error(f"parameters in registers are not supported: {quoted(text)}")
    if not re.match(r"\.param(?![A-Za-z0-9_])", text):
        raise_ptx_error(f"expected '.param', got {quoted(text)}")
    type, lanes, alignment, rest = _leading(text[len(".param") :])
    found = _declared(rest, type, lanes, alignment)
    if None in found.dimensions:
        raise_ptx_error(f"parameter {quoted(found.name)} has no size")
    return found


def _leading(text: str) -> tuple[str, int, int | None, str]:
    """Type, lanes and alignment, and the rest of the text."""
    type, lanes, alignment, pointer = "", 1, None, False
    rest = _ATTRIBUTE.sub(" ", text, count=1).lstrip() if ".attribute" in text[:400] else text.lstrip()
    for _ in range(_MOST_WORDS):
        if not rest.startswith("."):
            break
        match = _ALIGN.match(rest)
        if match is not None:
            # The .align after .ptr is the alignment of the pointer's target.
            alignment = alignment if pointer else _alignment(match[1])
            rest = rest[match.end() :].lstrip()
            continue
        match = _WORD.match(rest)
        word = match[0] if match else "."
        rest = rest[len(word) :].lstrip()
        if word[1:] in TYPE_BYTES and not type:
            type = word[1:]
        elif word in _LANES and lanes == 1:
            lanes = _LANES[word]
        elif word == ".ptr" and type:
            pointer = True
        elif word in _OPAQUE:
            raise_ptx_error(f"textures and surfaces are not supported: {quoted(text)}")
        elif not (word in _POINTER_SPACES and pointer):
            raise_ptx_error(f"{quoted(word)} is not known in a declaration: {quoted(text)}")
    if not type:
        raise_ptx_error(f"expected a type, got {quoted(text)}")
    return type, lanes, alignment, rest


def _alignment(text: str) -> int:
    found = integer(text) or 0
    if not 0 < found <= _MOST_ALIGNMENT or found & (found - 1):
        raise_ptx_error(f"alignment {quoted(text)}: expected a power of two, at most {_MOST_ALIGNMENT}")
    return found


def _declared(text: str, type: str, lanes: int, alignment: int | None) -> Declared:
    match = _DECLARATOR.fullmatch(text)
    if match is None or type == "pred":
        raise_ptx_error(f"expected the name of a variable, got {quoted(text)}")
    dimensions: list[int | None] = []
    for size in _DIMENSION.findall(match[2]):
        count = integer(size.strip()) if size.strip() else None
        if (count is None and (size.strip() or dimensions)) or (count is not None and count < 0):
            raise_ptx_error(f"expected a whole number in brackets, got {quoted(text)}")
        dimensions.append(count)
    if len(dimensions) > _MOST_DIMENSIONS:
        raise_ptx_error(f"more than {_MOST_DIMENSIONS} dimensions: {quoted(text)}")
    return Declared(match[1], type, lanes, alignment or TYPE_BYTES[type] * lanes, tuple(dimensions))
