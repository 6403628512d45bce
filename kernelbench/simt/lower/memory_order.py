"""The memory order of loads, stores and atomics, by which races are judged."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE, Order
from kernelbench.simt.usage import registers_read, registers_written

# Above these, an access keeps the order of its opcode: PTX that nvcc did not write must not take forever.
MOST_STEPS, MOST_COPIES = 1 << 20, 64
ORDERS = {
    "volatile": Order.VOLATILE,
    "relaxed": Order.RELAXED,
    "mmio": Order.RELAXED,
    "acquire": Order.ACQUIRE,
    "release": Order.RELEASE,
    "acq_rel": Order.ACQUIRE_RELEASE,
}


def access_orders(function: ir.Function) -> list[int]:
    """The Order of each instruction; NONE for plain accesses and other instructions."""
    code = function.instructions
    found = [next((int(ORDERS[part]) for part in one.opcode if part in ORDERS), NONE) for one in code]
    for index in checked_loads(code):
        found[index] = Order.CHECKED
    for index in polling_loads(function):
        found[index] = Order.POLLING
    return found


def polling_loads(function: ir.Function) -> Iterator[int]:
    """Indices of volatile loads that a loop repeats until their value changes."""
    code, steps = function.instructions, 0
    loads = [index for index, one in enumerate(code) if one.opcode[:2] == ("ld", "volatile")]
    for end, branch in enumerate(code if loads else ()):
        label = branch.operands[-1] if branch.opcode[0] == "bra" else None
        begin = function.labels[label.name] if isinstance(label, ir.Label) and branch.guard else end
        for index in loads[bisect_left(loads, begin) : bisect_left(loads, end)]:
            steps += end - index
            if steps > MOST_STEPS:
                return
            derived = set(registers_written(code[index]))
            for one in code[index + 1 : end]:
                derived.update(registers_written(one) if derived.intersection(registers_read(one)) else ())
            if branch.guard and branch.guard.register in derived:
                yield index


def checked_loads(code: Sequence[ir.Instruction]) -> frozenset[int]:
    """Indices of plain loads whose value a compare-and-swap compares with the same address. If the value was
    outdated, the swap fails and the loop tries again."""
    copied: dict[str, set[ir.Operand]] = {}
    for one in code:
        if one.opcode[0] in ("mov", "cvta") and len(one.operands) == 2 and isinstance(one.operands[0], ir.Register):
            copied.setdefault(one.operands[0].name, set()).add(one.operands[1])
    swaps = [one.operands for one in code if one.opcode[0] == "atom" and "cas" in one.opcode and len(one.operands) > 3]
    compared: dict[tuple[ir.Operand, int], set[ir.Operand]] = {}
    for _, address, value, *_ in swaps:
        for place in _places(copied, address):
            compared.setdefault(place, set()).update(_origins(copied, value))
    return frozenset(
        index
        for index, one in enumerate(code if compared else ())
        if one.opcode[0] == "ld"
        and any(one.operands[0] in compared.get(place, ()) for place in _places(copied, one.operands[1]))
    )


def _origins(copied: Mapping[str, Set[ir.Operand]], operand: ir.Operand) -> set[ir.Operand]:
    """An operand, and what its value may have been copied from."""
    found, waiting = {operand}, [operand]
    while waiting and len(found) < MOST_COPIES:
        one = waiting.pop()
        new = copied.get(one.name, set()) - found if isinstance(one, ir.Register) else set()
        found |= new
        waiting += new
    return found


def _places(copied: Mapping[str, Set[ir.Operand]], address: ir.Operand) -> set[tuple[ir.Operand, int]]:
    """Base and offset of an address, for each base that it may have been copied from."""
    if not isinstance(address, ir.Address) or address.base is None:
        return set()
    return {(base, address.offset) for base in _origins(copied, address.base)}
