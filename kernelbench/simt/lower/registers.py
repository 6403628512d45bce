"""Register allocation: registers that are never live at the same time share a slot, so that a warp's register file
stays in the caches.

nvcc gives every value its own register: an unrolled kernel has thousands, of which about fifty are live at a time.
Linear scan (Poletto and Sarkar, 1999) assigns slots to live intervals of equal width. A register that an instruction
writes shares no slot with a register that the same instruction reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from heapq import heappop, heappush
from operator import or_

from kernelbench.simt import ir
from kernelbench.simt.cfg import ControlFlow
from kernelbench.simt.interface import LANES
from kernelbench.simt.usage import registers_read, registers_written

MOST_BITS = 1 << 28  # blocks x registers; above it every register has its own slot


@dataclass(frozen=True)
class Slots:
    """`offsets`: by register, except predicates; `spans`: first and last instruction where it is used or live."""

    offsets: Mapping[str, int]
    bytes: int
    spans: Mapping[str, tuple[int, int]]


def slot_bytes(type_name: str) -> int:
    """Bytes of a register of this type: those of the type, at least 2."""
    return max(2, ir.TYPE_BYTES[type_name])


def allocate_registers(code: Sequence[ir.Instruction], flow: ControlFlow) -> Slots:
    """Slots of all registers that `code` uses. Registers that may be read before they are written are zeroed, and
    share no slot."""
    uses = [
        [register for register in (*registers_read(one), *registers_written(one)) if register.type != "pred"]
        for one in code
    ]
    widths = {register.name: slot_bytes(register.type) for registers in uses for register in registers}
    spans = _spans(uses, flow, widths)
    spans |= dict.fromkeys(flow.undefined & widths.keys(), (0, len(code)))
    offsets, total = _packed(spans, widths)
    return Slots(offsets, total, spans)


def _packed(spans: Mapping[str, tuple[int, int]], widths: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Offset of each register, and total bytes."""
    offsets: dict[str, int] = {}
    busy: dict[int, list[tuple[int, int]]] = {width: [] for width in widths.values()}  # heaps of (end, offset)
    total = 0
    for name, (start, end) in sorted(spans.items(), key=lambda one: one[1]):
        slots = busy[widths[name]]
        if slots and slots[0][0] < start:
            _, offset = heappop(slots)
        else:
            offset, total = total, total + LANES * widths[name]
        heappush(slots, (end, offset))
        offsets[name] = offset
    return offsets, total


def _spans(
    uses: Sequence[Sequence[ir.Register]], flow: ControlFlow, widths: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """First and last instruction where each register is used or live. `uses`: the registers of each instruction."""
    if len(widths) * len(flow.blocks) > MOST_BITS:
        return dict.fromkeys(widths, (0, len(uses)))
    first, last = dict.fromkeys(widths, len(uses)), dict.fromkeys(widths, -1)
    for index, registers in enumerate(uses):
        for register in registers:
            first[register.name], last[register.name] = min(first[register.name], index), index
    for block, at_start in zip(flow.blocks, flow.live, strict=True):
        at_end = reduce(or_, (flow.live[successor] for successor in block.successors), 0)
        for place, live in ((block.start, at_start), (block.end - 1, at_end)):
            for number in _bits(live):
                name = flow.names[number]
                if name in widths:  # no predicate
                    first[name], last[name] = min(first[name], place), max(last[name], place)
    return {name: (first[name], last[name]) for name in widths}


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
