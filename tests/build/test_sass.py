"""The static cross-check: what ptxas made of memory instructions, and what it only repeated."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelbench.build import BuildRequest, Compiler, access_notes, machine_lines
from kernelbench.build.code_notes import NOTES, note_all
from kernelbench.build.sass import (
    SassCheck,
    cross_check,
    disassemble,
    disassemble_together,
    line_disassemblers,
    mnemonics,
    sass_functions,
)
from kernelbench.core import places
from tests.build.binaries import only_built


def ptx(*instructions: str, name: str = "k") -> str:
    body = "\n".join(f"  {instruction};" for instruction in instructions)
    return f".visible .entry {name}(.param .u64 {name}_param_0)\n{{\n{body}\n  ret;\n}}\n"


def sass(*instructions: str, name: str = "k") -> str:
    lines = "\n".join(f"        /*{16 * i:04x}*/  {'':16}{one} ;" for i, one in enumerate(instructions))
    return f'\t.section\t.text.{name},"ax",@progbits\n{name}:\n.text.{name}:\n{lines}\n        /*ff00*/    EXIT ;\n'


def check(ptx_instructions: list[str], sass_instructions: list[str]) -> SassCheck:
    return cross_check(ptx(*ptx_instructions), "k", sass(*sass_instructions))


LOAD, LOAD4 = "ld.shared.f32 %f1, [%r1]", "ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%r1]"
LDG, LDS, LDS128 = "LDG.E R1, desc[UR4][R2.64]", "LDS R1, [R2]", "LDS.128 R4, [R2+0x10]"


@pytest.mark.parametrize(
    ("instruction", "machine", "access"),
    [
        ("ld.global.nc.f32 %f1, [%rd1]", "LDG.E.CONSTANT R1, desc[UR4][R2.64]", ("ld.global", 4)),
        ("ld.global.nc.L1::no_allocate.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1]", "LDG.E.NA.128.CONSTANT R4, [R2.64]",
         ("ld.global", 16)),
        ("ld.global.L2::128B.v2.f32 {%f1,%f2}, [%rd1]", "LDG.E.LTC128B.64 R4, [R2.64]", ("ld.global", 8)),
        ("ld.global.v8.b32 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1]", "LDG.E.ENL2.256 R4, R8, [R2.64]",
         ("ld.global", 32)),
        ("ld.volatile.global.u8 %rs1, [%rd1]", "LDG.E.U8.STRONG.SYS R4, [R2.64]", ("ld.global", 1)),
        ("@%p1 st.global.u16 [%rd1], %rs1", "@P0 STG.E.U16 desc[UR4][R2.64], R1", ("st.global", 2)),
        ("$L1: st.global.f64 [%rd1], %fd1", "STG.E.64 desc[UR4][R2.64], R1", ("st.global", 8)),
        ("ld.shared.s8 %rs1, [%r1]", "@!P3 LDS.S8 R1, [R2]", ("ld.shared", 1)),
        ("st.shared.v2.b64 [%r1], {%rd1,%rd2}", "STS.128 [R2], R4", ("st.shared", 16)),
        ("ld.local.u32 %r1, [%rd1]", "LDL R1, [R2]", ("ld.local", 4)),
        ("st.local.v2.u32 [%rd1], {%r1,%r2}", "STL.64 [R2], R4", ("st.local", 8)),
        ("ld.u32 %r1, [%rd1]", "LD.E R1, [R2.64]", ("ld", 4)),
        ("atom.global.add.u32 %r1, [%rd1], 1", "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R1", ("atom.global", 0)),
        ("red.global.add.f64 [%rd1], %fd1", "ATOMG.E.ADD.F64.RN R1, [R2.64], R1", ("atom.global", 0)),
        ("atom.shared.cas.b32 %r1, [%r2], %r3, %r4", "ATOMS.CAS R1, [R2], R3, R4", ("atom.shared.cas", 0)),
        ("atom.shared.add.u32 %r1, [%r2], 1", "ATOMS.POPC.INC.32 RZ, [R2]", ("atom.shared", 0)),
        ("cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16", "LDGSTS.E.BYPASS.LTC128B.128 [R1], [R2.64]",
         ("cp.async", 16)),
        ("cp.async.ca.shared.global [%r1], [%rd1], 4, %r9", "LDGSTS.E [R1], [R2.64]", ("cp.async", 4)),
        ("bar.sync 0", "BAR.SYNC.DEFER_BLOCKING 0x0", ("bar", 0)),
        ("barrier.sync.aligned 1, 64", "BAR.SYNC 0x1, 0x40", ("bar", 0)),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5]", "LDSM.16.M88.4 R4, [R2]",
         ("ldmatrix", 16)),
    ],
)  # fmt: skip
def test_an_instruction_is_the_same_on_both_sides(instruction: str, machine: str, access: tuple[str, int]) -> None:
    found = check([instruction], [machine])
    assert dict(found.ptx) == dict(found.sass) == {access: 1}
    assert (found.status, found.note) == ("same", "")


def test_what_accesses_no_data_is_not_counted() -> None:
    found = check(
        ["ld.param.u64 %rd1, [k_param_0]", "ld.const.f32 %f1, [c]", "bar.warp.sync -1", "cp.async.commit_group",
         "membar.gl", "mov.u32 %r1, %tid.x"],
        ["LDC R1, c[0x0][0x28]", "LDGDEPBAR", "@!PT LDS RZ, [RZ]", "WARPSYNC.ALL", "MEMBAR.SC.GPU"],
    )  # fmt: skip
    assert (found.status, found.ptx, found.sass) == ("same", {}, {})


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ([LOAD] * 16, [LDS128] * 4, "16 ld.shared of 4 bytes became 4 LDS.128"),
        ([LOAD] * 32, [*[LDS] * 16, *[LDS128] * 4], "32 ld.shared of 4 bytes became 16 LDS and 4 LDS.128"),
        (
            [LOAD] * 32,
            [*[LDS] * 112, *[LDS128] * 28],
            "32 ld.shared of 4 bytes became 16 LDS and 4 LDS.128 (in each of 7 copies)",
        ),
        ([LOAD4], [LDS] * 4, "1 ld.shared of 16 bytes became 4 LDS"),
        ([LOAD4, LOAD], [*[LDS] * 3, "LDS.64 R4, [R2]"], "1 ld.shared of 4 bytes and 1 ld.shared of 16 bytes became"),
    ],
)
def test_merged_and_split_operations_are_marked(before: list[str], after: list[str], note: str) -> None:
    found = check(before, after)
    assert found.status == "changed"
    assert found.note.startswith(f"ptxas re-vectorised memory operations: {note}")


@pytest.mark.parametrize("copies", [(4, 4), (4, 1), (1, 7)])
def test_an_unrolled_loop_is_no_difference(copies: tuple[int, int]) -> None:
    scalar, vector = copies
    assert check([LOAD, LOAD4], [*[LDS] * scalar, *[LDS128] * vector]).note == ""


def test_fewer_or_no_operations_of_the_same_width_are_marked() -> None:
    assert check([LOAD] * 5, [LDS] * 3).note == "ptxas left 3 LDS of 5 ld.shared of 4 bytes"
    assert check([LOAD] * 5, []).note == "ptxas left out 5 ld.shared of 4 bytes"
    assert check([LOAD, LOAD, LOAD4], [LDS, LDS128, LDS128]).note == "ptxas left 1 LDS of 2 ld.shared of 4 bytes"
    assert check(["bar.sync 0"], []).note == "ptxas left out 1 bar"


def test_spills_and_other_additions_are_marked() -> None:
    found = check([LOAD], [LDS, "STL [R1], R4", "STL [R1+4], R5", "LDL.64 R4, [R1]"])
    assert found.note == (
        "ptxas put registers into local memory: 1 LDL.64; ptxas put registers into local memory: 2 STL"
    )
    assert check([LOAD], [LDS, LDG]).note == "ptxas added 1 LDG"


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ("atom.shared.add.f32 %f1, [%r1], %f2", ["LDS R8, [R4]", "FADD R9, R8, R3", "ATOMS.CAST.SPIN R9, [R5], R8, R9"],
         "atomics became a loop of a load and ATOMS.CAS"),
        ("atom.add.noftz.f16x2 %r1, [%rd1], %r2",
         ["ATOM.E.ADD.F16x2.RN.STRONG.GPU P0, RZ, [R4.64], R7", "LDS R2, [R4]", "ATOMS.CAST.SPIN R3, [R4], R2, R3",
          "LD.E R0, [R4.64]", "ST.E [R4.64], R3"],
         "atomics whose space is not known became ATOM, and a loop of a load and ATOMS.CAS for shared memory"),
    ],
)  # fmt: skip
def test_an_atomic_that_the_gpu_does_not_have_is_a_loop(before: str, after: list[str], note: str) -> None:
    assert check([before], after).note == note


GLOBAL_LOAD, LEAVE = "ld.global.f32 %f1, [%rd1]", "@%p1 bra $L1"


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ([GLOBAL_LOAD, LEAVE, GLOBAL_LOAD], ["@P0 EXIT", LDG, LDG], "1 LDG"),
        ([GLOBAL_LOAD, GLOBAL_LOAD, LEAVE], [LDG, "@!P0 EXIT", LDG, LDG], "1 LDG"),
        ([GLOBAL_LOAD, LOAD, LEAVE], ["@P0 EXIT", LDG, LDS], "1 LDG"),
        ([GLOBAL_LOAD, LEAVE], [LDG, "@P0 EXIT"], ""),
        ([GLOBAL_LOAD, LEAVE], ["@P0 BRA `(.L_1)", LDG], ""),  # the paths may meet again
        ([LEAVE, GLOBAL_LOAD], ["@P0 EXIT", LDG], ""),
    ],
)
def test_loads_that_only_some_warps_do_are_marked(before: list[str], after: list[str], moved: str) -> None:
    note = check(before, after).note
    assert note.startswith(f"ptxas moved {moved} behind the first exit") if moved else note == ""


def test_copies_of_loops_are_kept_apart() -> None:
    found = check([GLOBAL_LOAD, LOAD], [*[LDG] * 28, LDS])
    assert (found.status, found.note) == ("same", "")
    assert found.copies == (
        "ptxas repeated code: 1 ld.global of 4 bytes are 28 LDG; lanes that leave a loop apart run different copies, "
        "one request each"
    )
    assert check([GLOBAL_LOAD], [LDG]).copies == ""


@pytest.mark.parametrize(
    ("generic", "machine"),
    [
        ("ld.f32 %f1, [%rd1]", LDS),
        ("st.f32 [%rd1], %f1", "STG.E [R2.64], R1"),
        ("atom.add.u32 %r1, [%rd1], 1", "ATOMS.ADD R1, [R2], R3"),
    ],
)
def test_a_space_that_only_ptxas_knows_is_no_difference(generic: str, machine: str) -> None:
    assert check([generic], [machine]).status == "same"
    assert check([generic, generic], [machine]).status == "changed"


def test_functions_that_a_kernel_calls_belong_to_it() -> None:
    text = (
        ".func (.param .b32 out) helper(.param .b64 in)\n{ ld.global.f32 %f1, [%rd1]; ret; }\n"
        ".func other()\n{ ld.shared.f32 %f1, [%r1]; ret; }\n"
        + ptx("call.uni (out), helper, (in)", "call.uni (out), helper, (in)", "st.global.f32 [%rd1], %f1")
    )
    found = cross_check(text, "k", sass(LDG, "STG.E [R2.64], R1"))
    assert (found.status, dict(found.ptx)) == ("same", {("ld.global", 4): 1, ("st.global", 4): 1})


def test_each_kernel_of_a_module_is_found() -> None:
    text = ptx(LOAD, name="a") + ptx(LOAD4, name="b")
    machine = sass(LDS, name="a") + sass(LDS128, name="b")
    assert cross_check(text, "a", machine).status == cross_check(text, "b", machine).status == "same"
    cuobjdump = "".join(
        f"\tFunction : {name}\n        /*0000*/    {one} ;   /* 0x00 */\n" for name, one in (("a", LDS), ("b", LDS128))
    )
    assert cross_check(text, "b", cuobjdump).status == "same"
    with pytest.raises(ValueError, match="no kernel 'c'; expected one of a, b"):
        cross_check(text, "c", machine)


@pytest.mark.parametrize("listing", ["", "\t.target\tsm_90\n"])
def test_a_listing_without_a_kernel(listing: str) -> None:
    """As of an empty .cu."""
    assert sass_functions(listing) == {}


def test_without_a_disassembler_the_fact_says_so() -> None:
    found = cross_check(ptx(LOAD), "k", None)
    assert found.status == "not available"
    assert found.note == "not available: there is no nvdisasm or cuobjdump that reads this binary"
    assert cross_check(ptx(LOAD), "k", sass(LDS, name="z")).note == "not available: the SASS has no kernel 'k'"


def stand_in(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("kernelbench.build.sass.wheel_folders", lambda: [])


def test_no_disassembler_is_no_error(nowhere: None, tmp_path: Path) -> None:
    assert disassemble(tmp_path / "x.cubin", Compiler(tmp_path / "nvcc", "13.0.88")) is None
    assert not list(line_disassemblers())
    assert machine_lines(tmp_path / "x.cubin") == {}


def test_the_one_beside_nvcc_comes_first_and_the_next_one_is_tried(
    nowhere: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path / "toolkit" / "bin", "nvdisasm", "echo beside $1")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    stand_in(tmp_path / "home" / "bin", "cuobjdump", "echo home $1")
    beside = Compiler(tmp_path / "toolkit" / "bin" / "nvcc", "13.0.88")
    assert disassemble(tmp_path / "x.cubin", beside) == "beside -c\n"
    assert disassemble(tmp_path / "x.cubin") == "home -sass\n"
    stand_in(tmp_path / "toolkit" / "bin", "nvdisasm", "echo cannot read it >&2; exit 255")
    assert disassemble(tmp_path / "x.cubin", beside) == "home -sass\n"


TILE = Path(__file__).with_name("tile.cu").read_text()


@pytest.mark.nvcc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_what_ptxas_really_does(
    nvcc: Compiler, tmp_path: Path, kernel: Callable[..., BuildRequest], architecture: str
) -> None:
    binary = only_built(kernel(TILE, architecture=architecture), nvcc, tmp_path / "cache")
    code = disassemble(binary.path, nvcc)
    if code is None:
        pytest.skip("neither nvdisasm nor cuobjdump is here")
    notes = {entry: cross_check(binary.ptx_path.read_text(), entry, code).note for entry in binary.facts}
    assert "32 ld.shared of 4 bytes became 16 LDS and 4 LDS.128" in notes["tile"]
    assert notes["plain"] == ""
    assert notes["summed"] == "atomics became a loop of a load and ATOMS.CAS"
    assert access_notes(binary, nvcc) == notes
    kept = json.loads((binary.path.parent / NOTES).read_text())
    assert kept == notes, "it is not disassembled again"


@pytest.mark.nvcc
def test_many_are_disassembled_together_as_each_alone(
    nvcc: Compiler, tmp_path: Path, kernel: Callable[..., BuildRequest]
) -> None:
    binaries = [only_built(kernel(text), nvcc, tmp_path / "cache") for text in (TILE, TILE.replace("plain", "other"))]
    paths = [binary.path for binary in binaries]
    (damaged := tmp_path / "not.cubin").write_text("this is no ELF file")
    together = disassemble_together([*paths, damaged], "sm_90", nvcc)
    if together is None:
        pytest.skip("no nvdisasm is here")
    assert together.keys() == set(paths)
    for path in paths:
        alone = sass_functions(disassemble(path, nvcc) or "")
        code = sass_functions(together[path])
        assert code.keys() == alone.keys()
        assert all(list(mnemonics(code[entry])) == list(mnemonics(alone[entry])) for entry in alone)
    note_all(binaries, nvcc)
    kept = [json.loads((path.parent / NOTES).read_text()) for path in paths]
    for path in paths:
        (path.parent / NOTES).unlink()
    assert kept == [dict(access_notes(binary, nvcc)) for binary in binaries]
    assert disassemble_together([], "sm_90", nvcc) is None


@pytest.mark.nvcc
def test_a_disassembler_that_cannot_read_the_file_answers_nothing(nvcc: Compiler, tmp_path: Path) -> None:
    (tmp_path / "not.cubin").write_text("this is no ELF file")
    assert disassemble(tmp_path / "not.cubin", nvcc) is None


@pytest.mark.nvcc
@pytest.mark.exhaustive
def test_the_tree_kernels_are_as_their_ptx_says(nvcc: Compiler, tmp_path: Path) -> None:
    source = places.KERNELS / "softmax" / "tree.cu"
    for tree, block, loads in (("Modulo", 256, 1), ("Strided", 256, 1), ("Sequential", 256, 1), ("Unrolled", 128, 2)):
        request = BuildRequest(source, (("TREE", tree), ("BLOCK", block), ("LOADS", loads)), "sm_90")
        binary = only_built(request, nvcc, tmp_path)
        code = disassemble(binary.path, nvcc)
        if code is None:
            pytest.skip("neither nvdisasm nor cuobjdump is here")
        assert cross_check(binary.ptx_path.read_text(), "softmax_tree_f32", code).note == ""


def test_a_type_that_is_not_known_here_has_no_bytes_to_compare():
    assert check(["ld.global.q7 %f1, [%rd1]"], [LDG]).status == "changed"
