"""Lowering: slots, addresses, memory instructions, barriers, and what is refused."""

import struct

import pytest

from kernelbench.core.errors import PtxError
from kernelbench.simt import lower as lowering
from kernelbench.simt.inline import inline_calls
from kernelbench.simt.interface import LANES, NONE, BarrierForm, Kind
from kernelbench.simt.lower.program import Lowered, Program
from kernelbench.simt.parse import parse

HEADER = """.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.shared .align 4 .b8 unused[400];
.global .align 8 .b64 target[2] = {7, generic(other)};
.global .align 4 .u32 other = 5;
.const .align 4 .f32 table[3];
"""
KERNEL = """.visible .entry k(.param .u64 k_x, .param .align 8 .b8 k_pair[24], .param .u32 k_n)
{
    .reg .pred %p<4>;
    .reg .b16 %rs<6>;
    .reg .b32 %r<12>;
    .reg .f32 %f<8>;
    .reg .b64 %rd<8>;
    .shared .align 8 .b8 tile[20];
    .shared .align 16 .f32 second[4];
    .local .align 8 .b8 depot[12];
    BODY
    ret;
}
"""


def lowered(body: str) -> Program:
    module = parse(HEADER + KERNEL.replace("BODY", body))
    return lowering.lower(inline_calls(module, "k"), module, lambda name: name != "cpasync_5")


def one(body: str) -> Lowered:
    return lowered(body).code[0]


def constant(program: Program, slot: int, form: str) -> tuple[int | float, ...]:
    """The 32 lanes of a slot of the image."""
    start = slot - program.image_offset
    assert start >= 0
    return struct.unpack_from(f"<{LANES}{form}", program.image, start)


def test_registers_lie_before_constants_and_do_not_overlap() -> None:
    program = lowered("ld.shared.u32 %r1, [tile]; ld.shared.u64 %rd1, [tile]; ld.shared.u16 %rs1, [tile];")
    slots = [step.x[0] for step in program.code[:3]]
    assert slots == [0, 32 * 4, 32 * 4 + 32 * 8]
    assert program.image_offset == 32 * (4 + 8 + 2)
    assert program.register_bytes == program.image_offset + len(program.image)


def test_equal_constants_share_a_slot() -> None:
    program = lowered("st.shared.u32 [tile], 3; st.shared.u32 [tile+4], 3; st.shared.u64 [tile+8], 3;")
    first, second, wide = program.code[:3]
    assert first.x[0] == second.x[0] != wide.x[0]
    assert constant(program, first.x[0], "I") == (3,) * 32
    assert constant(program, wide.x[0], "Q") == (3,) * 32


def test_negative_and_floating_constants() -> None:
    program = lowered("st.shared.b32 [tile], -2; st.shared.f32 [tile], 0f3FC00000; st.shared.f64 [tile], 0f3FC00000;")
    assert constant(program, program.code[0].x[0], "i") == (-2,) * 32
    assert constant(program, program.code[1].x[0], "f") == (1.5,) * 32
    assert constant(program, program.code[2].x[0], "d") == (1.5,) * 32


def test_special_registers() -> None:
    program = lowered(
        "st.shared.u32 [tile], %laneid; st.shared.u32 [tile], %lanemask_lt; st.shared.u32 [tile], %tid.y;"
    )
    assert constant(program, program.code[0].x[0], "I") == tuple(range(32))
    assert constant(program, program.code[1].x[0], "I") == tuple((1 << lane) - 1 for lane in range(32))
    assert [(slot.name, slot.offset) for slot in program.specials] == [("%tid.y", program.code[2].x[0])]


def test_registers_that_may_be_read_first_are_zeroed() -> None:
    program = lowered("@%p1 ld.shared.u32 %r2, [tile]; st.shared.u32 [tile], %r2;")
    assert program.zeroed == ((program.code[0].x[0], 128),)


