"""mov with pieces of registers, symbols and special registers; addresses between state spaces; what is refused."""

import numpy as np
import pytest

from kernelbench.core.errors import PtxError
from tests.simt.harness import Kernels
from tests.simt.operations import apply, integers, kernel


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_copies(bits: int) -> None:
    values = integers(f"u{bits}")
    np.testing.assert_array_equal(apply(f"mov.b{bits} %d, %a;", f"u{bits}", (f"u{bits}", values)), values)


@pytest.mark.parametrize(("piece", "count"), [(16, 2), (16, 4), (32, 2)])
def test_pieces(piece: int, count: int) -> None:
    whole = piece * count
    parts = [integers(f"u{piece}", seed=seed) for seed in range(count)]
    vector = "{" + ", ".join(f"%{name}" for name in "abce"[:count]) + "}"
    joined = apply(f"mov.b{whole} %d, {vector};", f"u{whole}", *((f"u{piece}", part) for part in parts))
    expected = sum(part.astype(np.uint64) << np.uint64(piece * place) for place, part in enumerate(parts))
    np.testing.assert_array_equal(joined, np.asarray(expected).astype(f"uint{whole}"))
    names = [f"%x{place}" for place in range(count)]
    for place, part in enumerate(parts):
        wanted = ["_"] * count
        wanted[place] = names[place]
        text = (
            f".reg .b{piece} {names[place]}; mov.b{whole} {{{', '.join(wanted)}}}, %a; mov.b{piece} %d, {names[place]};"
        )
        np.testing.assert_array_equal(apply(text, f"u{piece}", (f"u{whole}", joined)), part)


def test_register_of_128_bits() -> None:
    a, b = integers("u64", seed=1), integers("u64", seed=2)
    text = ".reg .b128 %x, %y; .reg .b64 %u, %v; mov.b128 %x, {%a, %b}; mov.b128 %y, %x; mov.b128 {%u, %v}, %y;"
    sources = (("u64", a), ("u64", b))
    np.testing.assert_array_equal(apply(f"{text} sub.u64 %d, %v, %u;", "u64", *sources), b - a)


def test_constants() -> None:
    for text, kind, value in (
        ("mov.f32 %d, 0f3FC00000;", "f32", 1.5),
        ("mov.f64 %d, 0d3FF8000000000000;", "f64", 1.5),
        ("mov.u32 %d, -1;", "u32", 0xFFFFFFFF),
        ("mov.b64 %d, 0x123456789abcdef0;", "u64", 0x123456789ABCDEF0),
        ("mov.u16 %d, 65535;", "u16", 65535),
        ("add.f64 %d, 0d3FF0000000000000, 0d3FF0000000000000;", "f64", 2.0),
        ("mov.u32 %d, WARP_SZ;", "u32", 32),
        ("mov.u32 %d, %warpid;", "u32", 0),
        ("mov.u32 %d, %ntid.x;", "u32", 96),
    ):
        assert (apply(text, kind, count=3) == np.array(value, dtype=apply(text, kind, count=3).dtype)).all(), text


