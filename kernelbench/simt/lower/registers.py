"""Slots for registers: those that are never alive together share one, so that a warp's file stays in the caches.

nvcc gives every value a register of its own; an unrolled kernel has thousands, of which some fifty are alive at a
time. Each register gets the span of instructions, in the order of the text, that covers all places where it is
alive, and spans of equal width are packed (linear scan: Poletto and Sarkar, 1999). A register that an instruction
writes shares no slot with what the same instruction reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from kernelbench.simt import ir
from kernelbench.simt.cfg import Block, ControlFlow
from kernelbench.simt.lower.program import LANES
from kernelbench.simt.usage import reads, writes

MOST_BITS = 1 << 28  # blocks x registers; beyond it every register keeps a slot of its own


@dataclass(frozen=True)
class Slots:
    offsets: Mapping[str, int]  # by register, predicates aside
    bytes: int


def slot_bytes(type_name: str) -> int:
    """Bytes of a register of this type: those of the type, at least 2."""
    return max(2, ir.TYPE_BYTES[type_name])


def allocate(code: Sequence[ir.Instruction], flow: ControlFlow) -> Slots:
    """Slots of all registers that `code` mentions. Those that may be read before they are written, and are zeroed
    for that, share none."""
    types = {
        register.name: register.type
        for one in code
        for register in (*reads(one), *writes(one))
        if register.type != "pred"
    }
    spans = _spans(code, flow.blocks, {name: number for number, name in enumerate(types)})
    alone = {name: (0, len(code)) for name in flow.undefined if name in types}
    offsets: dict[str, int] = {}
    busy: dict[int, list[tuple[int, int]]] = {}  # by width: (last instruction, offset) of slots, first to end first
    total = 0
    for name, (start, end) in sorted((dict(zip(types, spans, strict=True)) | alone).items(), key=lambda item: item[1]):
        width = slot_bytes(types[name])
        slots = busy.setdefault(width, [])
        if slots and slots[0][0] < start:
            _, offset = heappop(slots)
        else:
            offset, total = total, total + LANES * width
        heappush(slots, (end, offset))
        offsets[name] = offset
    return Slots(offsets, total)


def _spans(
    code: Sequence[ir.Instruction], blocks: Sequence[Block], numbers: Mapping[str, int]
) -> list[tuple[int, int]]:
    """First and last instruction where each register is mentioned or alive."""
    if len(numbers) * len(blocks) > MOST_BITS:
        return [(0, len(code))] * len(numbers)
    first, last = [len(code)] * len(numbers), [-1] * len(numbers)

    def cover(number: int, index: int) -> None:
        first[number], last[number] = min(first[number], index), max(last[number], index)

    for index, one in enumerate(code):
        for register in (*reads(one), *writes(one)):
            if register.name in numbers:
                cover(numbers[register.name], index)
    alive = _alive(code, blocks, numbers)
    for block, at_start in zip(blocks, alive, strict=True):
        for number in _bits(at_start):
            cover(number, block.start)
        for number in _bits(_any(alive[successor] for successor in block.successors)):
            cover(number, block.end - 1)
    return list(zip(first, last, strict=True))


def _alive(code: Sequence[ir.Instruction], blocks: Sequence[Block], numbers: Mapping[str, int]) -> list[int]:
    """By block, a bit for each register that is alive where it starts. A guarded write ends no life."""
    alive, kept = [], []
    for block in blocks:
        exposed, written = _summary(code[block.start : block.end], numbers)
        alive.append(exposed)
        kept.append(~written)
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(blocks))):
            after = _any(alive[successor] for successor in blocks[number].successors)
            found = alive[number] | (after & kept[number])
            changed = changed or found != alive[number]
            alive[number] = found
    return alive


def _summary(code: Sequence[ir.Instruction], numbers: Mapping[str, int]) -> tuple[int, int]:
    """Registers read before they are written, and registers surely written, as bits."""
    exposed = written = 0
    for one in code:
        exposed |= _mask(reads(one), numbers) & ~written
        if one.guard is None:
            written |= _mask(writes(one), numbers)
    return exposed, written


def _mask(registers: Sequence[ir.Register], numbers: Mapping[str, int]) -> int:
    return _any(1 << numbers[one.name] for one in registers if one.name in numbers)


def _any(masks: Iterator[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