def test_shared_memory_is_stacked_and_what_is_not_named_takes_none() -> None:
    program = lowered("st.shared.u32 [tile+8], %r1; st.shared.u32 [second], %r1; st.shared.u32 [dynamic], %r1;")
    tile, second, dynamic = program.code[:3]
    assert (constant(program, tile.a, "Q")[0], tile.immediate) == (0, 8)
    assert constant(program, second.a, "Q")[0] == 32  # 20 bytes, then 16-byte aligned
    assert constant(program, dynamic.a, "Q")[0] == program.dynamic_offset == 48
    assert program.static_shared_bytes == 48


def test_local_memory() -> None:
    program = lowered("st.local.u32 [depot+4], %r1;")
    assert (program.code[0].operation, program.code[0].immediate) == ("st_local_u32_32", 4)
    assert program.local_bytes == 16


def test_module_variables_are_patched_with_those_that_they_point_to() -> None:
    program = lowered("ld.global.u64 %rd1, [target+8]; ld.const.f32 %f1, [table];")
    target, table = program.code[:2]
    assert [(patch.symbol, patch.offset, patch.bytes) for patch in program.patches] == [
        ("target", target.a, 8),
        ("table", table.a, 8),
    ]
    assert set(program.variables) == {"target", "other", "table"}


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("ld.global.u8 %rs1, [%rd1];", "ld_global_u8_16"),
        ("ld.global.s8 %rs1, [%rd1];", "ld_global_s8_16"),
        ("ld.global.b8 %r1, [%rd1];", "ld_global_u8_32"),
        ("ld.global.s16 %r1, [%rd1];", "ld_global_s16_32"),
        ("ld.global.s32 %r1, [%rd1];", "ld_global_u32_32"),
        ("ld.global.s32 %rd2, [%rd1];", "ld_global_s32_64"),
        ("ld.global.f32 %f1, [%rd1];", "ld_global_u32_32"),
        ("ld.global.nc.L1::no_allocate.L2::128B.f32 %f1, [%rd1];", "ld_global_u32_32"),
        ("ldu.global.b64 %rd2, [%rd1];", "ld_global_u64_64"),
        ("ld.volatile.shared.u32 %r1, [%r2];", "ld_shared_u32_32"),
        ("ld.shared::cta.u32 %r1, [%r2];", "ld_shared_u32_32"),
        ("ld.u32 %r1, [%rd1];", "ld_generic_u32_32"),
        ("st.global.u8 [%rd1], %r1;", "st_global_u8_32"),
        ("st.global.s8 [%rd1], %rs1;", "st_global_u8_16"),
        ("st.global.L1::no_allocate.f32 [%rd1], %f1;", "st_global_u32_32"),
        ("atom.global.add.f32 %f1, [%rd1], %f2;", "atom_global_add_f32"),
        ("atom.shared.add.s32 %r1, [%r2], 5;", "atom_shared_add_u32"),
        ("atom.global.min.s32 %r1, [%rd1], %r2;", "atom_global_min_s32"),
        ("red.global.relaxed.gpu.add.u32 [%rd1], %r2;", "atom_global_add_u32"),
        ("atom.acq_rel.gpu.global.exch.b32 %r1, [%rd1], %r2;", "atom_global_exch_u32"),
        ("atom.add.noftz.f16x2 %r1, [%rd1], %r2;", "atom_generic_add_f16x2"),
        ("atom.global.inc.u32 %r1, [%rd1], %r2;", "atom_global_inc_u32"),
        ("ld.shared::cluster.u32 %r1, [%r2];", "ld_shared_u32_32"),
        ("membar.gl;", "fence"),
        ("fence.acq_rel.gpu;", "fence"),
        ("cp.async.cg.shared.global [%r1], [%rd1], 16;", "cpasync_16"),
        ("cp.async.ca.shared.global.L2::128B [%r1], [%rd1], 4, %r2;", "cpasync_4"),
    ],
)
def test_operation_of_a_memory_instruction(text: str, operation: str) -> None:
    assert one(text).operation == operation


