"""Parses PTX text into an `ir.Module`: the output of nvcc for sm_70 and later, including inline assembly.

Any text gives a module or a PtxError that names the line; no text can cause a hang, exhaust memory or raise anything
else. The parser checks only syntax: lowering refuses instructions that the simulator does not support.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NoReturn

from kernelbench.core.errors import PtxError
from kernelbench.simt.ir import Function, Module, Variable
from kernelbench.simt.ptx import declarations, initialisers
from kernelbench.simt.ptx.body import LOCATION, BodyReader
from kernelbench.simt.ptx.headers import read_header
from kernelbench.simt.ptx.operands import NAME
from kernelbench.simt.ptx.text import MOST_CHARACTERS, MOST_IMAGE_BYTES, PRAGMA, Text, quoted, raise_ptx_error

_FILE = re.compile(r'[ \t]*\.file[ \t]+([0-9]{1,9})[ \t]+"([^"\n]*)"(?:[ \t]*,[ \t]*[0-9]{1,20}){0,2}')
_FILES = re.compile(r"^" + _FILE.pattern, re.MULTILINE)
_STATEMENT = re.compile(r"\s*(?:(\.[a-z_]+)|(@@DWARF)[^\n]*|(;)|\Z)")
_VERSION = re.compile(r"\s*([0-9]{1,3}\.[0-9]{1,3})")
_TARGET = re.compile(r"\s*(sm_[0-9]{2,3}[af]?)(?:\s*,\s*[a-z_0-9]+)*")
_ADDRESS_SIZE = re.compile(r"\s*([0-9]+)")
_SECTION = re.compile(r"\s*\.[A-Za-z0-9_.$]+\s*\{[^{}]*\}")
_ALIAS = re.compile(rf"\s*({NAME})\s*,\s*({NAME})\s*;")
_LINKAGE = {".visible", ".weak", ".extern", ".common"}
_SPACES = {".global": "global", ".const": "const", ".shared": "shared"}


def parse(text: str) -> Module:
    return _ModuleReader(text).read()


class _ModuleReader:
    def __init__(self, text: str) -> None:
        self._text = Text(text)
        # nvcc writes the file table after the code that refers to it.
        self._files = {int(match[1]): match[2] for match in _FILES.finditer(self._text.text)}
        self._version = self._target = ""
        self._functions: dict[str, Function] = {}
        self._variables: dict[str, Variable] = {}
        self._external: dict[str, Variable] = {}  # declared .extern; may be defined later
        self._aliases: list[tuple[str, str, int]] = []
        self._unresolved: dict[str, int] = {}  # name -> line of its first use
        self._image_bytes = 0

    def read(self) -> Module:
        position, linkage = 0, ""
        while True:
            match = _STATEMENT.match(self._text.text, position)
            if match is None:
                rest = self._text.text[position : position + 200]
                self._text.fail(self._text.after_space(position), f"expected a directive, got {quoted(rest)}")
            if match.end() == len(self._text.text) and match.lastindex is None:
                break
            start, position = match.start(match.lastindex or 0), match.end()
            self._text.count(start)
            if match[1] in _LINKAGE:
                linkage = match[1]
            elif match[1]:
                position = self._statement(match[1], linkage, start, position)
                linkage = ""
        if not self._version or not self._target:
            self._text.fail(0, "expected .version and .target: this is not PTX")
        self._resolve()
        return Module(self._version, self._target, self._functions, self._variables)

    def _statement(self, name: str, linkage: str, start: int, position: int) -> int:
        try:
            if name in (".entry", ".func"):
                return self._function(name == ".entry", linkage, start, position)
            if name in _SPACES:
                return self._declaration(_SPACES[name], linkage, position)
            return self._directive(name, start, position)
        except PtxError as error:
            if str(error).startswith("line "):
                raise
            raise PtxError(f"line {self._text.line(start)}: {error}") from None

    def _directive(self, name: str, start: int, position: int) -> int:
        match name:
            case ".version":
                found = self._expect(_VERSION, position, "a version like 8.0")
                self._version = found[1]
            case ".target":
                found = self._expect(_TARGET, position, "a target like sm_80")
                self._target = found[1]
            case ".address_size":
                found = self._expect(_ADDRESS_SIZE, position, "64")
                if found[1] != "64":
                    raise_ptx_error(f"addresses of {found[1][:20]} bits; only 64 are supported")
            case ".file":
                found = self._expect(_FILE, start, "a number and a quoted path", whole=True)
            case ".loc":
                found = self._expect(LOCATION, position, "file, line and column")
            case ".section":
                found = self._expect(_SECTION, position, "a name and braces")
            case ".pragma":
                found = self._expect(PRAGMA, position, "quoted text and ';'")
            case ".alias":
                found = self._expect(_ALIAS, position, "two names and ';'")
                self._aliases.append((found[1], found[2], self._text.line(start)))
            case _:
                raise_ptx_error(f"directive {quoted(name)} is not known")
        return found.end()

    def _expect(self, pattern: re.Pattern[str], position: int, what: str, whole: bool = False) -> re.Match[str]:
        match = pattern.match(self._text.text, position)
        if match is None:
            rest = self._text.text[position : position + 200]
            raise_ptx_error(f"expected {what}{'' if whole else ' here'}, got {quoted(rest)}")
        return match

    def _declaration(self, space: str, linkage: str, position: int) -> int:
        end = self._text.end_of_statement(position, MOST_CHARACTERS)
        for declared, initialiser in declarations.declared_variables(self._text.text[position:end]):
            variable = self._variable(space, linkage, declared, initialiser)
            if linkage == ".extern" and not variable.dynamic:
                self._external[variable.name] = variable
                continue
            if variable.name in self._variables or variable.name in self._functions:
                raise_ptx_error(f"{quoted(variable.name)} is defined twice")
            self._variables[variable.name] = variable
            for relocation in variable.relocations:
                self._unresolved.setdefault(relocation.symbol, self._text.line(position))
        return end + 1

    def _variable(self, space: str, linkage: str, declared: declarations.Declared, initialiser: str) -> Variable:
        if linkage == ".extern":
            dynamic = space == "shared"
            size = 0 if dynamic else declared.bytes()
            return Variable(declared.name, space, declared.type, size, declared.alignment, dynamic)
        if not initialiser:
            if None in declared.dimensions:
                raise_ptx_error(f"variable {quoted(declared.name)} has no size")
            return Variable(declared.name, space, declared.type, declared.bytes(), declared.alignment)
        if space == "shared":
            raise_ptx_error(f"shared variable {quoted(declared.name)} has an initialiser")
        room = MOST_IMAGE_BYTES - self._image_bytes
        size, image, relocations = initialisers.read(declared, initialiser, room)
        self._image_bytes += size
        return Variable(
            declared.name, space, declared.type, size, declared.alignment, image=image, relocations=relocations
        )

    def _function(self, entry: bool, linkage: str, start: int, position: int) -> int:
        header = read_header(self._text, position)
        before = self._functions.get(header.name)
        if header.name in self._variables or (before is not None and before.defined and header.has_body):
            self._text.fail(start, f"{quoted(header.name)} is defined twice")
        if header.has_body:
            reader = BodyReader(self._text, header, self._files, self._unresolved)
            self._functions[header.name], end = reader.read(header.end, entry)
            return end
        if before is None:
            self._functions[header.name] = Function(
                header.name, entry, header.parameters, header.results, {}, (), (), {}, defined=False
            )
        return header.end

    def _resolve(self) -> None:
        """Resolve aliases, and check that every used name is defined."""
        for alias, original, line in self._aliases:
            function = self._functions.get(original)
            if function is None or not function.defined:
                self._missing(original, line)
            self._functions[alias] = replace(function, name=alias)
        for name, line in self._unresolved.items():
            if name not in self._functions and name not in self._variables:
                self._missing(name, line)

    def _missing(self, name: str, line: int) -> NoReturn:
        external = "; it is declared .extern, and modules are not linked here" if name in self._external else ""
        raise PtxError(f"line {line}: {quoted(name)} is not defined in this module{external}")
