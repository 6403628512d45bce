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
from kernelbench.simt.cfg import ControlFlow, dominators
from kernelbench.simt.faults import access_bytes
from kernelbench.simt.usage import registers_written

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
    if not machine:
        return Grouping({}, 0)
    finder = _Finder(function, flow, offset_of, machine)
    joined: dict[int, Joined] = {}
    unclear = 0
    for group in finder.groups():
        if any(size > one.bytes for one in group for size in one.machine):
            found, clear = _follow(group, finder)
            joined |= found
            unclear += not clear
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
        self._dominators = dominators(self._blocks)
        self._writers: dict[str, int] = defaultdict(int)
        for one in self._code:
            for register in registers_written(one):
                self._writers[register.name] += 1

    def groups(self) -> Iterator[list[_Access]]:
        """Stores with the same base in a block, and loads with the same base."""
        found: dict[tuple[object, ...], list[_Access]] = defaultdict(list)
        for number, block in enumerate(self._blocks):
            versions: dict[str, int] = defaultdict(int)  # of registers that the block writes
            for index in range(block.start, block.end):
                one = self._code[index]
                place = self._place(one)
                if place is not None:
                    base, offset = place
                    version = versions[base] if self._writers[base] > 1 else 0
                    everywhere = one.opcode[0] == "ld" and self._writers[base] <= 1
                    key = (None if everywhere else number, one.opcode[0], base, version)
                    lines = self._machine.get(one.ptx_line, ())
                    sizes = tuple(size for size in lines if size)
                    found[key].append(_Access(index, number, offset, access_bytes(one), sizes))
                for register in registers_written(one):
                    versions[register.name] += 1
        return iter(found.values())

    def _place(self, one: ir.Instruction) -> tuple[str, int] | None:
        """Base register, "" for a known place, and offset, of a load or store of shared memory without a condition."""
        if one.opcode[0] not in ("ld", "st") or one.guard or not {"shared", "shared::cta"} & set(one.opcode):
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

    def dominates(self, first: _Access, then: _Access) -> bool:
        """Whether one load comes before another on every path; their base is the same there."""
        block: int | None = then.block
        while block is not None and block != first.block:
            block = self._dominators[block]
        return block is not None

    def copies(self, number: int, group: Sequence[_Access]) -> int:
        """How often the machine code has a block: as often as most of its instructions, apart from the group's."""
        block, own = self._blocks[number], {one.index for one in group if not one.is_plain}
        lines = (self._code[index].ptx_line for index in range(block.start, block.end) if index not in own)
        codes = (self._machine.get(line, ()) for line in lines)
        counts = [sum(map(bool, code)) or len(code) for code in codes if code]
        return mode(counts) if counts else 1


def _follow(group: Sequence[_Access], finder: _Finder) -> tuple[dict[int, Joined], bool]:
    """What is joined, and whether that is all that the machine code joins in the group."""
    leaders = [one for one in group if one.leads]
    parts = [one for one in group if not one.machine]
    others = [one for one in group if not one.is_plain and one not in leaders and one not in parts]
    within = {one.index: [to for to in leaders if abs(one.offset - to.offset) < to.machine[0]] for one in group}
    reached = {one.index: [to for to in within[one.index] if finder.dominates(to, one)] for one in parts}
    unclear = {to for one in others for to in within[one.index] if to.block == one.block}
    unclear |= {to for one in parts if not reached[one.index] for to in within[one.index]}
    found: dict[int, Joined] = {}
    for block in {one.block for one in leaders}:
        own = [one for one in leaders if one.block == block]
        iterations = _iterations(own, [one for one in parts if one.block == block], finder.copies(block, group))
        for one in own:
            if iterations and one not in unclear:
                found[one.index] = Joined(one.machine[0], one.machine[0] // iterations)
    clear = bool(leaders) and len(found) == len(leaders) and not others
    for one in parts:
        if any(to.index in found for to in reached[one.index]):
            found[one.index] = Joined(0, 0)
    return found, clear


def _iterations(leaders: Sequence[_Access], parts: Sequence[_Access], copies: int) -> int:
    """How many executions of a block share its wide accesses; 0 if that is not clear."""
    ratios = {divmod(copies, len(one.machine)) for one in leaders}
    iterations, rest = ratios.pop()
    own = {one.offset + byte for one in (*leaders, *parts) for byte in range(one.bytes)}
    wide = sum(one.machine[0] for one in leaders)
    return 0 if ratios or rest or (iterations > 1 and len(own) * iterations != wide) else iterations
