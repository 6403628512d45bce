"""Blocks, where paths meet, and registers that may be read before they are written."""

import random
import time
from pathlib import Path

import pytest

from kernelbench.core.errors import PtxError
from kernelbench.simt.cfg import ControlFlow, control_flow
from kernelbench.simt.inline import inline_calls
from kernelbench.simt.ir import Function, Instruction
from kernelbench.simt.parse import parse
from kernelbench.simt.usage import registers_read, registers_written

PTX = Path(__file__).with_name("ptx")
REGISTERS = ".reg .pred %p<9>, q; .reg .b32 %r<99>; .reg .b64 %rd<9>;"


def function(body: str) -> Function:
    text = f".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{{ {REGISTERS}\n{body}\n}}"
    return inline_calls(parse(text), "k")


def flow(body: str) -> ControlFlow:
    return control_flow(function(body))


# Each statement is one instruction; the branches meet at these indices.
MEET = {
    "if": ("@%p1 bra A; bar.sync 0; A: bar.sync 1; ret;", {0: 2}),
    "if else": ("@%p1 bra A; bar.sync 0; bra B; A: bar.sync 1; B: bar.sync 2; ret;", {0: 4}),
    "if in if": ("@%p1 bra A; @%p2 bra B; bar.sync 0; B: bar.sync 1; A: bar.sync 2; ret;", {0: 4, 1: 3}),
    "loop": ("A: bar.sync 0; @%p1 bra A; bar.sync 1; ret;", {1: 2}),
    "loop at the end of the kernel": ("A: bar.sync 0; @%p1 bra A; ret;", {1: None}),
    "loop with a break": ("A: @%p1 bra B; bar.sync 0; @%p2 bra A; B: bar.sync 1; ret;", {0: 3, 2: 3}),
    "while": ("A: @%p1 bra B; bar.sync 0; bra A; B: bar.sync 1; ret;", {0: 3}),
    "loop in loop": ("A: bar.sync 0; B: bar.sync 1; @%p1 bra B; @%p2 bra A; bar.sync 2; ret;", {2: 3, 3: 4}),
    "switch": (
        "T: .branchtargets A, B, C; brx.idx %r1, T; A: bar.sync 0; bra D; B: bar.sync 1; C: bar.sync 2; D: ret;",
        {0: None},
    ),
    "switch and more": (
        "T: .branchtargets A, B, A; brx.idx %r1, T; A: bar.sync 0; bra D; B: bar.sync 1; D: bar.sync 2; ret;",
        {0: 4},
    ),
    "a branch to the next": ("@%p1 bra A; A: bar.sync 0; ret;", {0: 1}),
    "both ends leave": ("@%p1 bra A; bar.sync 0; ret; A: bar.sync 1; ret;", {0: None}),
    "no ret at the end": ("@%p1 bra A; bar.sync 0; A: bar.sync 1;", {0: 2}),
    "label after the end": ("@%p1 bra A; bar.sync 0; A:", {0: 1}),
    "uniform branches are not listed": ("bra A; bar.sync 0; A: ret;", {}),
    # Threads that leave are not waited for.
    "early return": ("@%p1 bra A; bar.sync 0; mov.b32 %r1, 0; A: ret;", {0: 1}),
    "early exit": ("@%p1 exit; @%p2 bra A; bar.sync 0; A: bar.sync 1; ret;", {1: 3}),
    "return in an if": ("@%p1 bra A; @%p2 bra E; bar.sync 0; A: bar.sync 1; E: ret;", {0: 3, 1: 2}),
    "return with a last store": (
        "@%p1 bra A; st.global.b32 [%rd1], 0; bra E; A: bar.sync 1; bar.sync 2; E: ret;",
        {0: 3},
    ),
    "a trap in an if": ("@%p1 bra A; trap; A: bar.sync 1; @%p2 bra B; bar.sync 2; B: bar.sync 3; ret;", {0: 2, 3: 5}),
    "return in a loop": ("A: @%p1 bra E; bar.sync 0; @%p2 bra A; bar.sync 1; E: ret;", {0: 1, 2: 3}),
    "two returns in a loop": (
        "A: @%p1 bra S; bar.sync 0; @%p2 bra A; mov.b32 %r1, 0; ret; S: mov.b32 %r2, 0; ret;",
        {0: 1, 2: 3},
    ),
    # Loops that never end.
    "endless": ("A: bar.sync 0; bra A;", {}),
    "endless after a branch": ("@%p1 bra B; A: bar.sync 0; bra A; B: ret;", {0: None}),
    "endless with an if": ("A: @%p1 bra B; bar.sync 0; B: bar.sync 1; bra A;", {0: 2}),
    "two endless loops": ("@%p1 bra B; A: bra A; B: bra B;", {0: None}),
    "jumps into a loop": ("@%p1 bra B; A: bar.sync 0; B: bar.sync 1; @%p2 bra A; bar.sync 2; ret;", {0: 2, 3: 4}),
    "dead code": ("ret; A: @%p1 bra A; bar.sync 0; ret;", {1: 2}),
    "nothing": ("", {}),
}


