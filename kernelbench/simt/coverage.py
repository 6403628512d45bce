"""Which instructions of PTX the simulator runs and which it refuses, asked of the code that lowers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelbench.core.errors import PtxError
from kernelbench.simt.inline import inline_calls
from kernelbench.simt.lower import FAMILIES, lower
from kernelbench.simt.parse import parse

# The instructions of PTX ISA 9.0, by its chapters.
CHAPTERS: Mapping[str, str] = {
    "integers": "add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi bmsk szext "
    "dp4a dp2a addc subc madc",
    "floats": "testp copysign fma rcp sqrt rsqrt sin cos lg2 ex2 tanh",
    "comparison and selection": "set setp selp slct",
    "logic and shifts": "and or xor not cnot lop3 shf shl shr",
    "data movement": "mov shfl prmt ld ldu st st.async st.bulk prefetch prefetchu applypriority discard createpolicy "
    "isspacep cvta cvt mapa getctarank cp.async cp.async.bulk cp.async.bulk.prefetch cp.reduce.async.bulk "
    "cp.async.bulk.tensor cp.reduce.async.bulk.tensor cp.async.bulk.prefetch.tensor tensormap.replace "
    "tensormap.cp_fenceproxy multimem.ld_reduce multimem.st multimem.red",
    "textures and surfaces": "tex tld4 txq istypep suld sust sured suq",
    "control flow": "bra brx.idx call ret exit trap brkpt",
    "synchronisation": "bar bar.warp barrier barrier.cluster membar fence atom red red.async vote match activemask "
    "redux elect griddepcontrol mbarrier.init mbarrier.inval mbarrier.arrive mbarrier.arrive_drop mbarrier.expect_tx "
    "mbarrier.complete_tx mbarrier.test_wait mbarrier.try_wait mbarrier.pending_count clusterlaunchcontrol.try_cancel "
    "clusterlaunchcontrol.query_cancel",
    "matrices": "mma.sync mma.sp wmma.load wmma.mma wmma.store ldmatrix stmatrix movmatrix wgmma.mma_async wgmma.fence "
    "wgmma.commit_group wgmma.wait_group tcgen05",
    "stack": "stacksave stackrestore alloca",
    "video": "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 "
    "vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4",
    "others": "nanosleep pmevent setmaxnreg",
}
# Forms whose name begins like that of an instruction that runs: whether they run is tried.
FORMS: Mapping[str, str] = {
    "cp.async.bulk.prefetch": "cp.async.bulk.prefetch.L2.global [%rd1], %r1;",
    "cp.async.bulk.tensor": "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], "
    "[%rd1, {%r2}], [%r3];",
    "cp.async.bulk.prefetch.tensor": "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%rd1, {%r1}];",
    "cp.reduce.async.bulk": "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r2;",
    "cp.reduce.async.bulk.tensor": "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group "
    "[%rd1, {%r2}], [%r1];",
    "wgmma.mma_async": "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%r1, %r2, %r3, %r4}, %rd1, %rd2, 1, 1, 1;",
    "st.bulk": "st.bulk.shared::cta [%rd1], 64, 0;",
    "red.async": "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r1], %r2, [%r3];",
    "mma.sp": "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r1, %r2}, "
    "{%r1, %r2, %r3, %r4}, %r5, 0;",
}
# What is refused of instructions that run: an example of each.
REFUSED_FORMS: Mapping[str, str] = {
    "im2col copies of tensors": "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
    "[%r1], [%rd1, {%r2, %r3, %r4}], [%r5], {%r6};",
    "sparse `wgmma`": "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%r1, %r2, %r3, %r4}, %rd1, %rd2, %r5, 0, "
    "1, 1, 1, 0, 0;",
    "cube maps": "tex.cube.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r6, %r7, %r8}];",
    "gradients of textures": "tex.grad.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r6}], {%r7, %r8}, {%r7, %r8};",
    "formatted stores to surfaces": "sust.p.2d.b32.trap [%rd1, {%r1, %r2}], {%r3};",
    "`ldmatrix` of 8-bit elements": "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];",
    "`lop3` with a predicate": "lop3.or.b32 %r1|%r2, %r3, %r4, %r5, 0x3f, %r6;",
    "stochastic rounding": "cvt.rs.f16x2.f32 %r1, %r2, %r3, %r4;",
    "`isspacep` of constants and parameters": "isspacep.const %r1, %rd1;",
    "performance counters in `%pm0` to `%pm7`": "mov.u32 %r1, %pm0;",
}
_INLINED = frozenset({"call"})  # inlining deals with it before lowering


@dataclass(frozen=True)
class Chapter:
    """Names of the instructions that run, in at least one form, and of those that are refused."""

    title: str
    runs: tuple[str, ...]
    refused: tuple[str, ...]


def coverage() -> tuple[Chapter, ...]:
    """All instructions of PTX by chapter."""
    found = []
    for title, names in CHAPTERS.items():
        runs = tuple(name for name in names.split() if _runs(name))
        found.append(Chapter(title, runs, tuple(name for name in names.split() if name not in runs)))
    return tuple(found)


def reason(form: str) -> str:
    """Why an instruction is refused; "" if it is not. `form`: one instruction on registers %r1 to %r9 (32 bits) and
    %rd1 to %rd9 (64 bits)."""
    text = (
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
        f".reg .b32 %r<10>; .reg .b64 %rd<10>;\n{form}\nret;\n}}\n"
    )
    try:
        module = parse(text)
        lower(inline_calls(module, "k"), module, lambda name: True)
    except PtxError as error:
        return str(error)
    return ""


def _runs(name: str) -> bool:
    if name in FORMS:
        return not reason(FORMS[name])
    if name in _INLINED:
        return True
    keys = {key for table in FAMILIES for key in table}
    return name in keys or any(key.startswith(f"{name}.") for key in keys)
