"""Register allocation: registers that are never live at the same time share a slot, so that a warp's register file
stays in the caches.

nvcc gives every value its own register: an unrolled kernel has thousands, of which about fifty are live at a time.
Linear scan (Poletto and Sarkar, 1999) assigns slots to live intervals of equal width. A register that an instruction
writes shares no slot with a register that the same instruction reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from kernelbench.simt import ir
from kernelbench.simt.cfg import Block, ControlFlow
from kernelbench.simt.interface import LANES
from kernelbench.simt.usage import registers_read, registers_written

MOST_BITS = 1 << 28  # blocks x registers; above it every register has its own slot


@dataclass(frozen=True)
class Slots:
    """`offsets`: by register, except predicates; `spans`: first and last instruction where it is used or live."""

    offsets: Mapping[str, int]
    bytes: int
    spans: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Step:
    """An instruction for the liveness analysis: numbers of registers, and whether it is unguarded."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    always: bool


def slot_bytes(type_name: str) -> int:
    """Bytes of a register of this type: those of the type, at least 2."""
    return max(2, ir.TYPE_BYTES[type_name])


def allocate_registers(code: Sequence[ir.Instruction], flow: ControlFlow) -> Slots:
    """Slots of all registers that `code` uses. Registers that may be read before they are written are zeroed, and
    share no slot."""
    numbers: dict[str, int] = {}
    types: list[str] = []
    steps = []
    for one in code:
        found = []
        for registers in (registers_read(one), registers_written(one)):
            for register in registers:
                if register.type != "pred" and register.name not in numbers:
                    numbers[register.name] = len(types)
                    types.append(register.type)
            found.append(tuple(numbers[register.name] for register in registers if register.type != "pred"))
        steps.append(Step(found[0], found[1], one.guard is None))
    spans = _spans(steps, flow.blocks, len(types))
    for name in flow.undefined & numbers.keys():
        spans[numbers[name]] = (0, len(code))
    offsets, total = _packed(spans, [slot_bytes(type_name) for type_name in types])
    by_name = {name: spans[number] for name, number in numbers.items()}
    return Slots({name: offsets[number] for name, number in numbers.items()}, total, by_name)


def _packed(spans: Sequence[tuple[int, int]], widths: Sequence[int]) -> tuple[list[int], int]:
    """Offset of each interval, and total bytes."""
    offsets = [0] * len(spans)
    busy: dict[int, list[tuple[int, int]]] = {width: [] for width in widths}  # heaps of (end, offset)
    total = 0
    for number in sorted(range(len(spans)), key=lambda number: spans[number]):
        (start, end), slots = spans[number], busy[widths[number]]
        if slots and slots[0][0] < start:
            _, offset = heappop(slots)
        else:
            offset, total = total, total + LANES * widths[number]
        heappush(slots, (end, offset))
        offsets[number] = offset
    return offsets, total


def _spans(steps: Sequence[Step], blocks: Sequence[Block], registers: int) -> list[tuple[int, int]]:
    """First and last instruction where each register is used or live."""
    if registers * len(blocks) > MOST_BITS:
        return [(0, len(steps))] * registers
    first, last = [len(steps)] * registers, [-1] * registers
    for index, step in enumerate(steps):
        for number in (*step.reads, *step.writes):
            first[number], last[number] = min(first[number], index), index
    alive = _alive(steps, blocks)
    for block, at_start in zip(blocks, alive, strict=True):
        for number in _bits(at_start):
            first[number], last[number] = min(first[number], block.start), max(last[number], block.start)
        for number in _bits(_any(alive[successor] for successor in block.successors)):
            first[number], last[number] = min(first[number], block.end - 1), max(last[number], block.end - 1)
    return list(zip(first, last, strict=True))


def _alive(steps: Sequence[Step], blocks: Sequence[Block]) -> list[int]:
    """Registers that are live at the start of each block, as bits. A guarded write does not end a live range."""
    alive, kept = [], []
    for block in blocks:
        exposed, written = _summary(steps[block.start : block.end])
        alive.append(_any(1 << number for number in exposed))
        kept.append(~_any(1 << number for number in written))
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(blocks))):
            after = _any(alive[successor] for successor in blocks[number].successors)
            found = alive[number] | (after & kept[number])
            changed = changed or found != alive[number]
            alive[number] = found
    return alive


def _summary(steps: Sequence[Step]) -> tuple[set[int], set[int]]:
    """Registers that are read before they are written, and registers that are always written."""
    exposed: set[int] = set()
    written: set[int] = set()
    for step in steps:
        exposed.update(number for number in step.reads if number not in written)
        if step.always:
            written.update(step.writes)
    return exposed, written


def _any(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
