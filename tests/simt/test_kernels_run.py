"""Whole kernels, from CUDA source through nvcc and the simulator, against NumPy; with the strict checks on,
under which a correct kernel must raise no fault."""

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.simt.bfloats import bfloat, widened
from tests.simt.harness import Kernels, Load

pytestmark = pytest.mark.nvcc

ARCHITECTURES = ("sm_90", *(pytest.param(one, marks=pytest.mark.exhaustive) for one in ("sm_75", "sm_80", "sm_100")))


def compiled(stem: str) -> Any:
    return pytest.fixture(lambda load: load(stem))


STEMS = ("basics", "control", "atomics", "types", "blocks", "asynchronous")
basics, control, atomics, types, blocks, asynchronous = map(compiled, STEMS)


@pytest.mark.parametrize("count", [1, 31, 1000])
def test_saxpy(basics: Kernels, rng: np.random.Generator, count: int) -> None:
    x, y = rng.standard_normal((2, count)).astype(np.float32)
    expected = (np.float64(np.float32(1.7)) * x + y).astype(np.float32)  # fma: one rounding
    basics.run("saxpy", -(-count // 128), 128, np.int32(count), np.float32(1.7), x, y)
    np.testing.assert_array_equal(y, expected)


def test_three_axes(basics: Kernels) -> None:
    out = np.zeros((4, 3, 2, 5, 3, 7), np.int32)
    basics.run("three_axes", (2, 3, 4), (7, 3, 5), out)
    z, _, _, k, j, i = np.indices(out.shape)
    np.testing.assert_array_equal(out, i + 100 * j + 10000 * k + 1000000 * z)


@pytest.mark.parametrize(("entry", "wavefronts"), [("transpose_unpadded", 32), ("transpose_padded", 1)])
def test_transpose(basics: Kernels, rng: np.random.Generator, entry: str, wavefronts: int) -> None:
    x, y = rng.standard_normal((96, 96)).astype(np.float32), np.zeros((96, 96), np.float32)
    report = basics.run(entry, (3, 3), (32, 8), x, y, np.int32(96))
    np.testing.assert_array_equal(y, x.T)
    counters = report.counters
    assert counters.shared_load_requests == counters.shared_store_requests == 9 * 32
    assert counters.shared_load_wavefronts == 9 * 32 * wavefronts
    assert counters.global_load_sectors == 9 * 32 * 4


@pytest.mark.parametrize("entry", ["sum_modulo", "sum_strided", "sum_sequential", "sum_last_warp", "sum_shuffle"])
def test_sums(basics: Kernels, rng: np.random.Generator, entry: str) -> None:
    x, partial = rng.standard_normal(1500).astype(np.float32), np.zeros(6, np.float32)
    basics.run(entry, 6, 256, x, partial, np.int32(1500), shared=1024)
    padded = np.concatenate([x, np.zeros(36, np.float32)]).astype(np.float64)
    np.testing.assert_allclose(partial, padded.reshape(6, 256).sum(1), rtol=1e-5, atol=1e-5)


def test_cooperative_groups(basics: Kernels, rng: np.random.Generator) -> None:
    x, total = rng.integers(-99, 99, 1000).astype(np.int32), np.zeros(1, np.int32)
    basics.run("sum_tiled", 8, 128, x, total, np.int32(1000))
    assert total[0] == x.sum()


def softmax(x: NDArray[np.float32]) -> NDArray[np.float64]:
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


@pytest.mark.parametrize(
    ("entry", "shape", "grid", "block", "argument", "shared"),
    [("softmax_warp", (10, 128), 3, (32, 4), 10, 0), ("softmax_block", (5, 700), 5, 128, 700, 700 * 4)],
)
def test_softmax(
    basics: Kernels, rng: np.random.Generator, entry: str, shape: Any, grid: int, block: Any, argument: int, shared: int
) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    y = np.zeros_like(x)
    basics.run(entry, grid, block, x, y, np.int32(argument), shared=shared)
    np.testing.assert_allclose(y, softmax(x), rtol=1e-6 if entry == "softmax_warp" else 2e-6)


def collatz(i: int, value: int) -> int:
    done = 0
    while value > 1:
        value, done = (3 * value + 1 if value % 2 else value // 2), done + 1
    return done


def dense_switch(i: int, value: int) -> int:
    cases = (i * 3, i ^ 0x55, i // 7, i.bit_count(), 32 - (i + 1).bit_length(), math.isqrt(i), i % 13 + 1)
    return cases[min(value, 6)] if 0 <= value <= 7 else -1


def early_ways_out(i: int, value: int) -> int:
    sum_ = 0
    for k in range(20):
        if k == value:
            break
        if (k + i) % 3 == 0:
            continue
        if sum_ > 60:
            return -sum_
        sum_ += k
    return sum_


def recursion_free_goto(i: int, value: int) -> int:
    """A loop with two entries."""
    sum_, at_middle = 0, bool(value & 1)
    while True:
        if not at_middle:
            sum_, value = sum_ + 10, value - 3
        at_middle = False
        sum_, value = sum_ + 1, value - 2
        if value <= 0:
            return sum_


@pytest.mark.parametrize(
    ("expected", "low", "high", "count"),
    [(collatz, 1, 5000, 200), (dense_switch, -2, 10, 500), (early_ways_out, 0, 25, 300),
     (recursion_free_goto, 0, 60, 100)],
)  # fmt: skip
def test_branches(
    control: Kernels, rng: np.random.Generator, expected: Callable[[int, int], int], low: int, high: int, count: int
) -> None:
    x, y = rng.integers(low, high, count).astype(np.int32), np.zeros(count, np.int32)
    report = control.run(expected.__name__, -(-count // 128), 128, x, y, np.int32(count))
    np.testing.assert_array_equal(y, [expected(i, int(value)) for i, value in enumerate(x)])
    assert expected is not collatz or report.counters.divergent_branches > 0


def test_local_array(control: Kernels, rng: np.random.Generator) -> None:
    x, y = rng.integers(0, 100, 70).astype(np.int32), np.zeros(70, np.int32)
    report = control.run("local_array", 1, 96, x, y, np.int32(70))
    for i, value in enumerate(x):
        heap = [(k * 7 + i) % 31 for k in range(16)]
        for k in range(16):
            heap[(value + k) % 16] += heap[(k * 5) % 16]
        assert y[i] == heap[value % 16]
    assert report.counters.local_load_requests > 0
    assert report.counters.local_store_sectors > 0


def test_variables_of_the_module(control: Kernels, rng: np.random.Generator) -> None:
    x, y = rng.integers(0, 100, 50).astype(np.int32), np.zeros(51, np.float32)
    counters = control.run("constants", 1, 64, x, y, np.int32(50)).counters
    table = np.array([1.5, -2, 3.25, 0, 8, -0.5, 100, 7], np.float32)
    expected = table[x & 7] + np.array([0.1, 0.2, 0.3])[np.arange(50) % 3].astype(np.float32)
    np.testing.assert_allclose(y[:50], expected, rtol=1e-6)
    assert y[50] == 42
    assert counters.global_load_requests == 2 + 2 + 1, "x and doubles by two warps, the counter by one; no constants"


def test_calls_with_structs(control: Kernels) -> None:
    coefficients, y = np.array([1, 2, 3, 4.5], np.float32), np.zeros(64, np.float32)
    pair = struct.pack("<i4xd6h4x", 5, 7.0, 1, 2, 3, 4, 5, 6)
    control.run("calls", 2, 32, pair, y, coefficients, np.int32(4))
    horner = 0.0
    for one in coefficients:
        horner = horner * 0.5 + float(one)
    for i in range(64):
        first, second, more = 7 + i, 5.0, [6, 5, 4, 3, 2, 1]
        if i % 2:
            first, second, more = int(second) + 1, float(first), more[::-1]
        assert y[i] == np.float32(first + 1000 * second + more[i % 6] + horner)


def test_array_in_a_parameter_and_its_address(control: Kernels) -> None:
    extent, stride = np.arange(3, 11, dtype=np.int32), 10 ** np.arange(8, dtype=np.int64)
    packed, y = extent.tobytes() + stride.tobytes(), np.zeros(32, np.int64)
    control.run("parameter_array", 1, 32, packed, y, np.int32(5))
    np.testing.assert_array_equal(y, [sum(extent[k] * stride[(k + t) % 8] for k in range(5)) for t in range(32)])
    control.run("grid_constant", 1, 32, packed, y, np.int32(3))
    np.testing.assert_array_equal(y, stride[(3 + np.arange(32)) % 8])


def test_barriers_that_count(control: Kernels, rng: np.random.Generator) -> None:
    x, y = rng.integers(-9, 95, (7, 96)).astype(np.int32), np.zeros((7, 3), np.int32)
    control.run("votes_of_block", 7, 96, x, y)
    np.testing.assert_array_equal(y, np.stack([(x > 0).sum(1), (x > -5).all(1), (x > 90).any(1)], 1))


def test_named_barriers(control: Kernels, rng: np.random.Generator) -> None:
    x, y = rng.integers(0, 1000, (6, 64)).astype(np.int32), np.zeros((6, 64), np.int32)
    control.run("named_barriers", 1, 128, x, y, np.int32(6))
    np.testing.assert_array_equal(y, 2 * x[:, ::-1])


def test_failed_assertion(control: Kernels) -> None:
    x = np.arange(64, dtype=np.int32)
    assert control.run("asserted", 1, 64, x, np.int32(64)).faults == ()
    x[40] = -1
    (fault,) = control.run("asserted", 1, 64, x, np.int32(64), faulty=True).faults
    assert "control.cu:" in fault
    assert "warp 1 lane 8" in fault


def test_trap(control: Kernels) -> None:
    (fault,) = control.run("trapped", 1, 32, np.arange(32, dtype=np.int32), faulty=True).faults
    assert "lane 7" in fault


def test_pack_of_arguments(control: Kernels) -> None:
    y = np.zeros(32, np.int32)
    control.run("chosen", 1, 32, y)
    np.testing.assert_array_equal(y, np.tile([3, 1, 4, 1, 5, 9, 2, 6], 4))


@pytest.mark.parametrize(("entry", "grid"), [("histogram_global", 16), ("histogram_shared", 3)])
def test_histogram(atomics: Kernels, rng: np.random.Generator, entry: str, grid: int) -> None:
    x, bins = (rng.integers(0, 16, 2000) ** 2).astype(np.uint8), np.zeros(256, np.uint32)
    report = atomics.run(entry, grid, 128, x, bins, np.int32(2000))
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=256))
    assert report.counters.global_atomic_requests > 0
    assert (report.counters.shared_atomic_requests > 0) == (entry == "histogram_shared")


def test_compare_and_swap_in_a_loop(atomics: Kernels, rng: np.random.Generator) -> None:
    x, most = rng.uniform(0, 9, 300).astype(np.float32), np.zeros(1, np.float32)
    atomics.run("max_by_cas", 3, 128, x, most, np.int32(300))
    assert most[0] == x.max()


def test_every_atomic(atomics: Kernels, rng: np.random.Generator) -> None:
    x = rng.integers(-50, 50, 40).astype(np.int32)
    y, u, w = np.zeros(64, np.int32), np.zeros(4, np.uint32), np.zeros(3, np.uint64)
    y[4], u[0], w[2] = -1, 2**32 - 1, 5
    f, d = np.zeros(1, np.float32), np.zeros(1, np.float64)
    atomics.run("every_atomic", 1, 40, x, y, u, w, f, d)
    before = np.concatenate([[0], np.cumsum(x)[:-1]])
    np.testing.assert_array_equal(y[16:56], before)  # lanes in order, warps in order
    expected = [x.sum(), -x.sum(), min(0, x.min()), max(0, x.max())]
    expected += [np.bitwise_and.reduce(x), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x), x[-1]]
    np.testing.assert_array_equal(y[:8], expected)
    unsigned = x.astype(np.uint32)
    count_up = count_down = 0
    for _ in x:
        count_up = 0 if count_up >= 20 else count_up + 1
        count_down = 20 if count_down == 0 or count_down > 20 else count_down - 1
    np.testing.assert_array_equal(u, [unsigned.min(), unsigned.max(), count_up, count_down])
    total = sum(int(value) * 1000003 for value in x) % 2**64
    np.testing.assert_array_equal(w, np.array([total, max(0, int(x.max()) << 33), 77], np.uint64))
    assert (f[0], d[0]) == (x.sum(), x.sum() * 0.25)


def test_last_block_adds_up(atomics: Kernels, rng: np.random.Generator) -> None:
    x = rng.standard_normal(2000).astype(np.float32)
    partial, total = np.zeros(8, np.float32), np.zeros(1, np.float32)
    atomics.run("sum_last_block", 8, 256, x, partial, total, np.int32(2000))
    assert total[0] == pytest.approx(x.astype(np.float64).sum(), rel=1e-4, abs=1e-4)


def test_spin_lock(atomics: Kernels) -> None:
    count = np.zeros(1, np.int32)
    atomics.run("spin_lock", 10, 64, count, np.int32(5))
    assert count[0] == 50


def test_blocks_in_turn(atomics: Kernels) -> None:
    order = np.zeros(12, np.int32)
    atomics.run("in_turn", 12, 32, order)
    np.testing.assert_array_equal(order, np.arange(12) ** 2)


def test_atomics_of_the_standard_library(atomics: Kernels) -> None:
    y, flag = np.zeros(1, np.int32), np.zeros(1, np.int32)
    atomics.run("standard_atomics", 1, 64, y, flag)
    assert (y[0], flag[0]) == (2016, 2016)


def test_generic_atomic(atomics: Kernels) -> None:
    y = np.zeros(5, np.int32)
    atomics.run("generic_atomic", 4, 32, y, np.int32(0))
    np.testing.assert_array_equal(y, [2 * 496, 0, 496, 0, 496])


def test_atomics_of_16_bits(atomics: Kernels, rng: np.random.Generator) -> None:
    x = rng.integers(-4, 5, (32, 2)).astype(np.float16)  # all sums are exact
    pair, half, brain = np.zeros(2, np.float16), np.zeros(1, np.float16), np.zeros(1, np.uint16)
    atomics.run("narrow_atomics", 1, 32, x, pair, half, brain)
    np.testing.assert_array_equal(pair, x.sum(0))
    assert half[0] == x[:, 0].sum()
    assert widened(brain)[0] == x[:, 1].sum()


def test_half_packs(types: Kernels, rng: np.random.Generator) -> None:
    x = rng.standard_normal(8 * 50).astype(np.float16)
    y = np.zeros_like(x)
    types.run("half_packs", 1, 64, x, y, np.int32(50))
    np.testing.assert_array_equal(y, (x.astype(np.float64) * 2 + 1).astype(np.float16))


def test_half(types: Kernels, rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal((2, 100)) * 5).astype(np.float16)
    out = np.zeros((4, 100), np.float16)
    types.run("half_mix", 1, 128, a, b, out, np.int32(100))
    product = (a + b) * (a - b)
    np.testing.assert_array_equal(out[0], np.maximum(np.where(a > b, product, -product), np.minimum(a, b)))
    np.testing.assert_allclose(out[1], a.astype(np.float64) / b, rtol=2**-10)
    np.testing.assert_array_equal(out[2], (a.astype(np.float32) * 3).astype(np.float16))
    np.testing.assert_array_equal(out[3], np.trunc(a))


def test_bfloat(types: Kernels, rng: np.random.Generator) -> None:
    x, y = (bfloat((rng.standard_normal(100) * 5).astype(np.float32)) for _ in range(2))
    out, a, b = np.zeros((6, 100), np.uint16), widened(x), widened(y)
    types.run("bfloat_mix", 1, 128, x, y, out, np.int32(100))
    expected = [bfloat(a + b), bfloat(a * b), bfloat(a * 3), np.where(a > b, x, y), bfloat(a * b), bfloat(b * b)]
    np.testing.assert_array_equal(out, expected)


def test_half_sums(types: Kernels, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((6, 64)).astype(np.float16), np.zeros(6, np.float32)
    types.run("half_sums", 6, 32, x, y)
    np.testing.assert_allclose(y, x.astype(np.float64).sum(1), atol=0.05)


def signed(value: int, bits: int = 64) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def long_integers(a: int, b: int) -> list[int]:
    u, w = a % 2**64, b % 2**64
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    shifts = signed(a << (b & 63)) ^ (a >> (b & 31)) ^ (u >> (b & 63))
    first_bit = (u & -u).bit_length()
    reversed_low = int(f"{u:064b}"[::-1], 2) & 0xFF
    counts = 64 - u.bit_length() + 100 * w.bit_count() + 10000 * first_bit + reversed_low * 1000000
    mixed = (u * w >> 64) + signed(a, 32) + signed(b, 16) + signed(a, 8)
    values = [quotient, a - quotient * b, u // w, a * b, a * b >> 64, u * w >> 64, shifts, counts]
    return [signed(value) for value in (*values, (a < b) + 2 * (u < w) + 4 * (a == b), mixed)]


def test_long_integers(types: Kernels, rng: np.random.Generator) -> None:
    a, b = rng.integers(-(2**63), 2**63, (2, 90), dtype=np.int64)
    a[:30] >>= 40
    b[10:50] >>= 33
    b[b == 0] = 3
    a[:3], b[:3] = [0, -1, 7], [1, -1, 7]
    out = np.zeros((10, 90), np.int64)
    types.run("long_integers", 1, 96, a, b, out, np.int32(90))
    expected = [long_integers(int(one), int(other)) for one, other in zip(a, b, strict=True)]
    np.testing.assert_array_equal(out, np.array(expected, np.int64).T)


def lanes(value: int, bits: int) -> list[int]:
    return [signed(value >> shift, bits) for shift in range(0, 32, bits)]


def packed(values: list[int], bits: int) -> int:
    return sum((value & ((1 << bits) - 1)) << (bits * k) for k, value in enumerate(values))


def integers(a: int, b: int) -> list[int]:
    u, w = a % 2**32, b % 2**32
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    left = ((w << 32 | u) << (w & 31)) >> 32
    right = (w << 32 | u) >> (u & 31)
    octets = u.to_bytes(4, "little") + w.to_bytes(4, "little")
    permuted = sum(octets[(0x6145 >> (4 * k)) & 7] << (8 * k) for k in range(4))
    added = packed([x + y for x, y in zip(lanes(a, 8), lanes(b, 8), strict=True)], 8)
    most = packed([max(x, y) for x, y in zip(lanes(a, 16), lanes(b, 16), strict=True)], 16)
    dot = sum(x * y for x, y in zip(lanes(a, 8), lanes(b, 8), strict=True)) + 1
    rounded = int(np.rint(np.float32(a)))
    values = [quotient, a - quotient * b, u // w, (a * b >> 32) + (u * w >> 32), left ^ right]
    values += [permuted + abs(a - b) + 3, min(a, b) ^ max(u, w) ^ abs(a), added ^ most ^ dot]
    values += [int(f"{u:032b}"[::-1], 2) ^ (w & -w).bit_length() ^ min(rounded, 2**31 - 1)]
    return [signed(value, 32) for value in (*values, (u & 0xFF) * signed(b, 8) + signed(a, 16))]


def test_integers(types: Kernels, rng: np.random.Generator) -> None:
    a, b = rng.integers(-(2**31), 2**31, (2, 90), dtype=np.int64).astype(np.int32)
    a[:30] >>= 20
    b[10:50] >>= 18
    b[b == 0] = 3
    out = np.zeros((10, 90), np.int32)
    types.run("integers", 1, 96, a, b, out, np.int32(90))
    expected = np.array([integers(int(one), int(other)) for one, other in zip(a, b, strict=True)], np.int64)
    np.testing.assert_array_equal(out, expected.T.astype(np.int32))


def test_libm_in_float(types: Kernels, rng: np.random.Generator) -> None:
    x = (rng.standard_normal(200) * 3).astype(np.float32)
    out = np.zeros((18, 200), np.float32)
    types.run("libm_float", 2, 128, x, out, np.int32(200))
    v = x.astype(np.float64)
    p = np.abs(v)
    expected = [np.exp(v), np.log(p), np.sin(v), np.cos(v), np.tanh(v), p ** np.float64(np.float32(1.7))]
    expected += [[math.erf(one) for one in v], np.sqrt(p), 1 / np.sqrt(p), np.cbrt(v), np.arctan2(v, 0.5)]
    expected += [np.fmod(v, np.float64(np.float32(0.3))), np.expm1(v), np.log1p(p), np.trunc(v + np.copysign(0.5, v))]
    expected += [np.floor(v), v / 3, [math.lgamma(one + 0.5) for one in p]]
    np.testing.assert_allclose(out, expected, rtol=3e-6, atol=2e-6)


def test_libm_in_double(types: Kernels, rng: np.random.Generator) -> None:
    v = rng.standard_normal(120) * 3
    out, p = np.zeros((18, 120)), np.abs(v)
    types.run("libm_double", 1, 128, v, out, np.int32(120))
    expected = [np.exp(v), np.log(p), np.sin(v), np.cos(v), np.tanh(v), p**1.7, [math.erf(one) for one in v]]
    expected += [np.sqrt(p), 1 / np.sqrt(p), np.cbrt(v), np.fmod(v, 0.3), v / 3, 1 / v, v * v + 1, np.rint(v)]
    expected += [v.astype(np.float32), np.trunc(v), np.trunc(v * 1e6)]
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-14)


def test_large_angles(types: Kernels, rng: np.random.Generator) -> None:
    x = rng.uniform(-900, 900, 64).astype(np.float32)
    out = np.zeros_like(x)
    types.run("dynamic_angles", 1, 64, x, out, np.int32(64))
    np.testing.assert_allclose(out, np.sin((x * np.float32(1e6)).astype(np.float64)), atol=2e-6)


@pytest.mark.parametrize(
    ("entry", "shape", "most", "expected"),
    [("block_reduce", (5, 128), 99, lambda x: x.sum(1)), ("block_scan", (5, 128), 99, lambda x: np.cumsum(x, 1)),
     ("block_sort", (3, 512), 2**31, lambda x: np.sort(x, 1))],
)  # fmt: skip
def test_cub(
    blocks: Kernels, rng: np.random.Generator, entry: str, shape: Any, most: int, expected: Callable[[Any], Any]
) -> None:
    x = rng.integers(-most, most, shape).astype(np.int32)
    y = np.zeros_like(expected(x), np.int32)
    blocks.run(entry, shape[0], 128, x, y)
    np.testing.assert_array_equal(y, expected(x))


def test_warp_reduce(blocks: Kernels, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((3, 4, 32)).astype(np.float32), np.zeros((3, 4), np.float32)
    blocks.run("warp_reduce", 3, 128, x, y)
    np.testing.assert_array_equal(y, x.max(2))


def test_pipeline(asynchronous: Kernels, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 5, 128, 4)).astype(np.float32)
    y = np.zeros_like(x)
    asynchronous.run("pipeline", 2, 128, x, y, np.int32(5))
    np.testing.assert_array_equal(y, 2 * x[:, :, ::-1])


def test_copy_with_a_zero_filled_tail(asynchronous: Kernels, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal(53).astype(np.float32), np.full(128, 9, np.float32)
    asynchronous.run("zero_filled", 1, 32, x, y, np.int32(53))
    np.testing.assert_array_equal(y, np.concatenate([x, np.zeros(75, np.float32)]))


def test_grid_that_waits_for_itself(asynchronous: Kernels, rng: np.random.Generator) -> None:
    x, partial, y = rng.integers(-99, 99, 5000).astype(np.int32), np.zeros(10, np.int32), np.zeros((3, 10), np.int32)
    for _ in range(2):
        asynchronous.run("grid_sum", 10, 32, x, partial, y, np.int32(5000), cooperative=True)
        np.testing.assert_array_equal(y, np.tile(x.sum() + 10 * np.arange(3)[:, None], 10))
        y[...] = 0


def test_cluster(asynchronous: Kernels, rng: np.random.Generator) -> None:
    x, y = rng.integers(0, 99, (4, 2, 64)).astype(np.int32), np.zeros((4, 2, 64), np.int32)
    asynchronous.run("cluster_exchange", 8, 64, x, y)
    np.testing.assert_array_equal(y, x[:, ::-1, ::-1] + 2)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("stem", STEMS)
def test_every_kernel_lowers(load: Load, stem: str, architecture: str) -> None:
    kernels = load(stem, architecture)
    assert kernels.entries
    for entry in kernels.entries:
        assert kernels.program(entry).code