def test_vector_with_a_sink() -> None:
    step = one("ld.global.v4.f32 {%f1, _, %f2, %f3}, [%rd1+-16];")
    assert (step.f, step.immediate, step.b, step.x[4:]) == (4, -16, 8, (NONE,) * 4)
    assert step.x[1] == NONE
    assert len(set(step.x[:4])) == 4


def test_store_of_constants_and_registers() -> None:
    program = lowered("st.global.v2.u32 [%rd1], {%r1, 9};")
    register, nine = program.code[0].x[:2]
    assert register < program.image_offset
    assert constant(program, nine, "I") == (9,) * 32


def test_parameters() -> None:
    program = lowered("ld.param.v2.u32 {%r1, %r2}, [k_pair+8]; mov.b64 %rd1, k_pair; ld.param.u32 %r3, [%rd1+4];")
    direct, _, indirect = program.code[:3]
    assert (direct.operation, direct.a, direct.immediate, direct.f) == ("ld_param_u32_32", NONE, 16, 2)
    assert (indirect.operation, indirect.immediate, indirect.b) == ("ld_param_u32_32", 4, 8)
    assert program.parameter_bytes == 36


def test_arguments_of_calls_lie_in_local_memory() -> None:
    program = lowered(".param .b32 passed[2]; st.param.v2.b32 [passed], {%r1, %r2}; ld.param.b32 %r3, [passed+4];")
    store, load = program.code[:2]
    assert (store.operation, load.operation) == ("st_argument_u32_32", "ld_argument_u32_32")
    assert load.immediate == 4
    assert program.local_bytes == 16


def test_compare_and_swap() -> None:
    step = one("atom.global.cas.b64 %rd1, [%rd2+8], %rd3, %rd4;")
    assert (step.operation, step.immediate) == ("atom_global_cas_u64", 8)
    assert len({step.d, step.a, step.c, step.e}) == 4


def test_atomic_without_a_result() -> None:
    assert one("red.shared.max.u32 [%r1], %r2;").d == NONE
    assert one("atom.shared.max.u32 _, [%r1], %r2;").d == NONE


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        ("atom.shared.add.u32 %r1, [%r2], 1;", True),
        ("atom.shared.cta.add.u32 _, [%r2], 1;", True),
        ("red.release.cta.shared.add.u32 [%r2], 1;", True),
        ("atom.shared.inc.u32 %r1, [%r2], -1;", True),
        ("atom.shared.inc.u32 %r1, [%r2], 10;", False),
        ("atom.shared.dec.u32 %r1, [%r2], -1;", False),
        ("atom.shared.add.u32 %r1, [%r2], 2;", False),
        ("atom.shared.add.u32 %r1, [%r2], %r3;", False),
        ("red.shared.add.s32 [%r2], 1;", False),
        ("atom.shared.add.u64 %rd1, [%r2], 1;", False),
        ("atom.shared.or.b32 %r1, [%r2], 1;", False),
        ("red.add.u32 [%rd1], 1;", False),
        ("red.global.add.u32 [%rd1], 1;", False),
        ("atom.shared.add.u32 %r1, [%r2], 1; st.shared.u32 [%r2], %r1;", False),
    ],
)
def test_additions_of_one_that_count_lanes(body: str, counts: bool) -> None:
    """Those that ptxas makes ATOMS.POPC.INC of, for sm_80 and later."""
    assert one(body).f == (1 if counts else NONE)
    module = parse((HEADER + KERNEL.replace("BODY", body)).replace("sm_90", "sm_75"))
    assert lowering.lower(inline_calls(module, "k"), module, lambda name: True).code[0].f == NONE


