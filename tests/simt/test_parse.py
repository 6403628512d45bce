"""PTX to records: what nvcc writes, what inline assembly adds to it, and what is refused with its line."""

import struct
import subprocess
import time
from pathlib import Path

import pytest

from kernelbench.build import find_compiler
from kernelbench.core.errors import PtxError
from kernelbench.simt.ir import (
    Address,
    Discard,
    Function,
    Group,
    Guard,
    Immediate,
    Instruction,
    Label,
    Module,
    Not,
    Operand,
    Parameter,
    Register,
    Relocation,
    ResultPair,
    SourceLine,
    Special,
    Symbol,
    Variable,
    Vector,
)
from kernelbench.simt.parse import parse
from kernelbench.simt.ptx.text import MOST_CHARACTERS, MOST_DEPTH, MOST_STATEMENTS

PTX = Path(__file__).with_name("ptx")
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<99>; .reg .f32 %f<9>; .reg .b64 %rd<9>;"


def fixture(name: str) -> Module:
    return parse((PTX / f"{name}.ptx").read_text())


def kernel(body: str, before: str = "", head: str = "()") -> Function:
    return parse(f"{HEAD}{before}\n.visible .entry k{head}\n{{\n{REGISTERS}\n{body}\n}}\n").functions["k"]


def only(statement: str, before: str = "") -> Instruction:
    (instruction,) = kernel(statement, before).instructions
    return instruction


def operand(text: str, before: str = "") -> Operand:
    return only(f"mov.b32 {text};", before).operands[0]


def r(number: int) -> Register:
    return Register(f"%r{number}", "b32")


OPERANDS: dict[str, Operand] = {
    "%r1": r(1),
    "%rd8": Register("%rd8", "b64"),
    "_": Discard(),
    "12": Immediate(12),
    "-7": Immediate(-7),
    "0": Immediate(0),
    "0x1fU": Immediate(31),
    "0XFFFFFFFFFFFFFFFF": Immediate(2**64 - 1),
    "-9223372036854775808": Immediate(-(2**63)),
    "017": Immediate(15),
    "0b101U": Immediate(5),
    "0f3F800000": Immediate(0x3F800000, "f32"),
    "-0f3F800000": Immediate(0xBF800000, "f32"),
    "0d3FF0000000000000": Immediate(0x3FF0000000000000, "f64"),
    "0.5": Immediate(0x3FE0000000000000, "f64"),
    "1e3": Immediate(struct.unpack("<Q", struct.pack("<d", 1000.0))[0], "f64"),
    "!%p3": Not(Register("%p3", "pred")),
    "%r0|%p1": ResultPair(r(0), Register("%p1", "pred")),
    "_|%p1": ResultPair(Discard(), Register("%p1", "pred")),
    "%r1 | _": ResultPair(r(1), Discard()),
    "{%r1, _, 3}": Vector((r(1), Discard(), Immediate(3))),
    "[%rd1]": Address(Register("%rd1", "b64")),
    "[%rd1+16]": Address(Register("%rd1", "b64"), 16),
    "[%rd1+-4]": Address(Register("%rd1", "b64"), -4),
    "[ %rd1 - 0x10 ]": Address(Register("%rd1", "b64"), -16),
    "[v]": Address(Symbol("v")),
    "[v+12]": Address(Symbol("v"), 12),
    "[64]": Address(None, 64),
    "v": Symbol("v"),
    "v+8": Symbol("v", 8),
    "%tid.x": Special("%tid.x"),
    "%clusterid.z": Special("%clusterid.z"),
    "%lanemask_lt": Special("%lanemask_lt"),
    "%globaltimer": Special("%globaltimer"),
    "WARP_SZ": Special("WARP_SZ"),
    "(%r1, %r2)": Group((r(1), r(2))),
    "[%rd1, {%r1, %r2}]": Group((Register("%rd1", "b64"), Vector((r(1), r(2))))),
}


@pytest.mark.parametrize("text", OPERANDS)
def test_operands(text: str) -> None:
    assert operand(text, ".global .b32 v[9];") == OPERANDS[text]


