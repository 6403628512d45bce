"""Names of a function: its registers, variables and labels, and the scopes that hide them.

PTX from inline assembly opens a scope for nearly every statement and declares the same names in each of
them; here every declaration gets a name of its own (`t`, then `t~2`), unique within the function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kernelbench.simt.ir import Operand, Register, Symbol, Vector

_SPECIAL = re.compile(
    r"""%(?:n?tid|n?ctaid|(?:n)?clusterid|cluster_n?ctaid)(?:\.[xyzw])?
      |%(?:laneid|n?warpid|n?smid|gridid|lanemask_(?:eq|le|lt|ge|gt)|clock(?:_hi|64)?|pm[0-7](?:_64)?|envreg(?:[12]?[0-9]|3[01])
         |is_explicit_cluster|cluster_n?ctarank|globaltimer(?:_lo|_hi)?|(?:total|aggr|dynamic)_smem_size
         |reserved_smem_offset_(?:begin|end|cap|[0-9]{1,3})|current_graph_exec)
      |WARP_SZ""",
    re.VERBOSE,
)


_MOST_DIGITS = 7  # of a number in a range of registers


def is_special(name: str) -> bool:
    return _SPECIAL.fullmatch(name) is not None


@dataclass
class Range:
    """`.reg .b32 %r<10>`: %r0 to %r9, created at their first use."""

    count: int
    type: str


@dataclass
class Scope:
    """Declarations between two braces. `operands` caches parsed texts; a scope without declarations shares the cache
    of the enclosing scope."""

    parent: Scope | None
    depth: int
    operands: dict[str, Operand]
    declared: dict[str, Operand] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


class Names:
    """The scopes of one function; `registers`: those that its code uses."""

    def __init__(self) -> None:
        self.scope = Scope(None, 0, {})
        self.registers: dict[str, Register] = {}
        self._taken: dict[str, int] = {}
        self._taken_labels: dict[str, int] = {}

    def open(self) -> None:
        self.scope = Scope(self.scope, self.scope.depth + 1, self.scope.operands)

    def close(self) -> None:
        assert self.scope.parent is not None
        self.scope = self.scope.parent

    def declare_registers(self, name: str, type: str, count: int | None, lanes: int) -> bool:
        """False if the scope already has this name. `lanes`: 2 for `.v2`, whose parts are name.x, name.y."""
        scope = self._declaring()
        if name in scope.declared or name in scope.ranges:
            return False
        if count is not None:
            scope.ranges[name] = Range(count, type)
        elif lanes == 1:
            scope.declared[name] = Register(_unique(name, self._taken), type)
        else:
            parts = [f"{name}.{part}" for part in "xyzw"[:lanes]]
            scope.declared.update({part: Register(_unique(part, self._taken), type) for part in parts})
            scope.declared[name] = Vector(tuple(scope.declared[part] for part in parts))
        return True

    def declare_variable(self, name: str) -> str | None:
        """Its name within the function, or None if the scope already has it."""
        scope = self._declaring()
        if name in scope.declared or name in scope.ranges:
            return None
        unique = _unique(name, self._taken)
        scope.declared[name] = Symbol(unique)
        return unique

    def declare_label(self, name: str) -> str | None:
        if name in self.scope.labels:
            return None
        self.scope.labels[name] = unique = _unique(name, self._taken_labels)
        return unique

    def find(self, name: str) -> Operand | None:
        """The register, vector of registers or variable `name` in this scope; None if the function has none."""
        scope: Scope | None = self.scope
        while scope is not None:
            found = scope.declared.get(name)
            if found is None and scope.ranges:
                found = self._numbered(scope, name)
            if found is not None:
                self._mention(found)
                return found
            scope = scope.parent
        return None

    def find_label(self, name: str, scope: Scope | None) -> str | None:
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        return None

    def _declaring(self) -> Scope:
        """The scope, with its own cache because its names may hide those of the enclosing scope."""
        scope = self.scope
        scope.operands = {}
        return scope

    def _numbered(self, scope: Scope, name: str) -> Register | None:
        digits_start = len(name.rstrip("0123456789"))
        for start in range(max(digits_start, len(name) - _MOST_DIGITS), len(name)):
            found = scope.ranges.get(name[:start])
            digits = name[start:]
            if found is not None and (digits == "0" or digits[0] != "0") and int(digits) < found.count:
                register = Register(_unique(name, self._taken), found.type)
                scope.declared[name] = register
                return register
        return None

    def _mention(self, found: Operand) -> None:
        if isinstance(found, Register):
            self.registers[found.name] = found
        elif isinstance(found, Vector):
            self.registers.update({item.name: item for item in found.items if isinstance(item, Register)})


def _unique(name: str, taken: dict[str, int]) -> str:
    number = taken.get(name, 0) + 1
    taken[name] = number
    return name if number == 1 else f"{name}~{number}"
