"""Loads whose value a later instruction may drop.

nvcc makes a load and a selp of `c ? s : 0` if the load cannot fail. A lane that drops the value does not read it, as
far as the source goes. So strict launches check such a load at the last instruction that may drop it, for the lanes
that use it. Nothing between the two synchronises or writes to memory, so the check finds the same order of accesses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from kernelbench.simt import ir
from kernelbench.simt.cfg import ControlFlow
from kernelbench.simt.lower import arithmetic, convert, logic, predicates
from kernelbench.simt.lower.memory_order import ORDERS
from kernelbench.simt.usage import registers_read, registers_written

# Instructions that only calculate.
PURE = {key.split(".")[0] for family in (arithmetic, predicates, convert, logic) for key in family.TABLE}
CARRY = {"cc", "addc", "subc", "madc"}  # with an operand that is not written out
UNCHECKED = {"global", "const", "param"}

# Conditions that hold in every lane that uses a value: (predicate, its value there) -> the last instruction that tests
# it. None: nothing uses the value.
Conditions = dict[tuple[ir.Operand, bool], int]


@dataclass(frozen=True)
class LoadCheck:
    """Instruction `load` is checked after instruction `at`, where all predicates are as in `conditions`."""

    load: int
    at: int
    conditions: tuple[tuple[ir.Operand, bool], ...]


def chosen_loads(code: Sequence[ir.Instruction], flow: ControlFlow) -> Iterator[LoadCheck]:
    """Loads from shared, local or generic addresses whose value a lane may drop, block by block, the last first."""
    total = Counter(register for one in code for register in registers_read(one))
    for block in flow.blocks:
        start = block.start
        for end in range(block.start, block.end + 1):
            if end == block.end or not _calculates(code[end]):
                if any(map(_is_checked, code[start:end])) and any(map(_selects, code[start:end])):
                    yield from _choices(code, start, end, total)
                start = end + 1


def _calculates(one: ir.Instruction) -> bool:
    return one.opcode[0] in PURE or (one.opcode[0] == "ld" and not ORDERS.keys() & set(one.opcode))


def _is_checked(one: ir.Instruction) -> bool:
    return one.opcode[0] == "ld" and one.guard is None and not UNCHECKED & set(one.opcode)


def _selects(one: ir.Instruction) -> bool:
    return one.guard is None and (one.opcode[0] == "selp" or one.opcode in (("and", "pred"), ("or", "pred")))


def _choices(code: Sequence[ir.Instruction], start: int, end: int, total: Counter[ir.Register]) -> Iterator[LoadCheck]:
    """The choices among instructions [start, end), which only calculate. They are read from the last to the first, so
    that the uses of a value are known at the instruction that makes it."""
    used: dict[ir.Operand, Conditions | None] = {}
    seen: Counter[ir.Operand] = Counter()
    changed: set[ir.Operand] = set()
    for index in reversed(range(start, end)):
        one, found = code[index], None
        for register in registers_written(one):
            changed.add(register)
            found = _common(found, used.get(register) if seen[register] == total[register] else {})
        if found and _is_checked(one):
            yield LoadCheck(index, max(found.values()), tuple(found))
        for operand, needed in _uses(one, index, found, changed):
            used[operand] = _common(used.get(operand), needed)
            seen[operand] += 1


def _uses(
    one: ir.Instruction, index: int, found: Conditions | None, changed: Set[ir.Operand]
) -> Iterator[tuple[ir.Operand, Conditions | None]]:
    """Each operand that an instruction reads, with what holds where it matters; `found`: where the result does. nvcc
    makes `and.pred` of `a && b` and of `if (a) if (b)`, with `a` as the first operand, which always matters."""
    if not _selects(one):
        always = one.guard is not None or one.opcode[0] == "ld" or CARRY & set(one.opcode)
        yield from ((register, {} if always else found) for register in registers_read(one))
        return
    *values, predicate = one.operands[1:] if one.opcode[0] == "selp" else reversed(one.operands[1:])
    known = _register(predicate) not in changed
    for operand, must_be in zip(values, (one.opcode[0] != "or", False), strict=False):
        yield _register(operand), {**found, (predicate, must_be): index} if found is not None and known else found
    yield _register(predicate), found


def _register(operand: ir.Operand) -> ir.Operand:
    return operand.register if isinstance(operand, ir.Not) else operand


def _common(first: Conditions | None, second: Conditions | None) -> Conditions | None:
    if first is None or second is None:
        return second if first is None else first
    return {one: max(first[one], second[one]) for one in first.keys() & second.keys()}