@pytest.mark.parametrize(
    "text",
    [
        "%r99", "%r01", "%q", "0x", "08", "99999999999999999999", "0f3F80000", "1.5.2", "{%r1", "%r1}", "[%r1", "(]",
        "%r1|3", "!3", "[0f3F800000]", "[%r1+%r2]", "v.x", "%r1.x", "%r1%r2", "a b", "[[%r1]]", "{{{{{{%r1}}}}}}",
        "v+0f00000000", "%tid.q", "!",
    ],
)  # fmt: skip
def test_operands_that_are_none(text: str) -> None:
    with pytest.raises(PtxError, match=r"^line 9: in k: "):
        kernel(f"\nmov.b32 {text};", ".global .b32 v[9];")


def test_a_symbol_must_be_in_the_module() -> None:
    with pytest.raises(PtxError, match=r"^line 9: 'nowhere' is not defined"):
        kernel("\nmov.u64 %rd1, nowhere;")
    with pytest.raises(PtxError, match=r"'far' .* declared \.extern"):
        kernel("mov.u64 %rd1, far;", ".extern .global .b32 far;")


def test_an_instruction_with_guard_text_and_line() -> None:
    instruction = kernel("\n  @!%p1   ld.global.nc.v2.f32 \t{%f1, %f2},\n [%rd1+8] ;").instructions[0]
    assert instruction == Instruction(
        ("ld", "global", "nc", "v2", "f32"),
        (Vector((Register("%f1", "f32"), Register("%f2", "f32"))), Address(Register("%rd1", "b64"), 8)),
        Guard(Register("%p1", "pred"), negated=True),
        "@!%p1 ld.global.nc.v2.f32 {%f1, %f2}, [%rd1+8]",
        9,
        None,
    )


def test_several_statements_on_a_line_and_comments_between() -> None:
    function = kernel("add.s32 %r1,%r2,%r3;sub.s32 %r4, /* ; } */ %r5, %r6; // ret; {\nret;")
    assert [one.name for one in function.instructions] == ["add.s32", "sub.s32", "ret"]
    assert function.instructions[1].operands == (r(4), r(5), r(6))
    assert [one.ptx_line for one in function.instructions] == [8, 8, 9]


def test_lines_are_counted_through_comments_of_several_lines() -> None:
    assert kernel("/* one\n two\n*/ ret;").instructions[0].ptx_line == 10


def test_opcodes_with_colons_are_no_labels() -> None:
    assert only("ld.shared::cta.L1::no_allocate.L2::128B.b32 %r1, [%r2];").opcode[1:4] == (
        "shared::cta", "L1::no_allocate", "L2::128B",
    )  # fmt: skip


def test_a_call_with_results_arguments_and_prototype() -> None:
    declared = ".func (.param .b32 o) f (.param .b32 a, .param .b64 b);"
    function = kernel(
        "{ .param .b32 x; .param .b64 y; .param .b32 z;\n proto : .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "call.uni (z), \n f, \n (\n x, \n y\n ); call (z), %rd1, (x), proto; call f; }",
        declared,
    )
    assert [one.operands for one in function.instructions] == [
        (Group((Symbol("z"),)), Symbol("f"), Group((Symbol("x"), Symbol("y")))),
        (Group((Symbol("z"),)), Register("%rd1", "b64"), Group((Symbol("x"),)), Label("proto")),
        (Symbol("f"),),
    ]
    assert function.variables[1] == Variable("y", "param", "b64", 8, 8)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("mov.b32 %r1, %r2", "expected ';'"),
        ("Mov.b32 %r1, %r2;", "expected a statement"),
        ("@%p9 ret;", "expected a declared register, got '%p9'"),
        ("bra nowhere;", "label 'nowhere' is not in this function"),
        ("bra 3;", "expected a label"),
        ("L: L: ret;", "label 'L' twice"),
        ("brx.idx %r1, L; L: ret;", "expected a register and a .branchtargets list"),
        ("T: .branchtargets A, B; A: brx.idx %r1, T;", "label 'B' is not"),
        (".reg .b32 %r<5>;", "register '%r' twice"),
        (".reg .b33 q;", "'.b33' is not known"),
        (".reg .b32 q<99999999>;", "at most 1048576 registers"),
        (".reg .b32 3;", "expected the name of a register"),
        (".shared .b32 x[];", "no size"),
        (".shared .align 3 .b32 x;", "expected a power of two"),
        (".shared .b32 x; .shared .b32 x;", "'x' is there twice"),
        (".local .b64 x[99999999999][99999999999];", "bytes; at most"),
        (".tex .u64 t;", "'.tex' is not known"),
        (".loc 1 2;", "expected file, line and column"),
        ("{" * (MOST_DEPTH + 1), "scopes nested deeper"),
        ("mov.b32 " + "%r1, " * 20000 + "%r1;", "expected ';' within"),
        ("ret; {", "'}' is missing"),
    ],
)
def test_bodies_that_are_refused(body: str, reason: str) -> None:
    with pytest.raises(PtxError, match=r"^line \d+: ") as error:
        kernel(f"\n{body}")
    assert reason in str(error.value)