def test_copy_that_may_be_ignored() -> None:
    step = one("cp.async.cg.shared.global.L2::cache_hint [%r1+4], [%rd1+-8], 16, !%p1, %rd2;")
    assert (step.immediate, step.x[0], step.x[2], step.f) == (4, 0xFFFFFFF8, 1, NONE)
    assert step.x[1] != NONE


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("st.global.u32 [%rd1], %r1;", False),
        ("st.volatile.shared.u32 [%r1], %r1;", False),
        ("atom.shared.add.u32 %r1, [%r1], %r2;", False),
        ("st.volatile.global.u32 [%rd1], %r1;", True),
        ("ld.acquire.gpu.global.u32 %r1, [%rd1];", True),
        ("ld.relaxed.gpu.u32 %r1, [%rd1];", True),
        ("red.global.add.u32 [%rd1], %r2;", True),
        ("atom.add.u32 %r1, [%rd1], %r2;", True),
    ],
)
def test_blocks_that_talk_run_in_order(text: str, ordered: bool) -> None:
    assert lowered(text).ordered is ordered


def test_branches_and_where_paths_meet() -> None:
    program = lowered("@!%p1 bra L; st.shared.u32 [tile], 1; L: st.shared.u32 [tile], 2;")
    step = program.code[0]
    assert (step.kind, step.target, step.reconverge, step.negated) == (Kind.BRANCH, 2, 2, True)


def test_table_of_branches() -> None:
    program = lowered(
        "t: .branchtargets A, B, A; brx.idx %r1, t; A: st.shared.u32 [tile], 1; B: st.shared.u32 [tile], 2;"
    )
    step = program.code[0]
    assert (step.kind, step.b, step.c, program.table) == (Kind.TABLE_BRANCH, 0, 3, (1, 2, 1))


def test_code_after_the_end_is_an_exit() -> None:
    module = parse(HEADER + KERNEL.replace("BODY", "@%p1 bra END;").replace("ret;", "ret; END:"))
    program = lowering.lower(inline_calls(module, "k"), module, lambda name: True)
    assert program.code[0].target == len(program.code) - 1
    assert program.code[-1].kind is Kind.EXIT
    assert len(program.sources) == len(program.code)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("bar.sync 0;", BarrierForm.SYNC),
        ("bar.sync 1, 64;", BarrierForm.SYNC),
        ("barrier.sync.aligned 3;", BarrierForm.SYNC),
        ("bar.cta.sync 0;", BarrierForm.SYNC),
        ("bar.arrive 2, 128;", BarrierForm.ARRIVE),
        ("bar.red.popc.u32 %r1, 0, !%p1;", BarrierForm.REDUCE_COUNT),
        ("barrier.red.and.pred %p2, 0, %p1;", BarrierForm.REDUCE_AND),
        ("bar.red.or.pred %p2, 0, 64, %p1;", BarrierForm.REDUCE_OR),
        ("barrier.cluster.arrive.relaxed.aligned;", BarrierForm.CLUSTER_ARRIVE),
        ("barrier.cluster.wait.aligned;", BarrierForm.CLUSTER_WAIT),
    ],
)
def test_barriers(text: str, form: BarrierForm) -> None:
    step = one(text)
    assert (step.kind, step.f) == (Kind.BARRIER, form)
    assert (step.e == 1) == ("!" in text)
    assert (step.b != NONE) == (", 64" in text or ", 128" in text)


@pytest.mark.parametrize(
    "text", ["cp.async.bulk.wait_group.read 0;", "cp.async.wait_group 0;", "prefetch.global.L2 [%rd1];"]
)
def test_what_takes_no_time_and_has_no_effect(text: str) -> None:
    assert one(text).kind is Kind.NOTHING


