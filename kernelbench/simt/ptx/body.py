"""Parses function bodies: statements, scopes and labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelbench.core.errors import PtxError
from kernelbench.simt.ir import Function, Guard, Instruction, Label, Operand, Register, SourceLine, Variable
from kernelbench.simt.ptx import declarations
from kernelbench.simt.ptx.headers import Header
from kernelbench.simt.ptx.names import Names, Scope
from kernelbench.simt.ptx.operands import NAME, OperandReader
from kernelbench.simt.ptx.text import MOST_DEPTH, PRAGMA, Text, quoted, raise_ptx_error

_STATEMENT = re.compile(
    rf"""\s*(?:
        ({NAME})\s*:(?!:)                                                    # 1 a label
      | (?:@(\s*!)?\s*([\w$%]+)\s+)?([a-z]\w*(?:\.[A-Za-z0-9_:]+)*)(?![\w$%])  # 2, 3 a guard, 4 an opcode
      | ([{{}}])                                                             # 5
      | (\.[a-z_]+)                                                          # 6 a directive
      | ;
    )""",
    re.VERBOSE | re.ASCII,
)
_TABLE = re.compile(r"\s*\.(branchtargets|calltargets|callprototype)(?![A-Za-z0-9_])")
LOCATION = re.compile(
    r"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})"
    rf"(?:\s*,\s*function_name\s+{NAME}(?:\s*\+\s*[0-9]{{1,9}})?"
    r"\s*,\s*inlined_at\s+([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9}))?"
)
# CUDA headers: code inlined from them is attributed to the calling line.
_TOOLKIT = re.compile(r"/(?:targets/[^/]+|cuda[^/]*|nvidia/[^/]+)/include/")
_SPACES = {".shared": "shared", ".local": "local", ".param": "param"}


@dataclass
class _Waiting:
    """An instruction or table whose labels are resolved at the end of the function."""

    index: int
    scope: Scope
    line: int


class BodyReader:
    """Reads one function. `unresolved` gets the names that the module must define, with the line of their first use."""

    def __init__(self, text: Text, header: Header, files: Mapping[int, str], unresolved: dict[str, int]) -> None:
        self._text = text
        self._header = header
        self._files = files
        self._unresolved = unresolved
        self._names = Names()
        self._operands = OperandReader(self._names, self._on_global)
        self._instructions: list[Instruction] = []
        self._labels: dict[str, int] = {}
        self._tables: dict[str, tuple[tuple[str, ...], _Waiting]] = {}
        self._prototypes: set[str] = set()
        self._waiting: list[_Waiting] = []
        self._variables: list[Variable] = []
        self._source: SourceLine | None = None
        self._sources: dict[tuple[str, ...], SourceLine | None] = {}  # by file, line and column
        self._callers: dict[tuple[str, ...], tuple[str, ...]] = {}  # of inlined code: (file, line, column) -> call
        self._opcodes: dict[str, tuple[str, ...]] = {}
        self._line = 0

    def read(self, position: int, entry: bool) -> tuple[Function, int]:
        """The function, and the position after its last brace."""
        for formal in (*self._header.results, *self._header.parameters):
            self._names.declare_variable(formal.name)
        try:
            position = self._statements(position)
            function = self._finish(entry)
        except PtxError as error:
            if str(error).startswith("line "):
                raise
            raise PtxError(f"line {self._line}: in {self._header.name}: {error}") from None
        return function, position

    def _on_global(self, name: str) -> None:
        self._unresolved.setdefault(name, self._line)

    def _statements(self, position: int) -> int:
        text, depth = self._text, 0
        while True:
            match = _STATEMENT.match(text.text, position)
            if match is None:
                self._line = text.line(position)
                rest = text.text[position : position + 200]
                raise_ptx_error(f"expected a statement, got {quoted(rest)}" if rest.strip() else "'}' is missing")
            kind = match.lastindex
            start, position = match.start(kind or 0), match.end()
            self._line = text.line(start)
            text.count(start)
            if kind == 4:
                position = self._instruction(match)
            elif kind == 1:
                position = self._label(match[1], position)
            elif kind == 6:
                position = self._directive(match[6], position)
            elif kind == 5 and match[5] == "{":
                depth += 1
                if depth > MOST_DEPTH:
                    raise_ptx_error(f"scopes nested deeper than {MOST_DEPTH}")
                self._names.open()
            elif kind == 5:
                if not depth:
                    return position
                depth -= 1
                self._names.close()

    def _instruction(self, match: re.Match[str]) -> int:
        text = self._text
        name, end = match[4], text.end_of_statement(match.start(4))
        opcode = self._opcodes.get(name)
        if opcode is None:
            opcode = self._opcodes[name] = tuple(name.split("."))
        rest = text.text[match.end() : end].strip()
        index = len(self._instructions)
        try:
            guard = Guard(self._operands.register(match[3]), match[2] is not None) if match[3] else None
            if name.startswith("b") and opcode[0] in ("bra", "brx"):
                operands = self._branch(opcode[0], rest, index)
            elif opcode[0] == "call":
                operands = self._call(rest)
            else:
                operands = self._operands.read_all(rest)
        except PtxError as error:
            raise_ptx_error(f"{quoted(name + ' ' + rest)}: {error}")
        shown = " ".join(text.text[match.start() : end].split())
        self._instructions.append(Instruction(opcode, operands, guard, shown, self._line, self._source))
        return end + 1

    def _branch(self, name: str, rest: str, index: int) -> tuple[Operand, ...]:
        operands: tuple[Operand, ...] = ()
        if name == "brx":
            selector, _, rest = rest.partition(",")
            operands, rest = self._operands.read_all(selector.strip()), rest.strip()
        if not re.fullmatch(NAME, rest):
            raise_ptx_error(f"expected a label, got {quoted(rest)}")
        self._waiting.append(_Waiting(index, self._names.scope, self._line))
        return (*operands, Label(rest))

    def _call(self, rest: str) -> tuple[Operand, ...]:
        """Results, function, arguments and prototype; a prototype is the name of a table."""
        head, comma, last = rest.rpartition(",")
        if comma and last.strip() in self._prototypes:
            return (*self._operands.read_all(head.strip()), Label(last.strip()))
        return self._operands.read_all(rest)

    def _label(self, name: str, position: int) -> int:
        table = _TABLE.match(self._text.text, position)
        unique = self._names.declare_label(name)
        if unique is None:
            raise_ptx_error(f"label {quoted(name)} twice")
        if table is None:
            self._labels[unique] = len(self._instructions)
            return position
        end = self._text.end_of_statement(table.end(), most=1 << 24)
        if table[1] == "branchtargets":
            labels = tuple(item.strip() for item in self._text.text[table.end() : end].split(","))
            self._tables[unique] = labels, _Waiting(0, self._names.scope, self._line)
        else:
            self._prototypes.add(name)
        return end + 1

    def _directive(self, name: str, position: int) -> int:
        text = self._text
        if name == ".loc":
            return self._location(position)
        if name == ".pragma":
            match = PRAGMA.match(text.text, position)
            if match is None:
                raise_ptx_error("expected quoted text and ';' after .pragma")
            return match.end()
        end = text.end_of_statement(position)
        declaration = text.text[position:end]
        if name == ".reg":
            for register, type, count, lanes in declarations.registers(declaration):
                if not self._names.declare_registers(register, type, count, lanes):
                    raise_ptx_error(f"register {quoted(register)} twice in a scope")
        elif name in _SPACES:
            self._variables += [self._variable(name, *found) for found in declarations.declared_variables(declaration)]
        else:
            raise_ptx_error(f"directive {quoted(name)} is not known in a function")
        return end + 1

    def _variable(self, space: str, declared: declarations.Declared, initialiser: str) -> Variable:
        unique = self._names.declare_variable(declared.name)
        if unique is None or initialiser or None in declared.dimensions:
            problem = "is there twice" if unique is None else "has an initialiser or no size"
            raise_ptx_error(f"variable {quoted(declared.name)} {problem}")
        return Variable(unique, _SPACES[space], declared.type, declared.bytes(), declared.alignment)

    def _location(self, position: int) -> int:
        match = LOCATION.match(self._text.text, position)
        if match is None:
            raise_ptx_error("expected file, line and column after .loc")
        key, caller = match.groups()[:3], match.groups()[3:]
        if caller[0] is not None:
            self._callers[key] = caller
        own = self._outside_the_toolkit(key)  # the same place of a header may have been inlined elsewhere before
        if own not in self._sources:
            file, line = self._files.get(int(own[0])), int(own[1])
            self._sources[own] = SourceLine(file, line) if file is not None and line else None
        self._source = self._sources[own]
        return match.end()

    def _outside_the_toolkit(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """The place of the call, where `key` is one in the toolkit's headers."""
        seen = {key}
        while key in self._callers and _TOOLKIT.search(self._files.get(int(key[0])) or ""):
            key = self._callers[key]
            if key in seen:
                break
            seen.add(key)
        return key

    def _finish(self, entry: bool) -> Function:
        for waiting in self._waiting:
            self._resolve(waiting)
        targets = {
            name: tuple(self._target(label, waiting) for label in labels)
            for name, (labels, waiting) in self._tables.items()
        }
        header = self._header
        return Function(
            header.name, entry, header.parameters, header.results, self._names.registers, tuple(self._variables),
            tuple(self._instructions), self._labels, targets, header.sizes.get("maxntid", ()),
            header.sizes.get("reqntid", ()), header.sizes.get("cluster", ()),
        )  # fmt: skip

    def _target(self, name: str, waiting: _Waiting) -> str:
        found = self._names.find_label(name, waiting.scope)
        if found is None or found not in self._labels:
            self._line = waiting.line
            raise_ptx_error(f"label {quoted(name)} is not in this function")
        return found

    def _resolve(self, waiting: _Waiting) -> None:
        instruction = self._instructions[waiting.index]
        *others, label = instruction.operands
        assert isinstance(label, Label)
        if instruction.opcode[0] == "bra":
            name = self._target(label.name, waiting)
        else:
            name = self._names.find_label(label.name, waiting.scope) or ""
            if name not in self._tables or len(others) != 1 or not isinstance(others[0], Register):
                self._line = waiting.line
                raise_ptx_error(f"{quoted(instruction.text)}: expected a register and a .branchtargets list")
        if name != label.name:
            self._instructions[waiting.index] = replace(instruction, operands=(*others, Label(name)))