def test_a_body_that_does_not_end() -> None:
    with pytest.raises(PtxError, match=r"^line 5: in k: '}' is missing"):
        parse(f"{HEAD}.entry k()\n{{ ret;\n")


def test_a_scope_hides_names_and_every_register_gets_its_own() -> None:
    function = kernel(
        ".reg.f32 t; mov.f32 t, 0f00000000; { .reg.b16 t; mov.b16 t, 1; { mov.b16 t, 2; } }\n"
        "{ .reg .b64 t, %r1; mov.b64 t, 3; mov.b64 %r1, 4; } mov.f32 t, %f1; mov.b32 %r1, 5;"
    )
    written = [one.operands[0] for one in function.instructions]
    assert [item.type for item in written if isinstance(item, Register)] == [
        "f32",
        "b16",
        "b16",
        "b64",
        "b64",
        "f32",
        "b32",
    ]
    assert written[0] == written[5]
    assert written[1] == written[2]
    assert len(set(written)) == 5
    assert function.registers == {item.name: item for item in (*written, Register("%f1", "f32"))}  # type: ignore[union-attr]


def test_labels_of_a_scope_are_its_own() -> None:
    wait = "{ .reg .pred P; WAIT: @P bra DONE; bra WAIT; DONE: }"
    function = kernel(f"{wait}\n{wait}\nDONE: bra DONE;")
    ends = [function.labels[one.operands[0].name] for one in function.instructions]  # type: ignore[union-attr]
    assert ends == [2, 0, 4, 2, 4]
    assert {one.guard.register.name for one in function.instructions if one.guard} == {"P", "P~2"}


def test_a_label_of_the_function_is_seen_from_a_scope_but_not_the_reverse() -> None:
    assert kernel("{ bra OUT; } OUT: ret;").labels == {"OUT": 1}
    with pytest.raises(PtxError, match="label 'IN' is not"):
        kernel("{ IN: ret; } bra IN;")


def test_names_without_percent_and_lists_of_registers() -> None:
    function = kernel(".reg .b32 a, b<3>, $c; mov.b32 a, b2; mov.b32 $c, _;")
    assert list(function.registers) == ["a", "b2", "$c"]


def test_only_registers_that_are_mentioned_are_kept() -> None:
    function = kernel(".reg .b32 %many<1000000>; mov.b32 %many999999, 0;")
    assert list(function.registers) == ["%many999999"]


def test_vector_registers_are_their_parts() -> None:
    function = kernel(".reg .v2 .f32 v; mov.f32 v.x, v.y; mov.b64 %rd1, v;")
    parts = Register("v.x", "f32"), Register("v.y", "f32")
    assert function.instructions[0].operands == parts
    assert function.instructions[1].operands[1] == Vector(parts)


def test_branch_targets() -> None:
    function = kernel("T: .branchtargets A,\n B, A; brx.idx %r1, T; A: ret; B: ret;")
    assert function.targets == {"T": ("A", "B", "A")}
    assert function.labels == {"A": 1, "B": 2}
    assert function.instructions[0].operands == (r(1), Label("T"))


