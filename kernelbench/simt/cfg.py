"""Control flow of an inlined kernel: basic blocks, reconvergence points, registers read before they are written.

Diverged paths reconverge at the immediate post-dominator of the branch (algorithm of Cooper, Harvey and Kennedy on
the reversed graph). Early exits do not count as paths: after `if (i >= n) return;` the other threads do not wait for
those that exited. So an edge that only leads to the exit is ignored if its block has another successor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from kernelbench.core.errors import PtxError
from kernelbench.simt.ir import Function, Instruction, Label
from kernelbench.simt.usage import registers_read, registers_written

# A large kernel has about 1,000 blocks and 10,000 edges, and each search takes about as many steps.
MOST_EDGES = 1 << 20
MOST_STEPS = 10_000_000
MOST_LIVE_BITS = 1 << 30  # blocks x registers alive across blocks

_EXITS = {"ret", "exit", "trap"}
_RETURN = "return"  # ends a routine: its diverged paths meet there
_JUMP = {"bra", "brx"}
_WAIT = {"bar", "barrier"}  # these do not wait for threads that exited


@dataclass(frozen=True)
class BasicBlock:
    """A basic block: instructions [start, end). `successors`: indices of blocks; `exits`: the kernel may end after
    the last instruction."""

    start: int
    end: int
    successors: tuple[int, ...]
    exits: bool


@dataclass(frozen=True)
class ControlFlow:
    """`reconverge`: index of each branch that may diverge -> index of its reconvergence point, None if its paths meet
    only at the end of the kernel. `live`: registers that are live at the start of each block, as bits, of which `names`
    has the names. `undefined`: registers that may be read before they are written."""

    blocks: tuple[BasicBlock, ...]
    reconverge: Mapping[int, int | None]
    live: tuple[int, ...]
    names: tuple[str, ...]
    undefined: frozenset[str]


def control_flow(function: Function) -> ControlFlow:
    """Control flow of a function without calls."""
    try:
        return _control_flow(function)
    except PtxError as error:
        raise PtxError(f"kernel {function.name}: {error}") from None


def _control_flow(function: Function) -> ControlFlow:
    blocks = _blocks(function)
    joins = _post_dominators(_going_on(blocks, function.instructions))
    reconverge: dict[int, int | None] = {}
    for number, block in enumerate(blocks):
        last = function.instructions[block.end - 1]
        if last.opcode[0] == "brx" or (last.opcode[0] == "bra" and last.guard is not None):
            join = joins[number]
            pure = join is None or _only_leaves(blocks[join], function.instructions)
            reconverge[block.end - 1] = None if join is None or pure else blocks[join].start
    for routine in function.routines:  # paths of a routine meet at its end at the latest
        for branch in range(routine.start, routine.end):
            if reconverge.get(branch, 0) is None:
                reconverge[branch] = routine.end
    live, names = _liveness(blocks, function.instructions)
    starts = {0, *(routine.start for routine in function.routines)}
    at_start = reduce(or_, (bits for block, bits in zip(blocks, live, strict=True) if block.start in starts), 0)
    undefined = frozenset(name for number, name in enumerate(names) if at_start >> number & 1)
    return ControlFlow(blocks, reconverge, tuple(live), tuple(names), undefined)


# ---- Blocks --------------------------------------------------------------------------------------


def branch_targets(function: Function, instruction: Instruction) -> tuple[int, ...]:
    """Indices of the instructions that a bra or brx may jump to."""
    label = instruction.operands[-1]
    assert isinstance(label, Label)
    names = (label.name,) if instruction.opcode[0] == "bra" else function.targets[label.name]
    return tuple(dict.fromkeys(function.labels[name] for name in names))


def _blocks(function: Function) -> tuple[BasicBlock, ...]:
    code = function.instructions
    starts = {0}
    edges = 0
    for index, instruction in enumerate(code):
        if instruction.opcode[0] in _JUMP:
            targets = branch_targets(function, instruction)
            starts.update(targets)
            edges += len(targets)
            if edges > MOST_EDGES:
                raise PtxError(f"more than {MOST_EDGES} targets of branches")
        if instruction.opcode[0] in _JUMP or instruction.opcode[0] in (*_EXITS, _RETURN):
            starts.add(index + 1)
    starts.update(routine.start for routine in function.routines)
    ordered = sorted(start for start in starts if start < len(code))
    numbers = {start: number for number, start in enumerate(ordered)}
    ends = [*ordered[1:], len(code)] if ordered else []
    return tuple(_block(function, numbers, start, end) for start, end in zip(ordered, ends, strict=True))


def _block(function: Function, numbers: Mapping[int, int], start: int, end: int) -> BasicBlock:
    last = function.instructions[end - 1]
    jumps, always = last.opcode[0] in _JUMP, last.guard is None
    to = branch_targets(function, last) if jumps else ()
    leaves = last.opcode[0] in (*_EXITS, _RETURN)
    if not always or (not jumps and not leaves):
        to = (*to, end)
    past_the_end = len(function.instructions)
    exits = leaves or past_the_end in to
    return BasicBlock(start, end, tuple(dict.fromkeys(numbers[index] for index in to if index < past_the_end)), exits)


# ---- Reconvergence points ------------------------------------------------------------------------


def _only_leaves(block: BasicBlock, code: Sequence[Instruction]) -> bool:
    first = code[block.start]
    return block.end - block.start == 1 and first.opcode[0] in _EXITS and first.guard is None


def _going_on(blocks: Sequence[BasicBlock], code: Sequence[Instruction]) -> list[list[int]]:
    """Successors of each block without the edges that only lead to the exit, which is one more block at the end.
    Every block reaches the exit: an endless loop gets an additional edge to it."""
    exit = len(blocks)
    every = [[*block.successors, *([exit] if block.exits else [])] for block in blocks]
    out = _ways_out(blocks, code)
    kept = [[to for to in edges if to not in out] or edges for edges in every]
    before = _reversed(kept, exit)
    reached: set[int] = set()
    _walk(before, exit, reached)
    # A loop without remaining ways out gets back the one at its end, else all of them.
    aside = [number for number in reversed(range(exit)) if len(kept[number]) < len(every[number])]
    for number in aside:
        if number not in reached and any(to <= number for to in kept[number]):
            kept[number] = every[number]
            _walk(before, number, reached)
    for number in [number for number in aside if number not in reached]:
        kept[number] = every[number]
        _walk(before, number, reached)
    for number in reversed(range(exit)):
        if number not in reached:
            kept[number] = [*kept[number], exit]
            _walk(before, number, reached)
    return kept


def _ways_out(blocks: Sequence[BasicBlock], code: Sequence[Instruction]) -> set[int]:
    """The exit, blocks that only exit, and straight-line code of one branch that ends in one of these."""
    entries = [0] * len(blocks)
    for block in blocks:
        for to in block.successors:
            entries[to] += 1
    leaving = {number for number, block in enumerate(blocks) if _only_leaves(block, code)}
    for number, block in enumerate(blocks):
        straight = entries[number] == 1 and len(block.successors) <= 1
        waits = any(instruction.opcode[0] in (*_WAIT, _RETURN) for instruction in code[block.start : block.end])
        if straight and not waits and all(_only_leaves(blocks[to], code) for to in block.successors):
            leaving.add(number)
    return leaving | {len(blocks)}


def _reversed(edges: Sequence[Sequence[int]], exit: int) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in range(exit + 1)]
    for number, successors in enumerate(edges):
        for to in successors:
            before[to].append(number)
    return before


def _walk(edges: Sequence[Sequence[int]], start: int, seen: set[int]) -> None:
    waiting = [start]
    seen.add(start)
    while waiting:
        for to in edges[waiting.pop()]:
            if to not in seen:
                seen.add(to)
                waiting.append(to)


def _post_dominators(edges: Sequence[Sequence[int]]) -> list[int | None]:
    """The immediate post-dominator of each block; None: the exit."""
    exit = len(edges)
    order = _postorder(_reversed(edges, exit), exit)
    place = {number: index for index, number in enumerate(order)}  # the exit has the highest
    joins: dict[int, int] = {exit: exit}
    steps, changed = 0, True
    while changed:
        changed = False
        for number in reversed(order[:-1]):
            join = -1
            for to in edges[number]:
                if to not in joins:
                    continue
                other, join = join, to if join < 0 else join
                other = to if other >= 0 else join
                while join != other:
                    steps += 1
                    if place[join] < place[other]:
                        join = joins[join]
                    else:
                        other = joins[other]
            steps += 1
            if joins.get(number) != join:
                joins[number] = join
                changed = True
            if steps > MOST_STEPS:
                raise PtxError(f"control flow of {exit} blocks is too complex to find its reconvergence points")
    return [None if joins.get(number, exit) == exit else joins[number] for number in range(exit)]


def dominators(blocks: Sequence[BasicBlock]) -> list[int | None]:
    """The immediate dominator of each block, through which every path to it leads; None for the first."""
    before = _reversed([block.successors for block in blocks], len(blocks))[:-1]
    return _post_dominators([[*edges, *([len(blocks)] if not number else [])] for number, edges in enumerate(before)])


def _postorder(edges: Sequence[Sequence[int]], start: int) -> list[int]:
    order: list[int] = []
    seen = {start}
    waiting = [(start, iter(edges[start]))]
    while waiting:
        number, rest = waiting[-1]
        for to in rest:
            if to not in seen:
                seen.add(to)
                waiting.append((to, iter(edges[to])))
                break
        else:
            order.append(number)
            waiting.pop()
    return order


# ---- Registers -----------------------------------------------------------------------------------


def _liveness(blocks: Sequence[BasicBlock], code: Sequence[Instruction]) -> tuple[list[int], list[str]]:
    """Registers that are live at the start of each block, as bits, and the names of these registers from the lowest bit
    on. A guarded write does not end a live range."""
    summaries = [_summary(code[block.start : block.end]) for block in blocks]
    numbers = {name: number for number, name in enumerate(sorted(set().union(*(found for found, _ in summaries))))}
    if len(numbers) * len(blocks) > MOST_LIVE_BITS:
        raise PtxError(f"{len(blocks)} blocks with {len(numbers)} registers live across them are too many")
    alive = [_bits(numbers, exposed) for exposed, _ in summaries]
    kept = [~_bits(numbers, written) for _, written in summaries]
    before = _reversed([block.successors for block in blocks], len(blocks))
    waiting = list(range(len(blocks)))
    queued = [True] * len(blocks)
    steps = 0
    while waiting:
        number = waiting.pop()
        queued[number] = False
        steps += len(before[number]) * (1 + len(numbers) // 4096)
        if steps > MOST_STEPS:
            raise PtxError(f"control flow of {len(blocks)} blocks is too complex to find uninitialised registers")
        for previous in before[number]:
            found = alive[previous] | (alive[number] & kept[previous])
            if found != alive[previous]:
                alive[previous] = found
                if not queued[previous]:
                    queued[previous] = True
                    waiting.append(previous)
    return alive, list(numbers)


def _bits(numbers: Mapping[str, int], names: set[str]) -> int:
    """A bit set of registers. Names without a number are ignored."""
    found = bytearray(len(numbers) // 8 + 1)
    for name in names:
        number = numbers.get(name)
        if number is not None:
            found[number // 8] |= 1 << number % 8
    return int.from_bytes(found, "little")


def _summary(code: Sequence[Instruction]) -> tuple[set[str], set[str]]:
    """Registers that the block reads before it writes them, and registers that it always writes."""
    exposed: set[str] = set()
    written: set[str] = set()
    for instruction in code:
        exposed.update(register.name for register in registers_read(instruction) if register.name not in written)
        if instruction.guard is None:
            written.update(register.name for register in registers_written(instruction))
    return exposed, written
