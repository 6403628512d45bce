"""Kernels over arrays on the GPU: random inputs, comparison, exchange and digest."""

from __future__ import annotations

import math
import secrets
from functools import cache
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from kernelbench.core import distributions, dtypes
from kernelbench.core.differences import Differences
from kernelbench.core.records import FLOATS, ArraySpec, Tolerance


def random_values(spec: ArraySpec, start: int, size: int, seed: tuple[int, int, int]) -> Any:
    """Elements [start, start + size) in storage type. `seed`: numbers of the case, the array and this piece of it,
    which NumPy mixes into one 64-bit number."""
    generator = cupy.random.Generator(cupy.random.XORWOW(_mixed(seed)))
    values = distributions.draw_input(cupy, generator, spec, start, size, _mixed(seed[:2]))
    return dtypes.narrow(cupy, values, spec.dtype)


def _mixed(seed: tuple[int, ...]) -> int:
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1)


def compare(got: Any, dtype: str, expected: Any, tolerance: Tolerance) -> Differences:
    """See contracts.Device.compare: one pass over the arrays."""
    if dtype == "bfloat16":
        got = dtypes.widen(cupy, got, dtype)
    found = cupy.asarray(_NOTHING_FOUND)
    bounds = (tolerance.relative, tolerance.absolute, dtypes.overflow(dtype), *dtypes.rounding_steps(dtype))
    _compared()(got, expected, *bounds, np.uint64(got.size), found, size=min(got.size, COMPARING_THREADS))
    mismatches, first, *bits = found.get()
    largest = (None if math.isnan(value) else float(value) for value in np.array(bits).view(np.float64))
    absolute, relative, ulp, worst = largest
    if not mismatches:
        return Differences(0, absolute, relative, max_ulp=ulp, worst=worst)
    place = int(first)
    return Differences(
        int(mismatches), absolute, relative, place, float(got[place]), float(expected[place]), ulp, worst
    )


def swap_contents(first: Any, second: Any, dtype: str) -> None:
    """See contracts.Device.swap_contents."""
    _swapped()(_minus_infinity(dtype), dtype in FLOATS, first, second)


@cache
def _minus_infinity(dtype: str) -> Any:
    """-inf as it is stored; 0 for a type that has none."""
    return dtypes.narrow(np, np.array([-np.inf], np.float32), dtype)[0] if dtype in FLOATS else dtypes.storage(dtype)(0)


@cache
def _swapped() -> Any:
    return cupy.ElementwiseKernel(
        "T hidden, bool floats",
        "T a, T b",
        "if (!floats || (a != hidden && b != hidden)) { const T kept = a; a = b; b = kept; }",
        "kernelbench_swap",
    )


def first_difference(got: Any, made: Any) -> int | None:
    """The first place at which two flat arrays of one type differ in any bit."""
    unequal = got.view(np.uint8) != made.view(np.uint8)
    return int(unequal.argmax()) // got.itemsize if bool(unequal.any()) else None


class Digest:
    """See contracts.Device.digest: the sum over all words of a scrambled (word, place). `stream` is the current one."""

    def __init__(self, array: Any, stream: Any) -> None:
        flat = array.reshape(-1)
        width = next(width for width in (4, 2, 1) if (flat.nbytes | flat.data.ptr) % width == 0)
        self._sum, self._stream = cupy.zeros(1, np.uint64), stream
        blocks = max(1, min(DIGEST_BLOCKS, -(-flat.nbytes // (width * DIGEST_THREADS))))
        arguments = (flat, np.int64(flat.nbytes // width), np.uint64(_SALT), self._sum)
        _digesting().get_function(f"digest_{8 * width}")((blocks,), (DIGEST_THREADS,), arguments)

    def __int__(self) -> int:
        self._stream.synchronize()
        return int(self._sum.get(stream=self._stream)[0])


DIGEST_BLOCKS, DIGEST_THREADS = 4096, 256
_SALT = secrets.randbits(64)
_DIGEST = """
typedef unsigned long long u64;
__device__ u64 scrambled(u64 z) {  // of splitmix64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
template <typename T> __device__ void digest(const T* words, long long count, u64 salt, u64* out) {
    u64 sum = 0;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        sum += scrambled(((u64)words[i] + salt) ^ ((u64)i * 0x9E3779B97F4A7C15ull));
    for (int lanes = 16; lanes; lanes /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, lanes);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}
#define DIGEST(bits, T) extern "C" __global__ void digest_##bits(const T* words, long long count, u64 salt, u64* out) \
    { digest(words, count, salt, out); }
DIGEST(32, unsigned int) DIGEST(16, unsigned short) DIGEST(8, unsigned char)
"""


@cache
def _digesting() -> Any:
    return cupy.RawModule(code=_DIGEST)


# Mismatches, place of the first one and four errors, as compare.cuh finds them.
_NOTHING_FOUND = np.array([0, 2**64 - 1, 0, 0, 0, 0], np.uint64)


COMPARING_THREADS = 2**18  # each steps through the arrays and keeps the largest errors in registers


@cache
def _compared() -> Any:
    """A kernel that compares a stored array with a float64 one by the rule of `differences`."""
    return cupy.ElementwiseKernel(
        "raw T got, raw float64 want, float64 relative, float64 absolute, float64 overflow, float64 roundoff,"
        " float64 smallest, uint64 count",
        "raw uint64 found",
        "for (unsigned long long at = i; at < count; at += _ind.size()) mine.add(at, double(got[at]), want[at]);",
        "kernelbench_compare",
        loop_prep="Compared mine(relative, absolute, overflow, roundoff, smallest);",
        after_loop="mine.join((unsigned long long*)&found[0]);",
        preamble=Path(__file__).with_name("compare.cuh").read_text(encoding="utf-8"),
    )