def test_lanes() -> None:
    lane = np.arange(96) % 32
    expected = {
        "%laneid": lane,
        "%lanemask_eq": 1 << lane,
        "%lanemask_lt": (1 << lane) - 1,
        "%lanemask_le": (2 << lane) - 1,
        "%lanemask_gt": 0xFFFFFFFF ^ ((2 << lane) - 1),
        "%lanemask_ge": 0xFFFFFFFF ^ ((1 << lane) - 1),
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(apply(f"mov.u32 %d, {name};", "u32", count=96), values, name)


@pytest.mark.parametrize(("name", "bits"), [("%clock", 32), ("%clock64", 64), ("%globaltimer", 64)])
def test_clocks_only_grow(name: str, bits: int) -> None:
    text = (
        f".reg .b{bits} %x, %y; mov.u{bits} %x, {name}; bar.warp.sync -1; mov.u{bits} %y, {name};"
        f"sub.u{bits} %d, %y, %x;"
    )
    passed = apply(text, f"u{bits}", count=96)
    assert (passed > 0).all()
    assert (passed < 100).all()


def test_windows() -> None:
    """What is stored at a shared (or local) address is read at its generic one, and the way back gives it again."""
    values = integers("u32", 96)
    for space, declaration in (
        ("shared", ".shared .align 4 .b32 memory[96];"),
        ("local", ".local .align 4 .b32 memory[96];"),
    ):
        text = f"""
            .reg .b64 %own, %place, %any;
            mov.u64 %own, memory;
            mad.lo.u64 %own, %wide, 4, %own;
            cvta.{space}.u64 %any, %own;
            cvta.to.{space}.u64 %place, %any;
            st.{space}.u32 [%place], %a;
            ld.u32 %d, [%any];
        """
        np.testing.assert_array_equal(apply(text, "u32", ("u32", values), declarations=declaration), values)


@pytest.mark.parametrize("space", ["global", "shared", "local"])
def test_spaces(space: str) -> None:
    declarations = ".shared .align 4 .b32 shared_one[4]; .local .align 4 .b32 local_one[4];"
    source = {
        "global": "ld.param.u64 %x, [p0];",
        "shared": "mov.u64 %x, shared_one;",
        "local": "mov.u64 %x, local_one;",
    }
    text = f".reg .b64 %x; {source[space]} cvta.{space}.u64 %x, %x; isspacep.ASKED %p, %x;"
    for asked in ("global", "shared", "local"):
        found = apply(text.replace("ASKED", asked), "pred", count=4, declarations=declarations)
        assert (found == (asked == space)).all(), asked


@pytest.mark.parametrize(
    "instruction",
    [
        "add.rn.oob.f32 %d, %a, %b;",
        "add.s32 %d, %a;",
        "add.s32 %d, %a, %b, %c, %c;",
        "add.f32 %wide, %a, %b;",
        "mul.s32 %d, %a, %b;",
        "mul.wide.s64 %wide, %wide, %wide;",
        "mad.f32.lo %d, %a, %b, %c;",
        "min.NaN.s32 %d, %a, %b;",
        "div.rn.f16 %d, %a, %b;",
        "tex.1d.v4.f32.s32 {%d, %a, %b, %c}, [0, {%a}];",
        "setp.s32 %p, %a, %b;",
        "setp.lt.and.s32 %p, %a, %b;",
        "setp.ltu.s32 %p, %a, %b;",
        "set.lt.f64.s32 %wide, %a, %b;",
        "lop3.b32 %d, %a, %b, %c, %a;",
        "lop3.or.b32 %d|%p, %a, %b, %c, 1, %q;",
        "prmt.b32.xyz %d, %a, %b, %c;",
        "shfl.down.b32 %d, %a, 1, 31;",
        "vote.ballot.b32 %d, %q;",
        "cvt.rs.f16x2.f32 %d, %a, %b, %c;",
        "cvt.u32.pred %d, %p;",
        "cvt.rn.f32.u64 %d, %a;",
        "cvt.rna.tf32.f64 %d, %wide;",
        "cvt.s32 %d, %a;",
        "cvta.shared.u32 %d, %a;",
        "isspacep.const %p, %wide;",
        "mov.u32 %d, %clock64;",
        "mov.u32 %d, %pm0;",
        "mov.u64 %wide, k;",
        "mov.b32 {%a, %b, %c, %d}, %d;",
        "mov.b32 %d;",
        "popc.b16 %d, %a;",
        "bfe.u16 %d, %a, %b, %c;",
        "redux.sync.min.f64 %d, %a, -1;",
        "selp.b32 %d, %a, %b, %c;",
        "and.b32 %d, %p, %q;",
        "testp.finite.f16 %p, %a;",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%d}, {%a}, {%b}, {%c};",
    ],
)
def test_refused(instruction: str) -> None:
    """By name and line, when the kernel is loaded: not silently, and with no other error."""
    with pytest.raises(PtxError, match=r"line \d+"):
        Kernels(kernel(instruction, "u32", ["u32"] * 3)).program("k")
