"""Constants of PTX: integers in four bases, floating-point numbers by their bits or in decimal."""

from __future__ import annotations

import re
import struct

from kernelbench.simt.ir import Immediate

_NUMBER = re.compile(
    r"""(-?)\s*(?:
        0[fF]([0-9a-fA-F]{8}) | 0[dD]([0-9a-fA-F]{16})
      | 0[xX]([0-9a-fA-F]{1,16})U? | 0[bB]([01]{1,64})U? | 0([0-7]{1,22})U? | ([1-9][0-9]{0,19}|0)U?
      | ([0-9]{1,40}\.[0-9]{0,40}(?:[eE][+-]?[0-9]{1,4})? | [0-9]{1,40}[eE][+-]?[0-9]{1,4})
    )""",
    re.VERBOSE,
)
_BASES = ((4, 16), (5, 2), (6, 8), (7, 10))  # group of the expression, base of its digits


def number(text: str) -> Immediate | None:
    """A constant of at most 64 bits; None for anything else. A decimal fraction is a double."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    negative = match[1] == "-"
    if match[2] is not None:
        return Immediate(int(match[2], 16) ^ (negative << 31), "f32")
    if match[3] is not None:
        return Immediate(int(match[3], 16) ^ (negative << 63), "f64")
    if match[8] is not None:
        bits: int = struct.unpack("<Q", struct.pack("<d", float(match[8])))[0]
        return Immediate(bits ^ (negative << 63), "f64")
    value = next(int(match[group], base) for group, base in _BASES if match[group] is not None)
    value = -value if negative else value
    return Immediate(value) if -(1 << 63) <= value < 1 << 64 else None


def integer(text: str) -> int | None:
    found = number(text)
    return found.value if found is not None and found.kind == "int" else None
