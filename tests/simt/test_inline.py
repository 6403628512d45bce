"""Calls written into their kernel: names of its own for every call, what passes, what is refused."""

from pathlib import Path

import pytest

from kernelbench.core.errors import PtxError
from kernelbench.simt.inline import MOST_CALLS_DEEP, inline_calls
from kernelbench.simt.ir import Address, Function, Guard, Instruction, Label, Not, Register, Symbol
from kernelbench.simt.parse import parse

PTX = Path(__file__).with_name("ptx")
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
TWICE = """
.func (.param .b32 o) twice (.param .b32 i)
{
    .reg .pred %p<2>; .reg .b32 %r<3>; .local .b32 kept; .shared .b32 common;
    ld.param.b32 %r1, [i];
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra END;
    @!%p1 ret;
END:
    st.param.b32 [o+0], %r1;
    st.local.b32 [kept], %r1;
    st.shared.b32 [common], %r1;
    ret;
}
"""
CALL = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), twice, (a); ld.param.b32 %r2, [b]; }"


def flat(body: str, before: str = TWICE) -> Function:
    return inline_calls(parse(f"{HEAD}{before}\n.entry k()\n{{ .reg .pred %p<3>; .reg .b32 %r<9>;\n{body}\n}}"), "k")


def check(function: Function) -> None:
    """Every name in the code is one the function has, and no call is left."""
    assert not [one for one in function.instructions if one.opcode[0] == "call"]
    for instruction in function.instructions:
        if instruction.guard:
            assert function.registers[instruction.guard.register.name] == instruction.guard.register
        for operand in instruction.operands:
            if isinstance(operand, Register):
                assert function.registers[operand.name] == operand
            if isinstance(operand, Label) and instruction.opcode[0] == "bra":
                assert 0 <= function.labels[operand.name] <= len(function.instructions)


def test_a_kernel_without_calls_stays_as_it_is() -> None:
    module = parse((PTX / "tables.ptx").read_text())
    assert inline_calls(module, "tables") == module.functions["tables"]


def test_a_call_becomes_the_body_with_the_variables_of_the_caller() -> None:
    function = flat(f"{CALL} bar.sync 0; ret;")
    check(function)
    assert " ".join(one.name for one in function.instructions) == (
        "st.param.b32 ld.param.b32 setp.eq.s32 bra bra st.param.b32 st.local.b32 st.shared.b32 bra ld.param.b32 "
        "bar.sync ret"
    )
    assert function.instructions[1].operands == (Register("%r1@1", "b32"), Address(Symbol("a")))
    assert function.instructions[5].operands[0] == Address(Symbol("b"))
    # `ret` goes to the instruction after the call, its guard kept.
    returned = function.instructions[4]
    assert returned.guard == Guard(Register("%p1@1", "pred"), negated=True)
    assert function.labels[returned.operands[0].name] == 9  # type: ignore[union-attr]
    assert function.labels[function.instructions[3].operands[0].name] == 5  # type: ignore[union-attr]


def test_inlined_code_keeps_text_line_and_source() -> None:
    module = parse((PTX / "calls.ptx").read_text())
    function = inline_calls(module, "calls")
    original = {one.ptx_line: one for one in module.functions["scaled"].instructions}
    copies = [one for one in function.instructions if one.ptx_line in original]
    assert len(copies) >= 2 * len(original)
    for copy in copies:
        assert (copy.text, copy.source) == (original[copy.ptx_line].text, original[copy.ptx_line].source)


def test_two_calls_have_registers_and_locals_of_their_own_and_share_what_the_block_shares() -> None:
    function = flat(f"{CALL} {CALL}")
    check(function)
    assert {"%r1", "%r1@1", "%r1@2", "%p1@1", "%p1@2"} <= set(function.registers)
    assert sorted((one.name, one.space) for one in function.variables) == [
        ("a", "param"), ("a~2", "param"), ("b", "param"), ("b~2", "param"),
        ("common@twice", "shared"), ("kept@1", "local"), ("kept@2", "local"),
    ]  # fmt: skip
    stored = [one.operands[0] for one in function.instructions if one.name == "st.shared.b32"]
    assert stored == [Address(Symbol("common@twice"))] * 2


def test_a_function_that_calls_another_passes_its_own_arguments_on() -> None:
    outer = TWICE + ".func (.param .b32 o) outer (.param .b32 i) { call (o), twice, (i); ret; }"
    function = flat("{ .param .b32 a, b; call (b), outer, (a); }", outer)
    check(function)
    assert function.instructions[0].operands == (Register("%r1@2", "b32"), Address(Symbol("a")))
    assert [one.operands[0] for one in function.instructions if one.name == "st.param.b32"] == [Address(Symbol("b"))]


