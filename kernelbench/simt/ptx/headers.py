"""Parses function headers: name, results, parameters and launch bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kernelbench.core.errors import PtxError
from kernelbench.simt.ir import Parameter
from kernelbench.simt.ptx.declarations import declared_parameter
from kernelbench.simt.ptx.numbers import integer
from kernelbench.simt.ptx.operands import NAME, split
from kernelbench.simt.ptx.text import PRAGMA, Text, quoted, raise_ptx_error

_HEAD = re.compile(rf"\s*(?:\(([^()]*)\)\s*)?({NAME})\s*(?:\(([^()]*)\))?")
_DIRECTIVE = re.compile(r"\s*(\.[a-z_]+)\s*((?:[0-9][0-9A-Za-z]*\s*,?\s*)*)")
_PRAGMA = re.compile(r"\s*\.pragma" + PRAGMA.pattern)
_SIZES = {".maxntid": "maxntid", ".reqntid": "reqntid", ".reqnctapercluster": "cluster"}
_IGNORED = {
    ".minnctapersm", ".maxnctapersm", ".maxnreg", ".maxclusterrank", ".explicitcluster", ".blocksareclusters",
    ".noreturn", ".abi_preserve", ".abi_preserve_control",
}  # fmt: skip
_MOST_PARAMETERS = 4096
_MOST_PARAMETER_BYTES = 1 << 20


@dataclass
class Header:
    name: str
    results: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    has_body: bool = False
    end: int = 0  # after its `{` or `;`


def read_header(text: Text, position: int) -> Header:
    """Parse the text after .entry or .func up to `{` or `;`."""
    match = _HEAD.match(text.text, position)
    if match is None:
        text.fail(position, "expected the name of a function")
    try:
        header = Header(match[2], _layout(match[1]), _layout(match[3]))
        _directives(text, match.end(), header)
    except PtxError as error:
        raise PtxError(f"line {text.line(position)}: function {quoted(match[2])}: {error}") from None
    return header


def _directives(text: Text, position: int, header: Header) -> None:
    while True:
        pragma = _PRAGMA.match(text.text, position)
        if pragma is not None:
            position = pragma.end()
            continue
        match = _DIRECTIVE.match(text.text, position)
        if match is None:
            break
        if match[1] in _SIZES:
            header.sizes[_SIZES[match[1]]] = _numbers(match[2])
        elif match[1] not in _IGNORED:
            raise_ptx_error(f"directive {quoted(match[1])} is not known")
        position = match.end()
    position = text.after_space(position)
    mark = text.text[position : position + 1]
    if mark not in ("{", ";") or not mark:
        raise_ptx_error(f"expected '{{' or ';', got {quoted(text.text[position : position + 40])}")
    header.has_body, header.end = mark == "{", position + 1


def _numbers(text: str) -> tuple[int, ...]:
    found = tuple(integer(item.strip()) or 0 for item in text.split(","))
    if not 1 <= len(found) <= 3 or not all(0 < item < 1 << 31 for item in found):
        raise_ptx_error(f"expected one to three positive numbers, got {quoted(text)}")
    return found


def _layout(text: str | None) -> tuple[Parameter, ...]:
    """Parameters in order, each aligned."""
    if text is None or not text.strip():
        return ()
    offset = 0
    found: dict[str, Parameter] = {}
    for item in split(text):
        declared = declared_parameter(item)
        offset = -(-offset // declared.alignment) * declared.alignment
        size = declared.bytes()
        if declared.name in found and declared.name != "_":
            raise_ptx_error(f"parameter {quoted(declared.name)} twice")
        found[f"_{len(found)}" if declared.name == "_" else declared.name] = Parameter(
            declared.name, declared.type, offset, size, declared.alignment
        )
        offset += size
        if len(found) > _MOST_PARAMETERS or offset > _MOST_PARAMETER_BYTES:
            raise_ptx_error(f"more than {_MOST_PARAMETERS} parameters or {_MOST_PARAMETER_BYTES} bytes of them")
    return tuple(found.values())