def test_the_head_of_a_function() -> None:
    function = kernel(
        "ret;",
        head="(.param .u8 a, .param .align 16 .b8 b[20], .param .u64 .ptr .global .align 32 c,\n .param .v2 .f32 d)"
        '\n.maxntid 128, 2\n.minnctapersm 4 .reqnctapercluster 2,1,1 .explicitcluster .pragma "nounroll";\n',
    )
    assert [(one.name, one.type, one.offset, one.bytes, one.alignment) for one in function.parameters] == [
        ("a", "u8", 0, 1, 1), ("b", "b8", 16, 20, 16), ("c", "u64", 40, 8, 8), ("d", "f32", 48, 8, 8),
    ]  # fmt: skip
    assert (function.max_threads, function.required_threads, function.cluster) == ((128, 2), (), (2, 1, 1))
    assert function.entry


def test_a_declared_function_is_replaced_by_its_definition() -> None:
    declared = ".func (.param .b32 o) f (.param .b32 a);\n"
    assert not parse(HEAD + declared).functions["f"].defined
    function = parse(HEAD + declared + ".weak .func (.param .b32 o) f (.param .b32 a) .noreturn\n{ret;}").functions["f"]
    assert function.defined
    assert function.results == (Parameter("o", "b32", 0, 4, 4),)


def test_an_alias_is_the_same_function() -> None:
    module = parse(f"{HEAD}.func f() {{ ret; }} .func g(); .alias g, f;")
    assert module.functions["g"].instructions == module.functions["f"].instructions


VARIABLES = {
    ".global .b32 v;": Variable("v", "global", "b32", 4, 4),
    ".visible .global .align 16 .b8 v[2][3];": Variable("v", "global", "b8", 6, 16),
    ".const .v4 .f32 v[2];": Variable("v", "const", "f32", 32, 16),
    ".extern .shared .align 16 .b8 v[];": Variable("v", "shared", "b8", 0, 16, dynamic=True),
    ".shared .align 8 .u64 v;": Variable("v", "shared", "u64", 8, 8),
    ".global .attribute(.managed) .align 4 .u32 v;": Variable("v", "global", "u32", 4, 4),
    ".global .s16 v = -2;": Variable("v", "global", "s16", 2, 2, image=b"\xfe\xff"),
    ".global .u32 v[3] = {1, 0x2};": Variable("v", "global", "u32", 12, 4, image=struct.pack("<3I", 1, 2, 0)),
    ".global .u8 v[] = {1, 2, 3};": Variable("v", "global", "u8", 3, 1, image=b"\1\2\3"),
    ".global .u8 v[2][3] = {{1}, {2, 3}};": Variable("v", "global", "u8", 6, 1, image=b"\1\0\0\2\3\0"),
    ".global .u8 v[][2] = {{1}, {2, 3}};": Variable("v", "global", "u8", 4, 1, image=b"\1\0\2\3"),
    ".global .u8 v[2][2] = {1, 2, 3};": Variable("v", "global", "u8", 4, 1, image=b"\1\2\3\0"),
    ".global .v2 .u8 v[2] = {{1, 2}, {3}};": Variable("v", "global", "u8", 4, 2, image=b"\1\2\3\0"),
    ".const .f32 v[2] = {0f3F800000, 2.0};": Variable("v", "const", "f32", 8, 4, image=struct.pack("<2f", 1, 2)),
    ".const .f64 v[2] = {0d3FF0000000000000, 3};": Variable("v", "const", "f64", 16, 8, image=struct.pack("<2d", 1, 3)),
    ".global .u64 v[2] = {0, 0};": Variable("v", "global", "u64", 16, 8),
    ".global .u64 v = w;": Variable("v", "global", "u64", 8, 8, relocations=(Relocation(0, 8, "w", 0, False),)),
    ".global .u64 v[2] = {1, generic(w)+4};": Variable(
        "v", "global", "u64", 16, 8, image=struct.pack("<2Q", 1, 0), relocations=(Relocation(8, 8, "w", 4, True),)
    ),
    ".global .u64 v = w-8;": Variable("v", "global", "u64", 8, 8, relocations=(Relocation(0, 8, "w", -8, False),)),
    ".global .u8 v[4] = {7, 0xFF(generic(w)+1), 0XFF00(generic(w)+1)};": Variable(
        "v", "global", "u8", 4, 1, image=b"\7\0\0\0", relocations=(Relocation(1, 2, "w", 1, True),)
    ),
}