def test_a_guarded_call_is_jumped_over() -> None:
    function = flat("@%p2 call f; ret;", ".func f() { bar.sync 0; }")
    jump = function.instructions[0]
    assert (jump.opcode, jump.guard) == (("bra",), Guard(Register("%p2", "pred"), negated=True))
    assert function.labels[jump.operands[0].name] == 2  # type: ignore[union-attr]
    assert [one.name for one in function.instructions] == ["bra", "bar.sync", "ret"]


def test_registers_and_constants_as_arguments_and_results() -> None:
    function = flat("call (%r2), twice, (%r1); call (_), twice, (7);")
    check(function)
    first, last = function.instructions[0], function.instructions[9]
    assert (first.name, first.operands) == ("st.param.b32", (Address(Symbol("i@1")), Register("%r1", "b32")))
    assert (last.name, last.operands) == ("ld.param.b32", (Register("%r2", "b32"), Address(Symbol("o@1"))))


def test_every_kind_of_operand_is_renamed() -> None:
    body = (
        ".func f() { .reg .pred p, q; .reg .b32 r, s, t; .local .b32 x; T: .branchtargets A, B; brx.idx r, T;"
        "A: setp.eq.and.s32 p|_, r, 3, !q; B: mov.b64 {r, s}, x; tex [t, {r, s}]; }"
    )
    function = flat("call f;", body)
    text = repr(function.instructions)
    for name in ("p", "q", "r", "s", "t"):
        assert f"name='{name}@1'" in text
        assert f"name='{name}'" not in text
    assert Not(Register("q@1", "pred")) in function.instructions[1].operands
    assert function.targets == {"T@1": ("A@1", "B@1")}


def test_a_failed_assertion_is_a_trap() -> None:
    function = inline_calls(parse((PTX / "calls.ptx").read_text()), "guarded")
    (trap,) = [one for one in function.instructions if one.opcode == ("trap",)]
    assert "__assertfail" in trap.text


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("scaled", "is not in the PTX; it has calls, guarded"),
        ("absent", "is not in the PTX"),
    ],
)
def test_what_is_refused_is_named_with_its_line(name: str, reason: str) -> None:
    with pytest.raises(PtxError, match=f"^kernel '?{name}'?.*{reason}"):
        inline_calls(parse((PTX / "calls.ptx").read_text()), name)


@pytest.mark.parametrize(
    ("body", "before", "reason"),
    [
        ("call f, (3);", ".func f() { ret; }", "1 arguments and 0 results"),
        ("call k;", "", "is a kernel, which cannot be called"),
        ("call v;", ".global .b32 v;", "'v' is not a function"),
        (
            "call f, (v);",
            ".global .b32 v; .func f(.param .b32 a) { ret; }",
            "not a .param variable of at least 4",
        ),
        (
            "{ .param .b8 s; call f, (s); }",
            ".func f(.param .b32 a) { ret; }",
            "not a .param variable of at least 4",
        ),
        ("call f, (%r1);", ".func f(.param .b8 a[4]) { ret; }", "expected a .param variable for 'a'"),
        ("call f;", ".extern .func f();", r"a function outside this module \(f\)"),
        ("call f, ([%r1]);", ".func f(.param .b32 a) { ret; }", "expected a .param variable"),
        ("call 3;", "", "expected results, a function"),
        (".local .b32 v; call f;", ".global .b32 v; .func f() { ret; }", "'v' is the name of a variable of the kernel"),
    ],
)
def test_calls_that_are_refused(body: str, before: str, reason: str) -> None:
    with pytest.raises(PtxError, match=rf"^kernel k: ptx line \d+: .*{reason}"):
        flat(body, before)


def test_a_bomb_of_calls_is_refused() -> None:
    functions = "".join(f".func f{n}() {{ call f{n + 1}; call f{n + 1}; }}\n" for n in range(40))
    with pytest.raises(PtxError, match="more than 65536 calls"):
        flat("call f0;", functions + ".func f40() { ret; }")
    functions = "".join(f".func f{n}() {{ call f{n + 1}; }}\n" for n in range(MOST_CALLS_DEEP + 9))
    with pytest.raises(PtxError, match="nested deeper"):
        flat("call f0;", functions + f".func f{MOST_CALLS_DEEP + 9}() {{ ret; }}")


def test_labels_at_the_end_of_a_body() -> None:
    function = flat("call f; ret;", ".func f() { .reg .pred p; @p bra E; bar.sync 0; E: }")
    assert function.labels["E@1"] == 2
    assert isinstance(function.instructions[2], Instruction)
