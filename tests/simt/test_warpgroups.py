"""wgmma.mma_async against NumPy: every width, type and layout of its matrices."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelbench.build import find_compiler
from kernelbench.simt import Simulation, TensorMap, simulate
from kernelbench.simt.coverage import reason
from tests.simt.harness import Load
from tests.simt.warpgroups import ROWS, Form, ptx, run

FLOATS = {"f16": np.float16, "f32": np.float32}
FORMS = (
    *(Form(n, "f32", "f16", "f16", 128) for n in (8, 64, 136, 256)),
    Form(24, "f16", "f16", "f16", 64),
    Form(32, "f32", "bf16", "bf16", 32),
    Form(40, "f32", "f16", "f16", 0),
    *(Form(64, "f32", "f16", "f16", swizzle, True, True) for swizzle in (0, 32, 64, 128)),
    Form(192, "f32", "bf16", "bf16", 128, False, True),
    Form(16, "f16", "f16", "f16", 128, a_in_registers=True),
    Form(64, "f32", "bf16", "bf16", 64, across_b=True, a_in_registers=True),
    Form(48, "f32", "f16", "f16", 128, signs=(-1, 1)),
    Form(48, "f32", "tf32", "tf32", 128, signs=(1, -1)),
    Form(56, "f32", "tf32", "tf32", 0, a_in_registers=True),
    Form(96, "f32", "e4m3", "e5m2", 128),
    Form(64, "f16", "e5m2", "e5m2", 32, a_in_registers=True),
    Form(64, "s32", "s8", "u8", 128),
    Form(128, "s32", "u8", "u8", 64, a_in_registers=True),
    Form(64, "s32", "s8", "s8", 0, satfinite=True),
    Form(32, "s32", "b1", "b1", 128),
    Form(16, "s32", "b1", "b1", 0, a_in_registers=True),
)


def factor(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """(codes, values) of a random matrix; values are small whole numbers or halves, so that sums are exact."""
    if kind in ("f16", "bf16", "tf32"):
        values = rng.integers(-8, 9, shape) / 2
        if kind == "f16":
            return values.astype(np.float16), values
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits >> 16).astype(np.uint16) if kind == "bf16" else bits | 0xFFF), values  # tf32 ignores low bits
    if kind in ("e4m3", "e5m2"):
        codes = rng.integers(0, 256, shape).astype(np.uint8)
        codes = np.where(codes & 0x7F >= 0x48, codes & 0x8F, codes).astype(np.uint8)  # neither large nor NaN
        fraction, bias = (3, 7) if kind == "e4m3" else (2, 15)
        exponent, rest = (codes & 0x7F).astype(int) >> fraction, (codes & ((1 << fraction) - 1)) / (1 << fraction)
        values = np.where(exponent, (1 + rest) * 2.0 ** (exponent - bias), rest * 2.0 ** (1 - bias))
        return codes, np.where(codes & 0x80, -values, values)
    if kind == "b1":
        found = rng.integers(0, 2, shape).astype(np.uint8)
        return found, found.astype(np.float64)
    whole = rng.integers(*{"s8": (-128, 128), "u8": (0, 256)}[kind], shape)
    return whole.astype({"s8": np.int8, "u8": np.uint8}[kind]), whole.astype(np.float64)


def check(form: Form, rng: np.random.Generator, keeps: bool = True) -> None:
    a, left = factor(form.a, (ROWS, form.k), rng)
    b, right = factor(form.b, (form.n, form.k), rng)
    whole = form.d == "s32"
    x = rng.integers(-100, 100, (ROWS, form.n)).astype(np.int32 if whole else FLOATS[form.d])
    found, done = run(form, a, b, x, keeps)
    assert not done.faults, done.faults
    sums = left * form.signs[0] @ (right * form.signs[1]).T + x * float(keeps)
    expected = np.clip(sums, -(2**31), 2**31 - 1) if whole else sums
    np.testing.assert_array_equal(found, expected.astype(x.dtype))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.instruction.partition(" ")[0].removeprefix("wgmma."))
def test_products(form: Form, rng: np.random.Generator) -> None:
    check(form, rng)


@pytest.mark.parametrize("form", [FORMS[0], FORMS[4], FORMS[-5]])
def test_products_that_replace_the_sums(form: Form, rng: np.random.Generator) -> None:
    check(form, rng, keeps=False)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", range(8, 257, 8))
def test_every_width(n: int, rng: np.random.Generator) -> None:
    check(Form(n, "f32", "f16", "f16", 128), rng)
    check(Form(n, "f16", "e4m3", "e4m3", 64, a_in_registers=True), rng)
    check(Form(n, "s32", "u8", "s8", 32), rng)
    if n % 64 == 0:
        check(Form(n, "f32", "bf16", "bf16", 128, False, True), rng)


def test_sums_are_rounded_once(rng: np.random.Generator) -> None:
    """As for mma.sync: exact products, summed in float64."""
    form = Form(64, "f32", "f16", "f16", 128)
    a, b = (rng.standard_normal((rows, 16)).astype(np.float16) for rows in (ROWS, 64))
    x = rng.standard_normal((ROWS, 64)).astype(np.float32)
    found, _ = run(form, a, b, x)
    exact = a.astype(np.float64) @ b.astype(np.float64).T + x
    np.testing.assert_allclose(found, exact, rtol=2**-24, atol=1e-12)


def test_overflow_saturates(rng: np.random.Generator) -> None:
    form = Form(8, "s32", "u8", "u8", 0, satfinite=True)
    a, b = np.full((ROWS, 32), 255, np.uint8), np.full((8, 32), 255, np.uint8)
    x = np.full((ROWS, 8), 2**31 - 1000, np.int32)
    assert (run(form, a, b, x)[0] == 2**31 - 1).all()
    wraps = run(Form(8, "s32", "u8", "u8", 0), a, b, x)[0]
    assert (wraps == np.int64(2**31 - 1000 + 32 * 255 * 255 - 2**32)).all()


@pytest.mark.nvcc
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.instruction.partition(" ")[0].removeprefix("wgmma."))
def test_ptxas_takes_the_same_forms(form: Form, tmp_path: Path) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(ptx(form))
    ptxas = find_compiler().path.with_name("ptxas")
    command = [ptxas, "-arch=sm_90a", str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.fixture(scope="module")
def gemm(load: Load) -> str:
    return load("warpgroups", "sm_90a").text


def multiplied(gemm: str, rng: np.random.Generator, k: int, opens_early: int = 0) -> tuple[Simulation, NDArray[Any]]:
    a, b = (rng.integers(-4, 5, (rows, k)).astype(np.float16) for rows in (128, 192))
    maps = {name: TensorMap(one, (64, 64), swizzle="128B") for name, one in (("a", a), ("b", b))}
    arrays = {**maps, "c": np.zeros((128, 192), np.float32), "n": np.int32(192), "k": np.int32(k)}
    arrays["early"] = np.int32(opens_early)
    return simulate(gemm, "gemm", (3, 2), 256, arrays, 32768, strict=True), a.astype(np.float32) @ b.T.astype(
        np.float32
    )


@pytest.mark.nvcc
def test_a_product_with_copies_in_the_background(gemm: str, rng: np.random.Generator) -> None:
    done, expected = multiplied(gemm, rng, 320)
    assert not done.faults, done.faults
    np.testing.assert_array_equal(done.outputs["c"], expected)


@pytest.mark.nvcc
def test_a_stage_that_is_overwritten_too_early(gemm: str, rng: np.random.Generator) -> None:
    done, _ = multiplied(gemm, rng, 320, opens_early=1)
    assert "shared_race" in {one.kind for one in done.faults}


# ---- Mistakes ------------------------------------------------------------------------------------

FORM = Form(64, "f32", "f16", "f16", 128)
ONES = np.ones((64, 16), np.float16), np.ones((64, 16), np.float16), np.ones((64, 64), np.float32)


@pytest.mark.parametrize("at", [128, 128 * 7])
def test_a_pattern_that_does_not_start_where_it_repeats(at: int) -> None:
    _, done = run(FORM, *ONES, at_b=(16384 + at) >> 4 | 64 << 32 | 1 << 62)
    (fault,) = done.faults
    assert fault.kind == "matrix_descriptor"
    assert "does not start at a multiple of 256 (32B), 512 (64B) or 1024 bytes (128B)" in fault.text


def test_a_base_offset() -> None:
    _, done = run(FORM, *ONES, at_b=16384 >> 4 | 64 << 32 | 1 << 49 | 1 << 62)
    assert [one.kind for one in done.faults] == ["matrix_descriptor"]


def test_a_step_along_k_stays_in_the_pattern() -> None:
    """As kernels do: 32 bytes further, with the same strides."""
    _, done = run(FORM, *ONES, at_b=(16384 + 96) >> 4 | 64 << 32 | 1 << 62)
    assert not done.faults


def test_a_matrix_outside_shared_memory() -> None:
    _, done = run(FORM, *ONES, at_b=65536 - 4096 >> 4 | 64 << 32 | 1 << 62)
    (fault,) = done.faults
    assert fault.kind == "out_of_bounds_read"
    assert "byte 65536 of 65536 of shared memory" in fault.text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%r1}, %rd1, %rd2, 1, 1, 1, 0, 0;", "this form"),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16 {%r1}, %rd1, %rd2, 1, 1, 1, 0, 0;", "this form"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 {%r1}, %rd1, %rd2, 1, 1, 1, 0, 0;", "this form"),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1}, %rd1, %rd2, 1, 1, 1, 0, 0;",
            "1 registers, expected 4",
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%r1}, %rd1, %rd2, 1, 1, 1, 0, 0;",
            "4 constants, expected 2",
        ),
        ("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%r1}, %rd1, %rd2, %r2, 0, 1, 1, 1, 0, 0;", "this form"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    assert why in reason(text)