@pytest.mark.parametrize("name", MEET)
def test_where_paths_meet(name: str) -> None:
    body, expected = MEET[name]
    assert flow(body).reconverge == expected


def test_blocks_cover_the_code_and_name_their_successors() -> None:
    found = flow("@%p1 bra A; bar.sync 0; @%p2 exit; bra B; A: bar.sync 1; B: ret;").blocks
    assert [(one.start, one.end, one.successors, one.exits) for one in found] == [
        (0, 1, (3, 1), False), (1, 3, (2,), True), (3, 4, (4,), False), (4, 5, (4,), False), (5, 6, (), True),
    ]  # fmt: skip


def test_a_kernel_that_runs_off_its_end_leaves() -> None:
    found = flow("@%p1 bra A; bar.sync 0; A:").blocks
    assert [(one.successors, one.exits) for one in found] == [((1,), True), ((), True)]


def meets_by_hand(edges: list[list[int]]) -> list[int | None]:
    """Immediate post-dominators by taking blocks away; the exit is the last block."""
    exit = len(edges)

    def ends(start: int, without: int) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            for to in edges[waiting.pop()]:
                if to == exit:
                    return True
                if to != without and to not in seen:
                    seen.add(to)
                    waiting.append(to)
        return False

    found: list[int | None] = []
    for block in range(exit):
        after = [other for other in range(exit) if other != block and not ends(block, other)]
        # The nearest is the one that all the others post-dominate.
        nearest = [one for one in after if all(other == one or not ends(one, other) for other in after)]
        found.append(nearest[0] if nearest else None)
    return found


def test_post_dominators_of_random_graphs() -> None:
    from kernelbench.simt.cfg import _post_dominators

    numbers = random.Random(1)
    for _ in range(200):
        count = numbers.randint(1, 12)
        edges = [[numbers.randint(0, count) for _ in range(numbers.randint(1, 3))] for _ in range(count)]
        for block, successors in enumerate(edges):  # every block reaches the exit
            if block == count - 1 or numbers.random() < 0.2:
                successors.append(count)
            elif block + 1 not in successors:
                successors.append(block + 1)
        assert _post_dominators(edges) == meets_by_hand(edges), edges


def test_thousands_of_blocks_are_quick() -> None:
    ifs = "".join(f"@%p1 bra A{n}; add.s32 %r1, %r2, %r3; A{n}: add.s32 %r2, %r1, %r3;\n" for n in range(3000))
    loops = "".join(f"L{n}:" for n in range(300)) + "".join(f"add.s32 %r1, %r1, 1; @%p1 bra L{n};" for n in range(300))
    ladder = "".join(f"@%p{n % 9} bra E; add.s32 %r{n % 9}, %r4, %r5;\n" for n in range(3000))
    code = function(f"{ifs} {loops} {ladder} E: st.global.b32 [%rd1], %r1; ret;")
    start = time.process_time()
    found = control_flow(code)
    assert time.process_time() - start < 5  # 0.15 s on an idle core
    assert len(found.blocks) > 9000


def test_tangled_code_is_refused_in_time() -> None:
    chain = "".join(f"C{n}: mov.b32 %r1, 0; bra C{n + 1};" for n in range(6000))
    jumps = "".join(f"@%p1 bra C0; bra C5999; D{n}: @%p2 bra D{n + 1};" for n in range(6000))
    with pytest.raises(PtxError, match="too complex"):
        flow(f"{jumps} {chain} C6000: D6000: mov.b32 %r1, 1; ret;")


