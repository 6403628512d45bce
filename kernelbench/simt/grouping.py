"""Which loads and stores of shared memory the machine code makes as one wider access.

ptxas joins accesses side by side, `ld.shared [r]`, `[r+4]`, .., into one LDS.64 or LDS.128, whose line is that of one
of them. It may also join those of successive iterations of a loop that it unrolls. What is not clear counts as in the
PTX.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mode

from kernelbench.simt import ir
from kernelbench.simt.cfg import ControlFlow
from kernelbench.simt.faults import access_bytes
from kernelbench.simt.usage import writes

# By line of the PTX: an entry per instruction of the machine code, with the bytes per lane of its load or store of
# shared memory, and 0 for all others.
MachineLines = Mapping[int, Sequence[int]]


@dataclass(frozen=True)
class Joined:
    """How the machine code makes the access of an instruction: `bytes` per lane, from an address that is a multiple of
    them; 0 if the access is part of another instruction's. It counts only if its own address, modulo `bytes`, is below
    `first`: other iterations are part of the same access."""

    bytes: int
    first: int


@dataclass(frozen=True)
class Grouping:
    """`joined`: by index of the instruction. `unclear`: groups of accesses that the machine code joins in a way that
    this does not follow."""

    joined: Mapping[int, Joined]
    unclear: int


@dataclass(frozen=True)
class _Access:
    index: int
    block: int
    offset: int  # to the base
    bytes: int
    machine: tuple[int, ...]  # bytes of each of its accesses in the machine code

    @property
    def is_plain(self) -> bool:
        return bool(self.machine) and set(self.machine) == {self.bytes}

    @property
    def leads(self) -> bool:
        """Whether the machine code has only wider accesses at its line."""
        return len(set(self.machine)) == 1 and self.machine[0] > self.bytes


def group_accesses(
    function: ir.Function, flow: ControlFlow, offset_of: Callable[[str], int | None], machine: MachineLines
) -> Grouping:
    """`offset_of`: the place of a shared variable, None for other names."""
    finder = _Finder(function, flow, offset_of, machine)
    joined: dict[int, Joined] = {}
    unclear = 0
    for group in finder.groups():
        if any(size > one.bytes for one in group for size in one.machine):
            found = _follow(group, finder.copies)
            joined |= found
            unclear += not found
    return Grouping(joined, unclear)


class _Finder:
    def __init__(
        self,
        function: ir.Function,
        flow: ControlFlow,
        offset_of: Callable[[str], int | None],
        machine: MachineLines,
    ) -> None:
        self._code, self._blocks = function.instructions, flow.blocks
        self._offset_of, self._machine = offset_of, machine
        before: dict[int, list[int]] = defaultdict(list)
        for number, block in enumerate(self._blocks):
            for to in block.successors:
                before[to].append(number)
        self._only_before = {to: numbers[0] for to, numbers in before.items() if len(numbers) == 1}
        self._writers: dict[str, int] = defaultdict(int)
        for one in self._code:
            for register in writes(one):
                self._writers[register.name] += 1

    def groups(self) -> Iterator[list[_Access]]:
        """Loads, or stores, with the same base in a block; of loads, also in blocks that only this one leads to."""
        found: dict[tuple[object, ...], list[_Access]] = defaultdict(list)
        for number, block in enumerate(self._blocks):
            versions: dict[str, int] = defaultdict(int)  # of registers that the block writes
            for index in range(block.start, block.end):
                one = self._code[index]
                place = self._place(one)
                if place is not None:
                    base, offset = place
                    version = versions[base] if self._writers[base] > 1 else 0
                    head = self._head(number, base) if one.opcode[0] == "ld" else number
                    key = (head, one.opcode[0], base, version, one.guard)
                    lines = self._machine.get(one.ptx_line, ())
                    sizes = tuple(size for size in lines if size)
                    found[key].append(_Access(index, number, offset, access_bytes(one), sizes))
                for register in writes(one):
                    versions[register.name] += 1
        return iter(found.values())

    def _place(self, one: ir.Instruction) -> tuple[str, int] | None:
        """Base register, "" for a known place, and offset, of a load or store of shared memory."""
        if one.opcode[0] not in ("ld", "st") or not {"shared", "shared::cta"} & set(one.opcode):
            return None
        address = next((operand for operand in one.operands if isinstance(operand, ir.Address)), None)
        if address is None:
            return None
        if isinstance(address.base, ir.Register):
            return address.base.name, address.offset
        if address.base is None:
            return "", address.offset
        place = self._offset_of(address.base.name)
        return None if place is None else ("", place + address.base.offset + address.offset)

    def _head(self, number: int, base: str) -> int:
        """The first of the blocks that lead only to one another up to this one, if the base is the same in all."""
        if base and self._writers[base] > 1:
            return number
        seen = {number}
        while (to := self._only_before.get(number)) is not None and to not in seen:
            number = to
            seen.add(to)
        return number

    def copies(self, number: int, group: Sequence[_Access]) -> int:
        """How often the machine code has a block: as often as most of its instructions, apart from the group's."""
        block, own = self._blocks[number], {one.index for one in group if not one.is_plain}
        lines = (self._code[index].ptx_line for index in range(block.start, block.end) if index not in own)
        codes = (self._machine.get(line, ()) for line in lines)
        counts = [sum(map(bool, code)) or len(code) for code in codes if code]
        return mode(counts) if counts else 1


def _follow(group: Sequence[_Access], copies: Callable[[int, Sequence[_Access]], int]) -> dict[int, Joined]:
    """Empty where it is not clear what the machine code does."""
    leaders = [one for one in group if one.leads]
    parts = [one for one in group if not one.machine]
    if not leaders or not all(one.is_plain for one in group if one not in leaders and one not in parts):
        return {}
    if not all(any(abs(one.offset - other.offset) < other.machine[0] for other in leaders) for one in parts):
        return {}
    ratios = {divmod(copies(one.block, group), len(one.machine)) for one in leaders}
    iterations, rest = ratios.pop()
    own = {one.offset + byte for one in (*leaders, *parts) for byte in range(one.bytes)}
    wide = sum(one.machine[0] for one in leaders)
    if ratios or rest or not iterations or (iterations > 1 and len(own) * iterations != wide):
        return {}
    found = {one.index: Joined(one.machine[0], one.machine[0] // iterations) for one in leaders}
    return found | {one.index: Joined(0, 0) for one in parts}
