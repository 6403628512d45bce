"""Loads and stores of a kernel's PTX through each of its parameters.

Pointers are followed from the parameters through moves and arithmetic to the addresses of loads and stores, ignoring
the order of instructions: an address that may come from a parameter counts for it. So a parameter with 0 loads is never
read. Counts are instructions in the code, not executed ones.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

_IGNORED = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*\.(?:loc|file)\b[^\n]*$", re.DOTALL | re.MULTILINE)
# (?!..) ends a name at one place: without it, the rest would be tried again after each of its characters.
_ENTRY = re.compile(r"\.entry\s+([\w$.]+)(?![\w$.])(?:\s*\(([^)]*)\))?[^{;]*\{")
_FUNCTION = re.compile(r"\.(?:entry|func)\s*(?:\([^)]*\)\s*)?([\w$.]+)(?![\w$.])(?:\s*\([^)]*\))?[^{;]*\{")
_PREFIX = re.compile(r"(?:\s+|[{}]|[\w$]+:(?!:)|@!?[%\w$.]+)*")  # scopes, labels and the guard of an instruction
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s]+")
_NAME = re.compile(r"(?<![\w$.%])[%A-Za-z_$][\w$.]*")
_SPACES = ("global", "shared", "local", "param", "const")

# The results of these are numbers, not addresses: an index times a size, a length, a comparison, data.
# fmt: off
_NUMBERS = frozenset((
    "mul", "mul24", "shl", "shr", "div", "rem", "setp", "set", "cvt", "popc", "clz", "bfind", "bfe", "bfi",
    "tex", "suld", "sust",
))
# fmt: on
_MEMORY = "<memory>"  # local and shared memory as a whole: a pointer stored there may be loaded from anywhere


@dataclass(frozen=True)
class Accesses:
    """Global memory instructions of an entry, by parameter; a vector load or an atomic is one."""

    loads: tuple[int, ...]
    stores: tuple[int, ...]


@dataclass(frozen=True)
class _Instruction:
    """How one instruction passes on values, and the names from which its global accesses take their address."""

    targets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Operand:
    """The registers and parameters that an operand names; `kind` is its first character: [ an address."""

    kind: str
    names: tuple[str, ...]


def ptx_accesses(ptx: str) -> dict[str, Accesses]:
    """Loads and stores of every entry of a PTX module."""
    text = _IGNORED.sub("", ptx)
    found = {}
    for match in _ENTRY.finditer(text):
        body = text[match.end() : _closing_brace(text, match.end())]
        found[match[1]] = _entry_accesses(match[2] or "", list(_instructions(body)))
    return found


def function_bodies(ptx: str) -> dict[str, list[tuple[str, str]]]:
    """Instructions of every kernel and device function with a body: opcode, and operands as written."""
    text = _IGNORED.sub("", ptx)
    return {
        match[1]: [
            (opcode, rest)
            for opcode, rest in _statements(text[match.end() : _closing_brace(text, match.end())])
            if opcode and not opcode.startswith(".")
        ]
        for match in _FUNCTION.finditer(text)
    }


def _entry_accesses(parameter_list: str, instructions: list[_Instruction]) -> Accesses:
    passed_on: dict[str, set[str]] = defaultdict(set)
    for instruction in instructions:
        for source in instruction.sources:
            passed_on[source].update(instruction.targets)
    loads, stores = [], []
    for declaration in filter(None, map(str.strip, parameter_list.split(","))):
        reached: set[str] = set()
        # Only 64-bit parameters and structs can hold a pointer.
        if re.search(r"\.[bus]64\b|\[", declaration):
            reached = _reachable(declaration.split("[")[0].split()[-1], passed_on)
        loads.append(sum(not reached.isdisjoint(instruction.loads) for instruction in instructions))
        stores.append(sum(not reached.isdisjoint(instruction.stores) for instruction in instructions))
    return Accesses(tuple(loads), tuple(stores))


def _reachable(start: str, passed_on: dict[str, set[str]]) -> set[str]:
    reached, waiting = {start}, [start]
    while waiting:
        fresh = passed_on.get(waiting.pop(), set()) - reached
        reached |= fresh
        waiting += fresh
    return reached


def _closing_brace(text: str, start: int) -> int:
    depth = 1
    for match in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(text)


def _instructions(body: str) -> Iterator[_Instruction]:
    renamed: dict[str, str] = {}  # names declared again in each scope: arguments of calls, registers of inline asm
    for number, (opcode, rest) in enumerate(_statements(body)):
        if opcode in (".param", ".reg"):
            declared = _NAME.findall(re.sub(r"(?<!\w)\.\w+", "", rest))
            renamed.update({name: f"{name}#{number}" for name in declared if not name.startswith("%")})
        elif opcode and not opcode.startswith("."):
            yield _instruction(opcode.split("."), [_operand(text, renamed) for text in _OPERAND.findall(rest)])


def _statements(body: str) -> Iterator[tuple[str, str]]:
    for statement in body.split(";"):
        opcode, _, rest = " ".join(_PREFIX.sub("", statement, count=1).split()).partition(" ")
        yield opcode, rest


def _operand(text: str, renamed: dict[str, str]) -> _Operand:
    return _Operand(text[0], tuple(renamed.get(name, name) for name in _NAME.findall(text)))


def _instruction(parts: list[str], operands: list[_Operand]) -> _Instruction:
    """Classify an instruction by its effect on addresses; `parts` are those of its opcode."""
    names = [operand.names for operand in operands]
    addresses = [operand.names for operand in operands if operand.kind == "["]
    spaces = [space for part in parts[1:] if (space := part.split("::")[0]) in _SPACES]
    base, space = parts[0], spaces[0] if spaces else "generic"
    if base in ("ld", "ldu"):
        return _load(space, names)
    if base == "st":
        return _store(space, names)
    if base == "call":
        return _call(operands)
    if base == "cp":
        return _copy(parts, spaces, addresses)
    if base in ("atom", "red", "wmma", "multimem"):
        if not addresses or space not in ("global", "generic"):
            return _Instruction()
        action = parts[1] if base in ("wmma", "multimem") else ""
        reads, writes = not action.startswith("st"), action not in ("load", "ld_reduce")
        return _Instruction(loads=addresses[0] if reads else (), stores=addresses[0] if writes else ())
    if base in _NUMBERS or len(names) < 2:
        return _Instruction()
    if base in ("mad", "fma"):  # the product is an index, the addend may be an address
        return _Instruction(names[0], names[-1])
    if base == "sub":  # the result does not point to what is subtracted
        return _Instruction(names[0], names[1])
    return _Instruction(names[0], tuple(name for operand in names[1:] for name in operand))


def _load(space: str, names: list[tuple[str, ...]]) -> _Instruction:
    target, address = names[0], names[1]
    if space == "param":
        return _Instruction(target, address)
    # Data loaded from global memory is not a pointer from a parameter.
    sources = (_MEMORY,) if space in ("shared", "local", "generic") else ()
    return _Instruction(target, sources, loads=address if space in ("global", "generic") else ())


def _store(space: str, names: list[tuple[str, ...]]) -> _Instruction:
    address, value = names[0], names[1]
    if space == "param":
        return _Instruction(address, value)
    targets = (_MEMORY,) if space in ("shared", "local", "generic") else ()
    return _Instruction(targets, value, stores=address if space in ("global", "generic") else ())


def _call(operands: list[_Operand]) -> _Instruction:
    """A function that was not inlined may do anything with the pointers it gets: one load, one store."""
    result = operands[0].names if operands[0].kind == "(" else ()
    given = operands[1:] if result else operands
    arguments = (*(name for operand in given for name in operand.names), _MEMORY)
    return _Instruction(result, arguments, loads=arguments, stores=arguments)


def _copy(parts: list[str], spaces: list[str], addresses: list[tuple[str, ...]]) -> _Instruction:
    """cp.async and its bulk forms: target, then source. Some forms only commit, wait or prefetch."""
    if len(addresses) < 2 or len(spaces) < 2:
        return _Instruction()
    loads = addresses[1] if spaces[1] == "global" else addresses[0] if "reduce" in parts else ()
    return _Instruction(loads=loads, stores=addresses[0] if spaces[0] == "global" else ())