def test_many_targets_are_refused_in_time() -> None:
    labels = ", ".join(f"L{n}" for n in range(2000))
    jumps = "".join(f"L{n}: brx.idx %r1, T;" for n in range(2000))
    with pytest.raises(PtxError, match="targets of branches"):
        flow(f"T: .branchtargets {labels}; {jumps}")


UNDEFINED = {
    "written first": ("mov.b32 %r1, 0; add.s32 %r2, %r1, 1;", set()),
    "read first": ("add.s32 %r1, %r2, 1;", {"%r2"}),
    "read and written by one": ("add.s32 %r1, %r1, 1;", {"%r1"}),
    "on one path only": ("setp.eq.s32 %p1, 0, 0; @%p1 bra A; mov.b32 %r1, 0; A: mov.b32 %r2, %r1;", {"%r1"}),
    "on both paths": (
        "setp.eq.s32 %p1, 0, 0; @%p1 bra A; mov.b32 %r1, 0; bra B; A: mov.b32 %r1, 1; B: mov.b32 %r2, %r1;",
        set(),
    ),
    "in a loop": ("mov.pred q, 1; A: @q bra B; mov.b32 %r1, 0; bra A; B: mov.b32 %r2, %r1;", {"%r1"}),
    "guarded": ("mov.pred q, 1; @q mov.b32 %r1, 0; mov.b32 %r2, %r1;", {"%r1"}),
    "the guard": ("@q mov.b32 %r1, 0;", {"q"}),
    "an address": ("ld.global.b32 %r1, [%rd1+4];", {"%rd1"}),
    "a stored value": ("st.global.v2.b32 [%rd1], {%r1, %r2};", {"%rd1", "%r1", "%r2"}),
    "a vector": ("mov.b64 {%r1, %r2}, 0; add.s32 %r3, %r1, %r2;", set()),
    "a pair": ("shfl.sync.bfly.b32 %r1|q, 0, 1, 31, -1; selp.b32 %r2, %r1, 0, q;", set()),
    "a negated predicate": ("setp.eq.and.s32 %p1, 0, 0, !q;", {"q"}),
    "a barrier": ("bar.sync %r1, %r2;", {"%r1", "%r2"}),
    "a barrier that counts": ("bar.red.popc.u32 %r1, 0, q;", {"q"}),
    "behind a ret": ("ret; mov.b32 %r2, %r1;", set()),
    "a wait": ("nanosleep.u32 %r1;", {"%r1"}),
    "coordinates": (
        "cp.async.bulk.tensor.2d.x [%r1], [%rd1, {%r2, %r3}], [%r4];",
        {"%r1", "%rd1", "%r2", "%r3", "%r4"},
    ),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_registers_that_may_be_read_first(name: str) -> None:
    body, expected = UNDEFINED[name]
    assert flow(body).undefined == expected


def test_an_accumulator_is_read_and_written() -> None:
    (one,) = function("wgmma.mma_async.x {%r1, %r2}, %rd1, %rd2, 1;").instructions
    assert {item.name for item in registers_read(one)} == {"%r1", "%r2", "%rd1", "%rd2"}
    assert {item.name for item in registers_written(one)} == {"%r1", "%r2"}


def by_line(name: str) -> tuple[ControlFlow, list[Instruction]]:
    code = inline_calls(parse((PTX / "flow.ptx").read_text()), name)
    return control_flow(code), list(code.instructions)


def test_after_an_early_return_the_others_go_on() -> None:
    found, code = by_line("early")
    ((branch, meet),) = found.reconverge.items()
    assert meet == branch + 1
    assert not found.undefined
    assert code[branch].text.startswith("@%p1 bra")


def test_a_return_inside_an_if_does_not_keep_the_others_from_the_barrier() -> None:
    found, code = by_line("nested")
    first = min(found.reconverge)
    meet = found.reconverge[first]
    assert meet is not None
    assert code[meet].name == "bar.sync"


def test_an_endless_kernel() -> None:
    found, code = by_line("endless")
    assert not any(one.opcode[0] == "ret" for one in code)
    assert set(found.reconverge) == {index for index, one in enumerate(code) if one.guard is not None}
