"""Random inputs and comparisons, made on the GPU."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import cupy
import numpy as np

from kernelbench import distributions, dtypes
from kernelbench.differences import Differences
from kernelbench.records import ArraySpec, Tolerance


def random_values(spec: ArraySpec, start: int, size: int, seed: tuple[int, int, int]) -> Any:
    """Elements [start, start + size) in storage type. `seed`: of the case, the array and this piece of it, which NumPy
    spreads into one 64-bit number."""
    generator = cupy.random.Generator(cupy.random.XORWOW(_mixed(seed)))
    values = distributions.draw(cupy, generator, spec, start, size, _mixed(seed[:2]))
    return dtypes.narrow(cupy, values, spec.dtype)


def _mixed(seed: tuple[int, ...]) -> int:
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1)


def compare(got: Any, dtype: str, expected: Any, tolerance: Tolerance) -> Differences:
    """See contracts.Device.compare: one pass over the arrays."""
    if dtype == "bfloat16":
        got = dtypes.widen(cupy, got, dtype)
    found = cupy.asarray(_NOTHING_FOUND)
    _compared()(got, expected, tolerance.relative, tolerance.absolute, dtypes.overflow(dtype), found)
    mismatches, first, *bits = found.get()
    absolute, relative = (None if math.isnan(value) else float(value) for value in np.array(bits).view(np.float64))
    if not mismatches:
        return Differences(0, absolute, relative)
    return Differences(
        int(mismatches), absolute, relative, int(first), float(got[int(first)]), float(expected[int(first)])
    )


# Mismatches, place of the first one, largest absolute and largest relative error as bits of a double: of numbers from
# 0 up, these are in the order of the numbers, with NaN above all.
_NOTHING_FOUND = np.array([0, 2**64 - 1, 0, 0], np.uint64)


@cache
def _compared() -> Any:
    """Compares a stored array with a float64 one by the rule of `differences`, and writes what it found."""
    return cupy.ElementwiseKernel(
        "T got, float64 want, float64 relative, float64 absolute, float64 overflow",
        "raw uint64 found",
        """
        typedef unsigned long long word;
        const double value = double(got), size = fabs(want);
        const bool alike = value == want || (isnan(value) && isnan(want));
        const bool beyond = isinf(value) && absolute + (1.0 + relative) * size >= overflow
            && (value > 0.0) == (want > 0.0);
        if (!alike && !beyond) {
            word* out = (word*)&found[0];
            const double error = fabs(value - want);
            const word place = (word)i;
            const word bits = (word)__double_as_longlong(error);
            const word share = (word)__double_as_longlong(error / (size > 0.0 ? size : 1.0));
            // What is read here may be old, and then an atomic too many is done.
            if (bits > out[2]) atomicMax(out + 2, bits);
            if (share > out[3]) atomicMax(out + 3, share);
            if (!(error <= absolute + relative * size) || isinf(error)) {
                atomicAdd(out, (word)1);
                if (place < out[1]) atomicMin(out + 1, place);
            }
        }
        """,
        "kernelbench_compare",
    )
