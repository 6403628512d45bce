import time

import pytest

from kernelbench.build.facts import Usage, entry_facts, ptxas_usage
from kernelbench.build.ptx import function_bodies, ptx_accesses

LOG = """\
ptxas info    : 4 bytes gmem
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 29 registers, used 0 barriers
ptxas info    : Compile time = 39.728 ms
ptxas info    : Compiling entry function 'spills' for 'sm_90'
ptxas info    : Function properties for spills
    272 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Function properties for _Z5innerPKfi
    64 bytes stack frame, 3 bytes spill stores, 3 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 272 bytes cumulative stack size, 512 bytes smem, 400 bytes cmem[0]
ptxas info    : Function properties for _Z6helperPKfi
    256 bytes stack frame, 7 bytes spill stores, 7 bytes spill loads
"""


def test_ptxas_output_is_read_by_entry():
    assert ptxas_usage(LOG) == {"plain": Usage(29, 0, 0, 0, 0), "spills": Usage(40, 512, 272, 12, 16)}


def test_an_entry_without_report_is_an_error():
    with pytest.raises(ValueError, match="nothing about entry 'other'"):
        entry_facts(".visible .entry other() { ret; }", LOG)


def entry(body: str, parameters: str = ".param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2") -> str:
    """PTX of an entry k whose %rd0, %rd1 and %r2 hold its parameters."""
    loads = """
    ld.param.u64 \t%rd0, [k_param_0];
    ld.param.u64 \t%rd1, [k_param_1];
    ld.param.u32 \t%r2, [k_param_2];
    """
    return f".version 9.0\n.visible .entry k(\n{parameters}\n)\n.maxntid 256, 1, 1\n{{\n{loads}{body}\nret;\n}}\n"


@pytest.mark.parametrize(
    ("body", "loads", "stores"),
    [
        ("ld.global.f32 %f1, [%rd0+4];", (1, 0, 0), (0, 0, 0)),
        ("ld.f32 %f1, [%rd1];", (0, 1, 0), (0, 0, 0)),
        ("ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd0];", (1, 0, 0), (0, 0, 0)),
        ("ld.volatile.global.u32 %r9, [%rd0];", (1, 0, 0), (0, 0, 0)),
        ("@!%p1 ldu.global.f32 %f1, [%rd0];", (1, 0, 0), (0, 0, 0)),
        ("$L__BB0_1:\n ld.global.f32 %f1, [%rd0];", (1, 0, 0), (0, 0, 0)),
        ("st.global.v2.f32 [%rd1], {%f1, %f2};", (0, 0, 0), (0, 1, 0)),
        ("st.f32 [%rd1], %f1;", (0, 0, 0), (0, 1, 0)),
        ("atom.global.add.f32 %f1, [%rd1], %f2;", (0, 1, 0), (0, 1, 0)),
        ("red.add.f32 [%rd1], %f2;", (0, 1, 0), (0, 1, 0)),
        ("cp.async.cg.shared.global [%r9], [%rd0], 16;", (1, 0, 0), (0, 0, 0)),
        ("cp.async.bulk.shared::cluster.global.mbarrier [%r9], [%rd0], %r8, [%r7];", (1, 0, 0), (0, 0, 0)),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9], %r8;", (0, 0, 0), (0, 1, 0)),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r9], %r8;", (0, 1, 0), (0, 1, 0)),
        ("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r5, %r6}, [%rd0], %r7;", (1, 0, 0), (0, 0, 0)),
        # not global memory, or no access
        ("ld.shared.f32 %f1, [%rd0]; ld.local.f32 %f1, [%rd0]; ld.const.f32 %f1, [%rd0];", (0, 0, 0), (0, 0, 0)),
        ("atom.shared.add.u32 %r3, [%rd0], 1; st.shared.f32 [%rd0], %f1;", (0, 0, 0), (0, 0, 0)),
        ("prefetch.global.L2 [%rd0]; cp.async.commit_group; cp.async.wait_group 0;", (0, 0, 0), (0, 0, 0)),
        ("cp.async.bulk.prefetch.L2.global [%rd0], %r9;", (0, 0, 0), (0, 0, 0)),
        ("// ld.global.f32 %f1, [%rd0];\n/* ld.global.f32 %f1,\n [%rd0]; */", (0, 0, 0), (0, 0, 0)),
        ("// begin inline asm\nld.global.f32 %f1, [%rd0];\n// end inline asm", (1, 0, 0), (0, 0, 0)),
        ("\t.loc\t1 28 0\n\tld.global.f32 \t%f1, [%rd0];", (1, 0, 0), (0, 0, 0)),
        # where an address comes from
        ("cvta.to.global.u64 %rd5, %rd0; add.s64 %rd6, %rd7, %rd5; ld.global.f32 %f1, [%rd6];", (1, 0, 0), (0, 0, 0)),
        ("mad.wide.s32 %rd5, %r3, 4, %rd0; ld.global.f32 %f1, [%rd5];", (1, 0, 0), (0, 0, 0)),
        ("selp.b64 %rd5, %rd0, %rd1, %p1; ld.global.f32 %f1, [%rd5];", (1, 1, 0), (0, 0, 0)),
        ("$L: ld.global.f32 %f1, [%rd5]; mov.u64 %rd5, %rd0; bra $L;", (1, 0, 0), (0, 0, 0)),
        ("mov.b64 {%r5, %r6}, %rd0; mov.b64 %rd5, {%r5, %r6}; ld.f32 %f1, [%rd5];", (1, 0, 0), (0, 0, 0)),
        ("st.local.u64 [%rd9], %rd0; ld.local.u64 %rd5, [%rd9]; ld.f32 %f1, [%rd5];", (1, 0, 0), (0, 0, 0)),
        # numbers are no addresses: a size, a difference, an index that was loaded
        ("mul.lo.s64 %rd5, %rd1, 4; add.s64 %rd6, %rd0, %rd5; ld.global.f32 %f1, [%rd6];", (1, 0, 0), (0, 0, 0)),
        ("mad.lo.s64 %rd5, %rd1, %rd1, %rd0; ld.global.f32 %f1, [%rd5];", (1, 0, 0), (0, 0, 0)),
        ("shl.b64 %rd5, %rd1, 2; add.s64 %rd6, %rd0, %rd5; ld.global.f32 %f1, [%rd6];", (1, 0, 0), (0, 0, 0)),
        ("sub.s64 %rd5, %rd9, %rd1; add.s64 %rd6, %rd0, %rd5; ld.global.f32 %f1, [%rd6];", (1, 0, 0), (0, 0, 0)),
        ("ld.global.u64 %rd5, [%rd0]; ld.global.f32 %f1, [%rd5];", (1, 0, 0), (0, 0, 0)),
        # a function that was not inlined
        ("{ .param .b64 param0; st.param.b64 [param0+0], %rd0; call.uni f, (param0); }", (1, 0, 0), (1, 0, 0)),
        (
            "{ .param .b64 param0; st.param.b64 [param0+0], %rd0; call.uni f, (param0); }"
            "{ .param .b64 param0; .param .b64 retval0; st.param.b64 [param0+0], %rd1;"
            "call.uni (retval0), g, (param0); ld.param.b64 %rd5, [retval0+0]; } ld.f32 %f1, [%rd5];",
            (1, 2, 0),
            (1, 1, 0),
        ),
        # registers of inline assembly, declared again in each scope
        (
            "{ .reg .b64 t; mov.b64 t, %rd0; prefetch.global.L2 [t]; }"
            "{ .reg .b64 t; mov.b64 t, %rd1; ld.f32 %f1, [t]; }",
            (0, 1, 0),
            (0, 0, 0),
        ),
    ],
)  # fmt: skip
def test_loads_and_stores_are_counted_by_parameter(body, loads, stores):
    found = ptx_accesses(entry(body))["k"]
    assert (found.loads, found.stores) == (loads, stores)


