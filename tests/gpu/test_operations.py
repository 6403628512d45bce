"""Single PTX instructions give on this GPU what they give in the simulator: bit for bit where the manual defines the
bits, near where it promises an approximation. A NaN is a NaN."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.simt.harness import Kernels
from tests.simt.operations import BLOCK, DTYPES, Array, floats, integers, kernel, numbers, pairs

INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")
COUNT = 2000
ANY = (1 << 32) - 1


@dataclass(frozen=True)
class Trial:
    text: str
    result: str
    sources: tuple[str, ...]
    units: float = 0.0  # in the last place, of approximations
    counts: int = 0  # if not 0, sources after the first are counts and places up to this

    def __str__(self) -> str:
        return self.text.rpartition("; ")[2].partition(" ")[0]


def arithmetic() -> Iterator[Trial]:
    for kind in INTEGERS:
        for name in ("add", "sub", "mul.lo", "mul.hi", "min", "max"):
            yield Trial(f"{name}.{kind} %d, %a, %b;", kind, (kind, kind))
        for name in ("mad.lo", "mad.hi", "sad"):
            yield Trial(f"{name}.{kind} %d, %a, %b, %c;", kind, (kind,) * 3)
        # By 0, too: there the manual leaves the result open, and machine code makes all ones.
        yield Trial(f"div.{kind} %d, %a, %b;", kind, (kind, kind))
        yield Trial(f"rem.{kind} %d, %a, %b;", kind, (kind, kind))
    yield Trial("div.u32 %d, %a, 0;", "u32", ("u32",))
    yield Trial("rem.u32 %d, %a, 0;", "u32", ("u32",))
    for kind in ("s16", "s32", "s64"):
        yield Trial(f"abs.{kind} %d, %a;", kind, (kind,))
        yield Trial(f"neg.{kind} %d, %a;", kind, (kind,))
    for kind in ("u32", "s32"):
        for name in ("mul24.lo", "mul24.hi"):
            yield Trial(f"{name}.{kind} %d, %a, %b;", kind, (kind, kind))
        for other in ("u32", "s32"):
            for name in ("dp4a", "dp2a.lo", "dp2a.hi"):
                yield Trial(f"{name}.{kind}.{other} %d, %a, %b, %c;", "u32", ("u32",) * 3)
    for text in ("add.sat.s32 %d, %a, %b;", "sub.sat.s32 %d, %a, %b;", "max.s16x2 %d, %a, %b;", "min.u16x2 %d, %a, %b;",
                 "max.relu.s16x2 %d, %a, %b;", "add.u16x2 %d, %a, %b;"):  # fmt: skip
        yield Trial(text, "s32", ("s32", "s32"))


def bits() -> Iterator[Trial]:
    for width in (16, 32, 64):
        for name in (f"shl.b{width}", f"shr.u{width}", f"shr.s{width}"):
            yield Trial(f"{name} %d, %a, %b;", f"u{width}", (f"u{width}", "u32"), counts=ANY)
    for width in (32, 64):
        # The manual restricts places and counts of fields to 255, and takes the low 8 bits of larger ones. Machine code
        # does so for 32 bits; for 64 it shifts by all of the register.
        most = ANY if width == 32 else 255
        for kind in (f"u{width}", f"s{width}"):
            yield Trial(f"bfe.{kind} %d, %a, %b, %c;", kind, (kind, "u32", "u32"), counts=most)
            yield Trial(f"bfind.{kind} %d, %a;", "u32", (kind,))
            yield Trial(f"bfind.shiftamt.{kind} %d, %a;", "u32", (kind,))
        text = f"not.b{width} %d, %a; bfi.b{width} %d, %a, %d, %b, %c;"  # other bits than those around them
        yield Trial(text, f"u{width}", (f"u{width}", "u32", "u32"), counts=most)
        for name in ("popc", "clz"):
            yield Trial(f"{name}.b{width} %d, %a;", "u32", (f"u{width}",))
        yield Trial(f"brev.b{width} %d, %a;", f"u{width}", (f"u{width}",))
    for name in ("shf.l.wrap", "shf.r.wrap", "shf.l.clamp", "shf.r.clamp"):
        yield Trial(f"{name}.b32 %d, %a, %c, %b;", "u32", ("u32",) * 3, counts=ANY)
    for mode in ("wrap", "clamp"):
        yield Trial(f"bmsk.{mode}.b32 %d, %b, %c;", "u32", ("u32",) * 3, counts=ANY)
        yield Trial(f"szext.{mode}.u32 %d, %a, %b;", "u32", ("u32", "u32"), counts=ANY)
        yield Trial(f"szext.{mode}.s32 %d, %a, %b;", "s32", ("s32", "u32"), counts=ANY)
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield Trial(f"prmt.b32{mode} %d, %a, %b, %c;", "u32", ("u32",) * 3)
    yield Trial("lop3.b32 %d, %a, %b, %c, 0xd8;", "u32", ("u32",) * 3)


def floating() -> Iterator[Trial]:
    for kind in ("f32", "f64"):
        for direction in ("rn", "rz", "rm", "rp"):
            for name in ("add", "sub", "mul", "div"):
                yield Trial(f"{name}.{direction}.{kind} %d, %a, %b;", kind, (kind, kind))
            yield Trial(f"fma.{direction}.{kind} %d, %a, %b, %c;", kind, (kind,) * 3)
            for name in ("sqrt", "rcp"):
                yield Trial(f"{name}.{direction}.{kind} %d, %a;", kind, (kind,))
    for name in ("add", "sub", "mul", "div"):
        yield Trial(f"{name}.rn.ftz.f32 %d, %a, %b;", "f32", ("f32", "f32"))
    yield Trial("fma.rn.ftz.f32 %d, %a, %b, %c;", "f32", ("f32",) * 3)
    yield Trial("fma.rn.ftz.sat.f32 %d, %a, %b, %c;", "f32", ("f32",) * 3)
    for kind in ("f16", "bf16"):
        for name in ("add", "sub", "mul"):
            yield Trial(f"{name}.rn.{kind} %d, %a, %b;", kind, (kind, kind))
            yield Trial(f"{name}.rn.{kind}x2 %d, %a, %b;", f"{kind}x2", (f"{kind}x2",) * 2)
        for words in ("", ".relu"):
            yield Trial(f"fma.rn{words}.{kind} %d, %a, %b, %c;", kind, (kind,) * 3)
            yield Trial(f"fma.rn{words}.{kind}x2 %d, %a, %b, %c;", f"{kind}x2", (f"{kind}x2",) * 3)
    for text in ("add.rn.sat.f16", "add.rn.ftz.f16", "mul.rn.ftz.f16", "max.ftz.f16"):
        yield Trial(f"{text} %d, %a, %b;", "f16", ("f16", "f16"))
    for kind in FLOATS:
        for name in ("min", "max"):
            yield Trial(f"{name}.{kind} %d, %a, %b;", kind, (kind, kind))
            if kind != "f64":
                yield Trial(f"{name}.NaN.{kind} %d, %a, %b;", kind, (kind, kind))
                yield Trial(f"{name}.xorsign.abs.{kind} %d, %a, %b;", kind, (kind, kind))


def approximate() -> Iterator[Trial]:
    for name in ("ex2", "rcp", "rsqrt", "sqrt"):
        yield Trial(f"{name}.approx.f32 %d, %a;", "f32", ("f32",), units=2)
        yield Trial(f"{name}.approx.ftz.f32 %d, %a;", "f32", ("f32",), units=2)
    yield Trial("div.full.f32 %d, %a, %b;", "f32", ("f32", "f32"), units=3)
    yield Trial("div.approx.f32 %d, %a, %b;", "f32", ("f32", "f32"), units=3)
    yield Trial("div.approx.ftz.f32 %d, %a, %b;", "f32", ("f32", "f32"), units=3)
    yield Trial("tanh.approx.f32 %d, %a;", "f32", ("f32",), units=2.0**13)
    yield Trial("tanh.approx.f16 %d, %a;", "f16", ("f16",), units=2)
    yield Trial("ex2.approx.f16 %d, %a;", "f16", ("f16",), units=1)


def of_integers() -> Iterator[Trial]:
    for source in (*INTEGERS, "u8", "s8"):
        for result in INTEGERS:
            to, of = (np.iinfo(DTYPES[kind]) for kind in (result, source))
            if of.min < to.min or of.max > to.max:  # else there is nothing to saturate, and ptxas refuses it
                yield Trial(f"cvt.sat.{result}.{source} %d, %a;", result, (source,))
            yield Trial(f"cvt.{result}.{source} %d, %a;", result, (source,))
        for result in ("f16", "f32", "f64"):
            for direction in ("rn", "rz", "rm", "rp"):
                yield Trial(f"cvt.{direction}.{result}.{source} %d, %a;", result, (source,))


def conversions() -> Iterator[Trial]:
    for source in ("f16", "f32", "f64"):
        for result in INTEGERS:
            for direction in ("rni", "rzi", "rmi", "rpi"):
                yield Trial(f"cvt.{direction}.{result}.{source} %d, %a;", result, (source,))
    for result, source in (("f16", "f32"), ("f32", "f64"), ("f16", "f64")):
        for direction in ("rn", "rz", "rm", "rp"):
            yield Trial(f"cvt.{direction}.{result}.{source} %d, %a;", result, (source,))
    for text, result in (("rn.bf16", "bf16"), ("rz.bf16", "bf16"), ("rna.tf32", "tf32"),
                         ("rna.satfinite.tf32", "tf32"), ("rn.relu.f16", "f16"),
                         ("rn.relu.bf16", "bf16"), ("rn.sat.f16", "f16"), ("sat.f32", "f32"), ("rpi.ftz.s32", "s32"),
                         ("rni.f32", "f32"), ("rmi.f32", "f32"), ("rmi.ftz.f32", "f32")):  # fmt: skip
        yield Trial(f"cvt.{text}.f32 %d, %a;", result, ("f32",))
    for text, result in (("rn.f16x2", "f16x2"), ("rn.bf16x2", "bf16x2"), ("rz.relu.bf16x2", "bf16x2"),
                         ("rn.satfinite.e4m3x2", "u16"), ("rn.satfinite.e5m2x2", "u16")):  # fmt: skip
        yield Trial(f"cvt.{text}.f32 %d, %a, %b;", result, ("f32", "f32"))
    for kind in ("e4m3", "e5m2"):
        yield Trial(f"cvt.rn.f16x2.{kind}x2 %d, %a;", "f16x2", ("u16",))


def comparisons() -> Iterator[Trial]:
    names = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    for kind in FLOATS:
        for name in names:
            yield Trial(f"setp.{name}.{kind} %p, %a, %b;", "pred", (kind, kind))
    yield Trial("setp.lt.ftz.f32 %p, %a, %b;", "pred", ("f32", "f32"))
    yield Trial("slct.f32.f32 %d, %a, %b, %c;", "f32", ("f32",) * 3)
    for name in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        yield Trial(f"testp.{name}.f32 %p, %a;", "pred", ("f32",))


TRIALS = [*arithmetic(), *bits(), *floating(), *approximate(), *of_integers(), *conversions(), *comparisons()]
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}


def source(kind: str, seed: int, counts: int) -> Array:
    if counts:
        generator = np.random.default_rng([17, seed])
        values = [value for value in (*range(70), 255, 256, 1 << 31, ANY) if value <= counts]
        return generator.choice(np.array(values, np.uint32), COUNT)
    if kind in PAIRS:
        return pairs(floats(PAIRS[kind], COUNT, seed), floats(PAIRS[kind], COUNT, seed + 20))
    return floats(kind, COUNT, seed) if kind in FLOATS else integers(kind, COUNT, seed)


def plain(kind: str) -> str:
    """The type of array that a kind is kept in."""
    return "pair" if kind in PAIRS else kind


def assert_near(kind: str, found: Array, expected: Array, units: float) -> None:
    if kind in PAIRS:
        kind = PAIRS[kind]
        found, expected = (one.view(np.uint16).view(DTYPES[kind]) for one in (found, expected))
    if kind not in FLOATS:
        np.testing.assert_array_equal(found, expected)
        return
    a, b = numbers(kind, found), numbers(kind, expected)
    same = (np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))
    with np.errstate(invalid="ignore", over="ignore"):
        spacing = np.spacing(np.abs(expected)).astype(np.float64) if kind != "bf16" else np.zeros(len(b))
        near = np.abs(a - b) <= units * spacing if units else np.zeros(len(b), bool)
    wrong = np.flatnonzero(~(same | near))
    assert not wrong.size, [(int(i), a[i], b[i]) for i in wrong[:5]]


def on_gpu(cupy: Any, ptx: str, folder: Path, target: Array, sources: list[Array]) -> Array:
    path = folder / "k.ptx"
    path.write_text(ptx)
    function = cupy.RawModule(path=str(path)).get_function("k")
    result = cupy.asarray(target)
    arguments = (result, *map(cupy.asarray, sources), np.uint32(len(target)))
    function((-(-len(target) // BLOCK),), (BLOCK,), arguments)
    found: Array = result.get()
    return found


@pytest.mark.gpu
@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_the_same_as_in_the_simulator(trial: Trial, device: Any, tmp_path: Path) -> None:
    import cupy

    kinds = [plain(kind) for kind in trial.sources]
    arrays = [
        np.ascontiguousarray(source(kind, number, trial.counts if number else 0), DTYPES[plain(kind)])
        for number, kind in enumerate(trial.sources)
    ]
    ptx = kernel(trial.text, plain(trial.result), kinds, target="sm_90")
    target = np.zeros(COUNT, DTYPES[plain(trial.result)])
    found = on_gpu(cupy, ptx, tmp_path, target, arrays)
    Kernels(ptx).run("k", -(-COUNT // BLOCK), BLOCK, target, *arrays, np.uint32(COUNT), strict=False)
    assert_near(trial.result, found, target, trial.units)


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_the_simulator_knows_it(trial: Trial) -> None:
    """Holds where there is no GPU, too."""
    kinds = [plain(kind) for kind in trial.sources]
    Kernels(kernel(trial.text, plain(trial.result), kinds, target="sm_90")).program("k")