@pytest.mark.parametrize("text", VARIABLES)
def test_variables(text: str) -> None:
    assert parse(f"{HEAD}.global .b32 w;\n{text}").variables["v"] == VARIABLES[text]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (".global .b32 v[];", "no size"),
        (".global .b32 v, v;", "defined twice"),
        (".global .b32 w;", "defined twice"),
        (".shared .b32 v = 1;", "has an initialiser"),
        (".global .u8 v[2] = {1, 2, 3};", "3 initial values for 2"),
        (".global .u8 v[2] = 1;", "expected a list in braces"),
        (".global .u8 v = nowhere+;", "expected a number or the address"),
        (".global .u64 v = nowhere;", "'nowhere' is not defined"),
        (".global .u16 v = w;", "an address in 2 bytes"),
        (".global .u8 v[2] = {0xFF00(w)};", "byte 1 of the address of 'w' does not follow"),
        (".global .u8 v[2] = {0xFF(w), 0xFF00(w)+1};", "expected a number or the address"),
        (".global .f32 v = 1e300;", "does not fit f32"),
        (".global .u8 v[99999999999] = {1};", "more than 67108864 bytes in all"),
        (".global .texref t;", "textures"),
        (".global .align 4 b8 v;", "expected a type"),
        (".global .b8 v =;", "expected an initialiser"),
        (".nonsense;", "'.nonsense' is not known"),
        (".func f(.reg .b32 a) { ret; }", "parameters in registers"),
        (".func f(.param .b32 a, .param .b32 a) { ret; }", "parameter 'a' twice"),
        (".func f() .unheard 3 { ret; }", "directive '.unheard' is not known"),
        (".entry 3", "expected the name of a function"),
        (".func f() { ret; } .func f() { ret; }", "'f' is defined twice"),
        (".alias g, f;", "'f' is not defined"),
        (".address_size 32", "only 64 are supported"),
        ("/* no end", "a comment that does not end"),
        ('.file 1 "x', "a string that does not end"),
        ("ld.global.b32 %r1, [%r2];", "expected a directive"),
    ],
)
def test_modules_that_are_refused(text: str, reason: str) -> None:
    with pytest.raises(PtxError, match=r"^line [56]: ") as error:
        parse(f"{HEAD}.global .b32 w;\n{text}\n")
    assert reason in str(error.value)


@pytest.mark.parametrize("text", ["", "ret;", "\0", "hello", ".version 8.0", HEAD.replace("sm_80", "gfx90a")])
def test_what_is_not_ptx(text: str) -> None:
    with pytest.raises(PtxError, match=r"^line \d+: expected"):
        parse(text)


def test_too_much_is_refused_at_once() -> None:
    for text in (" " * (MOST_CHARACTERS + 1), HEAD + ".entry k() {" + ";" * (MOST_STATEMENTS + 1)):
        start = time.process_time()
        with pytest.raises(PtxError, match=r"at most|more than"):
            parse(text)
        assert time.process_time() - start < 10


def test_source_lines_are_the_innermost() -> None:
    text = HEAD + (
        ".entry k() {\n.loc 1 7 3\nbar.sync 0;\n.loc 2 40 1, function_name $L__info_string0, inlined_at 1 8 2\n"
        'bar.sync 0; .loc 1 0 0\nret;}\n\t.file\t1 "a.cu", 17, 4\n\t.file\t2 "b.cuh"\n'
        ".section .debug_str { $L__info_string0: .b8 0 }"
    )
    sources = [one.source for one in parse(text).functions["k"].instructions]
    assert sources == [SourceLine("a.cu", 7), SourceLine("b.cuh", 40), None]


