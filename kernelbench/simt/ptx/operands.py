"""Parses the operands of instructions."""

from __future__ import annotations

import re
from collections.abc import Callable

from kernelbench.simt.ir import (
    Address,
    Discard,
    Group,
    Immediate,
    Not,
    Operand,
    Register,
    ResultPair,
    Special,
    Symbol,
    Vector,
)
from kernelbench.simt.ptx.names import Names, is_special
from kernelbench.simt.ptx.numbers import integer, number
from kernelbench.simt.ptx.text import quoted, raise_ptx_error

NAME = r"(?:[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+)"
_NAME = re.compile(NAME)
_DOTTED = re.compile(NAME + r"(?:\.[A-Za-z0-9]+)?")
_WITH_OFFSET = re.compile(rf"({NAME})\s*([+-])\s*(-?\s*[0-9A-Za-z]+)")
_BRACKET = re.compile(r"[,(){}\[\]]")
_CLOSING = {")": "(", "}": "{", "]": "["}
_MOST_DEPTH = 4

# Called with a name that is neither a register nor a variable of the function, so the module must define it.
OnGlobal = Callable[[str], None]


class OperandReader:
    """Reads operands by the names of one function; raises PtxError without a line."""

    def __init__(self, names: Names, on_global: OnGlobal) -> None:
        self._names = names
        self._on_global = on_global

    def read_all(self, text: str) -> tuple[Operand, ...]:
        if not text:
            return ()
        known = self._names.scope.operands
        items = split(text) if "{" in text or "(" in text else [item.strip() for item in text.split(",")]
        return tuple([known.get(item) or self._remember(item) for item in items])

    def register(self, name: str) -> Register:
        """The predicate of a guard."""
        found = self._names.find(name)
        if not isinstance(found, Register):
            raise_ptx_error(f"expected a declared register, got {quoted(name)}")
        return found

    def _remember(self, text: str) -> Operand:
        operand = self._read(text, 0)
        self._names.scope.operands[text] = operand
        return operand

    def _read(self, text: str, depth: int) -> Operand:
        if depth > _MOST_DEPTH:
            raise_ptx_error(f"brackets nested deeper than {_MOST_DEPTH}")
        first = text[:1]
        if first == "[":
            return self._address(text, depth)
        if first in ("{", "("):
            items = self._inside(text, depth)
            return Vector(items) if first == "{" else Group(items)
        if first == "!":
            return Not(self.register(text[1:].strip()))
        if first.isdigit() or first == "-":
            return number(text) or raise_ptx_error(f"expected a number of at most 64 bits, got {quoted(text)}")
        if "|" in text:
            return self._pair(text)
        return self._named(text)

    def _inside(self, text: str, depth: int) -> tuple[Operand, ...]:
        if _CLOSING.get(text[-1]) != text[0]:
            raise_ptx_error(f"expected one operand, got {quoted(text)}")
        inner = text[1:-1].strip()
        return tuple(self._read(item, depth + 1) for item in split(inner)) if inner else ()

    def _pair(self, text: str) -> ResultPair:
        first, _, second = text.partition("|")
        items = [self._read(part.strip(), _MOST_DEPTH) for part in (first, second)]
        if not all(isinstance(item, (Register, Discard)) for item in items):
            raise_ptx_error(f"expected two registers or '_' around '|', got {quoted(text)}")
        return ResultPair(*items)  # type: ignore[arg-type]

    def _address(self, text: str, depth: int) -> Operand:
        """[r], [symbol+8], [r+-4], [16]; [map, {x, y}] of tensors and textures becomes a Group."""
        if text[-1] != "]":
            raise_ptx_error(f"expected an address in brackets, got {quoted(text)}")
        inner = text[1:-1].strip()
        if "," in inner:
            return Group(tuple(self._read(item, depth + 1) for item in split(inner)))
        base = number(inner) if inner[:1].isdigit() or inner[:1] == "-" else self._named(inner)
        if isinstance(base, Immediate) and base.kind == "int":
            return Address(None, base.value)
        if isinstance(base, Symbol):
            return Address(Symbol(base.name), base.offset)
        if isinstance(base, (Register, Address)):
            return base if isinstance(base, Address) else Address(base)
        return raise_ptx_error(f"expected a register, a variable or a number in brackets, got {quoted(text)}")

    def _named(self, text: str) -> Operand:
        """A name, or name+number: an offset from a variable, or (inside brackets only) from a register."""
        if text == "_":
            return Discard()
        with_offset = _WITH_OFFSET.fullmatch(text)
        if with_offset is None:
            return self._find(text)
        offset = integer(with_offset[3].replace(" ", ""))
        if offset is None or abs(offset) >= 1 << 63:
            raise_ptx_error(f"expected a whole number as offset, got {quoted(text)}")
        offset = -offset if with_offset[2] == "-" else offset
        base = self._find(with_offset[1])
        if isinstance(base, Symbol):
            return Symbol(base.name, offset)
        if isinstance(base, Register):
            return Address(base, offset)
        return raise_ptx_error(f"expected a register or a variable before the offset, got {quoted(text)}")

    def _find(self, name: str) -> Operand:
        if not _DOTTED.fullmatch(name):
            raise_ptx_error(f"expected an operand, got {quoted(name)}")
        found = self._names.find(name)
        if found is not None:
            return found
        if is_special(name):
            return Special(name)
        if name.startswith("%"):
            raise_ptx_error(f"register {quoted(name)} is not declared")
        if not _NAME.fullmatch(name):
            raise_ptx_error(f"expected a name, got {quoted(name)}")
        self._on_global(name)
        return Symbol(name)


def split(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    pieces: list[str] = []
    start = 0
    opened: list[str] = []
    for match in _BRACKET.finditer(text):
        mark = match[0]
        if mark == ",":
            if not opened:
                pieces.append(text[start : match.start()].strip())
                start = match.end()
        elif mark in _CLOSING:
            if not opened or opened.pop() != _CLOSING[mark]:
                raise_ptx_error(f"brackets do not match in {quoted(text)}")
        else:
            opened.append(mark)
    if opened:
        raise_ptx_error(f"brackets do not match in {quoted(text)}")
    return [*pieces, text[start:].strip()]