def test_pointers_inside_a_struct_count_for_it():
    ptx = """.entry k(.param .align 8 .b8 k_param_0[24], .param .u64 .ptr .global .align 4 k_param_1) {
        ld.param.v2.u64 {%rd0, %rd1}, [k_param_0+8]; ld.global.f32 %f1, [%rd1];
        mov.b64 %rd4, k_param_0; ld.param.u64 %rd5, [%rd4+16]; ld.f32 %f2, [%rd5];
        ld.param.u64 %rd2, [k_param_1]; st.global.f32 [%rd2], %f1; ret; }"""
    found = ptx_accesses(ptx)["k"]
    assert found.loads == (2, 0)
    assert found.stores == (0, 1)


def test_a_tensor_map_is_loaded_through_its_own_address():
    ptx = """.entry k(.param .align 64 .b8 k_param_0[128]) { mov.b64 %rd1, k_param_0; cvta.param.u64 %rd2, %rd1;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier [%r1], [%rd2, {%r2, %r3}], [%r4];
        ret; }"""
    assert ptx_accesses(ptx)["k"].loads == (1,)


def test_entries_are_kept_apart_and_may_have_no_parameters():
    both = entry("ld.global.f32 %f1, [%rd0];") + ".visible .entry empty()\n{\nret;\n}\n.entry bare\n{ ret; }\n"
    assert {name: found.loads for name, found in ptx_accesses(both).items()} == {
        "k": (1, 0, 0),
        "empty": (),
        "bare": (),
    }


@pytest.mark.parametrize("text", [".entry " + "a" * 50_000, ".entry a" + " " * 50_000, ".func " + "a" * 50_000])
def test_heads_without_a_body_take_no_time(text):
    started = time.process_time()
    assert (ptx_accesses(text), function_bodies(text)) == ({}, {})
    assert time.process_time() - started < 2