def test_each_call_into_the_toolkits_headers_has_its_own_line() -> None:
    inner, outer = ".loc 2 40 1, function_name $L, inlined_at 3 5 2", ".loc 3 5 2, function_name $L, inlined_at 1 {} 1"
    calls = "".join(f"{outer.format(line)}\n{inner}\nbar.sync 0;\n" for line in (9, 11, 13))
    files = '.file 1 "a.cu"\n.file 2 "/usr/local/cuda/include/sync.h"\n.file 3 "/usr/local/cuda/include/groups.h"\n'
    text = f"{HEAD}.entry k() {{\n{calls}ret;}}\n{files}.section .debug_str {{ $L: .b8 0 }}"
    sources = [one.source for one in parse(text).functions["k"].instructions]
    assert sources[:3] == [SourceLine("a.cu", line) for line in (9, 11, 13)]


def test_the_fixture_of_calls() -> None:
    module = fixture("calls")
    assert (module.version, module.target) == ("9.0", "sm_90")
    assert {name for name, one in module.functions.items() if one.entry} == {
        "calls", "guarded", "recursive", "prints", "indirect", "allocates",
    }  # fmt: skip
    assert not module.functions["vprintf"].defined
    picked = module.functions["picked"]
    assert {(one.space, one.bytes) for one in picked.variables} >= {("shared", 128), ("local", 32)}
    lines = {one.source.line for one in picked.instructions if one.source}
    assert len(lines) > 3
    assert {one.source.file for one in picked.instructions if one.source} == {"calls.cu"}


def test_the_fixture_of_tables() -> None:
    variables = fixture("tables").variables
    assert struct.unpack("<4f", variables["weights"].image) == (1.0, -2.0, 3.5, 0.0)
    assert struct.unpack("<6i", variables["grid"].image) == (1, 2, 3, 4, 0, 0)
    assert variables["zeros"].image == b""
    assert variables["packed"].relocations == (Relocation(1, 8, "grid", 4, True),)
    assert variables["packed"].image == b"\1" + bytes(8) + b"\5\0"
    assert variables["rows"].relocations == (Relocation(0, 8, "grid", 0, True), Relocation(16, 8, "grid", 12, True))
    assert variables["ones"].image == b"\xff" * 8
    assert variables["dynamic"].dynamic


def test_the_fixture_of_flow() -> None:
    functions = fixture("flow").functions
    assert functions["assembly"].max_threads == (128, 1, 1)
    assert sum(one.opcode[0] == "mbarrier" for one in functions["assembly"].instructions) == 2
    assert {"t0", "t1", "t2", "P1", "P1~2"} <= set(functions["assembly"].registers)


def test_two_megabytes_are_read_in_about_a_second() -> None:
    text = (PTX / "flow.ptx").read_text()
    head, body = text[: text.index("\t// .globl")], text[text.index("\t// .globl") : text.index("\t.file")]
    copies = "".join(
        body.replace(".entry ", f".entry c{index}").replace("demoted", str(index)) for index in range(2 << 20 >> 13)
    )
    start = time.process_time()
    module = parse(head + copies)
    assert time.process_time() - start < 8  # 0.5 s on an idle core
    assert len(module.functions) == 5 * (2 << 20 >> 13)


@pytest.mark.nvcc
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_100"])
@pytest.mark.parametrize("name", ["calls", "tables"])
def test_what_this_nvcc_writes_for_other_gpus(name: str, architecture: str, tmp_path: Path) -> None:
    compiler = find_compiler()
    output = tmp_path / "out.ptx"
    command = [
        compiler.path,
        "-ptx",
        f"-arch={architecture}",
        "-std=c++17",
        "-lineinfo",
        PTX / f"{name}.cu",
        "-o",
        output,
    ]
    subprocess.run(command, check=True, capture_output=True)
    module, fixed = parse(output.read_text()), fixture(name)
    assert module.target == architecture
    assert module.functions.keys() == fixed.functions.keys()
    assert {one: module.variables[one].image for one in fixed.variables if not one.startswith(("$", "_"))} == {
        one: variable.image for one, variable in fixed.variables.items() if not one.startswith(("$", "_"))
    }
