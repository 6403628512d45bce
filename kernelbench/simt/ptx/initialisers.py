"""Parses initialisers of variables: numbers, nested lists, addresses of other symbols."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from math import prod

from kernelbench.simt.ir import TYPE_BYTES, Immediate, Relocation
from kernelbench.simt.ptx.declarations import Declared
from kernelbench.simt.ptx.numbers import integer, number
from kernelbench.simt.ptx.operands import NAME, split
from kernelbench.simt.ptx.text import MOST_IMAGE_BYTES, quoted, raise_ptx_error

_ADDRESS = re.compile(
    rf"(?:(generic)\s*\(\s*({NAME})\s*\)|({NAME}))\s*(?:([+-])\s*([0-9][0-9A-Za-z]*))?", re.IGNORECASE
)
_MASK = re.compile(r"(0[xX][fF]{2}0*)\s*\((.*)\)", re.DOTALL)
_FLOATS = {"f32": "<f", "f64": "<d"}


@dataclass
class _Filling:
    """The image of one variable while its initialiser is read."""

    declared: Declared
    image: bytearray
    known: dict[str, bytes] = field(default_factory=dict)  # of texts that are numbers
    relocations: list[Relocation] = field(default_factory=list)


def read(declared: Declared, text: str, room: int) -> tuple[int, bytes, tuple[Relocation, ...]]:
    """Size of the variable, its image (empty for zeros) and the relocations in it. `room`: bytes left for images of
    the module."""
    open_first = bool(declared.dimensions) and declared.dimensions[0] is None
    first = _items_in(declared, text) if open_first else 0
    total = declared.bytes(first)
    if total > room:
        raise_ptx_error(f"{quoted(declared.name)}: initialised variables of more than {MOST_IMAGE_BYTES} bytes in all")
    extents = tuple(first if size is None else size for size in declared.dimensions)
    if declared.lanes > 1:
        extents += (declared.lanes,)
    filling = _Filling(declared, bytearray(total))
    _fill(filling, text, extents, 0)
    image = bytes(filling.image) if any(filling.image) else b""
    return total, image, tuple(_joined(filling.relocations))


def _items_in(declared: Declared, text: str) -> int:
    """Length of `x[]`: the items of its list, or, for a flat list of `x[][4]`, the rows that they fill."""
    items = split(_list_inside(text))
    row = declared.lanes * prod(size or 0 for size in declared.dimensions[1:])
    flat = row > 1 and not items[0].startswith("{")
    return -(-len(items) // row) if flat else len(items)


def _list_inside(text: str) -> str:
    if not (text.startswith("{") and text.endswith("}")):
        raise_ptx_error(f"expected a list in braces, got {quoted(text)}")
    return text[1:-1].strip()


def _fill(filling: _Filling, text: str, extents: tuple[int, ...], offset: int) -> None:
    """Write `text` into the part of the variable at `offset` with these extents."""
    width = TYPE_BYTES[filling.declared.type]
    if not extents:
        _put(filling, text, offset, width)
        return
    inner = _list_inside(text)
    items = split(inner) if inner else []
    if not any(item.startswith("{") for item in items):
        extents = (prod(extents),)  # a flat list fills row after row
    if len(items) > extents[0]:
        raise_ptx_error(f"{quoted(filling.declared.name)}: {len(items)} initial values for {extents[0]}")
    stride = width * prod(extents[1:])
    for index, item in enumerate(items):
        if len(extents) == 1:
            _put(filling, item, offset + index * stride, width)
        else:
            _fill(filling, item, extents[1:], offset + index * stride)


def _put(filling: _Filling, text: str, offset: int, width: int) -> None:
    found = filling.known.get(text)
    if found is None:
        value = number(text)
        if value is None:
            filling.relocations.append(_relocation(text, offset, width))
            return
        found = filling.known[text] = encode(value, filling.declared.type)
    filling.image[offset : offset + width] = found


def encode(value: Immediate, type: str) -> bytes:
    """Little-endian bytes of a constant as a value of `type`; integers keep their low bits."""
    width = TYPE_BYTES[type]
    if type in _FLOATS and value.kind != type:
        return _as_float(value, type)
    if value.kind == "f64" and type == "b32":
        return _as_float(value, "f32")
    return (value.value & ((1 << 8 * width) - 1)).to_bytes(width, "little")


def _as_float(value: Immediate, type: str) -> bytes:
    if value.kind == "int":
        real = float(value.value)
    else:
        source, target = ("<I", "<f") if value.kind == "f32" else ("<Q", "<d")
        real = struct.unpack(target, struct.pack(source, value.value))[0]
    try:
        return struct.pack(_FLOATS[type], real)
    except OverflowError:
        raise_ptx_error(f"{real!r} does not fit {type}")


def _relocation(text: str, offset: int, width: int) -> Relocation:
    """An address; 0xFF00(symbol) is its byte 1, kept in `bytes` as -1 until its neighbours are known."""
    masked = _MASK.fullmatch(text)
    match = _ADDRESS.fullmatch(masked[2].strip() if masked else text)
    if match is None:
        raise_ptx_error(f"expected a number or the address of a symbol, got {quoted(text)}")
    addend = integer(match[5]) if match[5] else 0
    if addend is None or addend >= 1 << 63:
        raise_ptx_error(f"expected a whole number after the symbol, got {quoted(text)}")
    addend = -addend if match[4] == "-" else addend
    if masked is None:
        if width not in (4, 8):
            raise_ptx_error(f"an address in {width} bytes: {quoted(text)}")
        return Relocation(offset, width, match[2] or match[3], addend, match[1] is not None)
    zeros = len(masked[1]) - len("0xFF")
    if width != 1 or zeros % 2 or zeros > 14:
        raise_ptx_error(f"expected one byte of an address, got {quoted(text)}")
    return Relocation(offset, -(zeros // 2), match[2] or match[3], addend, match[1] is not None)


def _joined(relocations: list[Relocation]) -> list[Relocation]:
    """Merge adjacent bytes 0, 1, 2, .. of one address into one relocation."""
    joined: list[Relocation] = []
    for found in relocations:
        byte = -found.bytes
        if byte < 0:
            joined.append(found)
        elif byte == 0:
            joined.append(Relocation(found.offset, 1, found.symbol, found.addend, found.generic))
        else:
            before = joined.pop() if joined else None
            expected = before and Relocation(before.offset, byte, found.symbol, found.addend, found.generic)
            if before != expected or before is None or before.offset + byte != found.offset:
                raise_ptx_error(f"byte {byte} of the address of {quoted(found.symbol)} does not follow byte {byte - 1}")
            joined.append(Relocation(before.offset, byte + 1, found.symbol, found.addend, found.generic))
    return joined