@pytest.mark.parametrize(
    "text",
    [
        "red.global.add.v2.f64 [%rd1], {%rd1, %rd2};",
        "red.shared.add.v2.f32 [tile], {%f1, %f2};",
        "ld.global.u64 %r1, [%rd1];",
        "ld.global.v2.u32 {%r1}, [%rd1];",
        "ld.global.sideways.u32 %r1, [%rd1];",
        "ld.global.add.u32 %r1, [%rd1];",
        "ld.shared.u32 %r1, [%rs1];",
        "ld.param.u32 %r1, [k_n+4];",
        "st.shared.u32 [tile], %pm0;",
        "tex.cube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2, %f3, %f4}];",
        "alloca.u64 %rd1, 64;",
        "ld.global.u32 %r1;",
        "st.global.u32 [%rd1], %r1, %r2;",
        "atom.global.cas.b32 %r1, [%rd1], %r2;",
        "bar.arrive 1;",
        "cp.async [tile], [%rd1], 16;",
        "cp.async.ca.global.shared [%rd1], [tile], 16;",
        "cp.async.ca.shared.global [tile], [%rd1], 5;",
        "shl.f16x2 %r1, %r2, %r3;",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2}, {%r1, %r2}, {%r3}, {%f1, %f2};",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [tile];",
        "tcgen05.wait::ld.sync.aligned;",
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile [tile], [%rd1, {%r1}], [tile];",
        "cp.async.bulk.shared::cluster.global.multicast::cluster [tile], [%rd1], 16, [tile], %rs1;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.f32 [%rd1], [tile], 16;",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.s32 [tile], %r1, [tile];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [tile], {%r1}, [tile];",
        "st.async.shared::cluster.b32 [tile], %r1, [tile];",
        "mbarrier.init.sideways.b64 [tile], 1;",
        "mbarrier.arrive.expect_tx.shared.b64 %rd1, [tile];",
        "barrier.cluster.sync;",
    ],
)
def test_refused_with_its_place(text: str) -> None:
    with pytest.raises(PtxError) as refused:
        lowered(f".loc 1 7 0\n{text}")
    assert "kernel k" in str(refused.value)
    assert "ptx line 2" in str(refused.value)
    assert text.split(";", maxsplit=1)[0] in str(refused.value)


def test_an_operation_that_the_runtime_lacks_is_refused() -> None:
    module = parse(HEADER + KERNEL.replace("BODY", "st.shared.u32 [tile], %r1;"))
    with pytest.raises(PtxError, match=r"not supported .*st_shared_u32_32"):
        lowering.lower(inline_calls(module, "k"), module, lambda name: False)


def test_registers_that_are_never_alive_together_share_a_slot() -> None:
    program = lowered(
        "ld.shared.u32 %r1, [tile]; st.shared.u32 [tile], %r1; ld.shared.u32 %r2, [tile]; st.shared.u32 [tile], %r2;"
    )
    assert program.code[0].x[0] == program.code[2].x[0]
    assert program.image_offset == 32 * 4


def test_a_result_shares_no_slot_with_an_operand_of_the_same_instruction() -> None:
    program = lowered("ld.shared.u32 %r1, [tile]; ld.shared.u32 %r2, [%r1]; st.shared.u32 [tile], %r2;")
    assert program.code[1].a != program.code[1].x[0]


def test_what_a_loop_still_needs_keeps_its_slot() -> None:
    program = lowered("""
        ld.shared.u32 %r1, [tile];
        LOOP: st.shared.u32 [tile], %r1;
        ld.shared.u32 %r2, [tile];
        st.shared.u32 [tile], %r2;
        @%p1 bra LOOP;""")
    assert program.code[0].x[0] != program.code[2].x[0]


def test_the_other_side_of_a_branch_overwrites_nothing() -> None:
    """%r1 is alive where the second side starts, though no instruction between there and the join reads it."""
    program = lowered("""
        ld.shared.u32 %r1, [tile];
        @%p1 bra OTHER;
        st.shared.u32 [tile], %r1;
        bra JOIN;
        OTHER: ld.shared.u32 %r2, [tile];
        st.shared.u32 [tile], %r2;
        @%p2 bra JOIN;
        st.shared.u32 [tile], 3;
        JOIN: st.shared.u32 [tile], %r1;""")
    assert program.code[0].x[0] != program.code[4].x[0]


def test_a_guarded_write_keeps_what_was_there() -> None:
    program = lowered("""
        ld.shared.u32 %r1, [tile];
        ld.shared.u32 %r3, [tile];
        st.shared.u32 [tile], %r3;
        @%p1 ld.shared.u32 %r1, [tile+4];
        st.shared.u32 [tile], %r1;""")
    assert program.code[0].x[0] == program.code[3].x[0] != program.code[1].x[0]
