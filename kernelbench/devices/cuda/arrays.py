"""Random inputs and comparisons, made on the GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy
import numpy as np

from kernelbench import dtypes
from kernelbench.differences import Differences, differences
from kernelbench.records import ArraySpec, Tolerance

ROW = 4096  # elements that one block of threads compares: 8 a thread


def random_values(spec: ArraySpec, size: int, seed: tuple[int, int, int]) -> Any:
    """`size` random elements in storage type. NumPy spreads the three seeds into one 64-bit number."""
    mixed = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1)
    generator = cupy.random.Generator(cupy.random.XORWOW(mixed))
    if spec.fill == "normal":
        values = generator.standard_normal(size, dtype=np.float32)
    else:
        values = generator.random(size, dtype=np.float32)
        if spec.fill == "mask":
            values = (values < 0.5).astype(np.float32)
        elif spec.fill == "bits":
            values = values * 256  # narrowing rounds down
    return dtypes.narrow(cupy, values, spec.dtype)


def compare(got: Any, dtype: str, expected: Any, tolerance: Tolerance) -> Differences:
    """See contracts.Device.compare: three passes where all is right, many only where something is wrong."""
    if dtype == "bfloat16":
        got = dtypes.widen(cupy, got, dtype)
    mismatches = int(_reduced("mismatches", got, expected, (tolerance.relative, tolerance.absolute)))
    if mismatches:
        return differences(cupy, dtypes.widen(cupy, got, "float64"), expected, tolerance)
    absolute = float(_reduced("absolute", got, expected))
    return Differences(0, absolute, float(_reduced("relative", got, expected)))


def _reduced(name: str, got: Any, expected: Any, extra: tuple[float, ...] = ()) -> Any:
    """One number over two flat arrays. CuPy gives each result of a reduction to one block of threads, so
    the arrays are reduced by rows first."""
    kernel = _kernel(name)
    whole = got.size // ROW * ROW
    parts = [kernel(got[whole:], expected[whole:], *extra)] if whole < got.size else []
    if whole:
        rows = kernel(got[:whole].reshape(-1, ROW), expected[:whole].reshape(-1, ROW), *extra, axis=1)
        parts.append(rows.sum() if name == "mismatches" else rows.max())
    return sum(map(int, parts)) if name == "mismatches" else max(map(float, parts))


@cache
def _kernel(name: str) -> Any:
    """Comparisons of a stored array with a float64 one, each in a single pass."""
    error = "(double(got) == want || (isnan(double(got)) && isnan(want))) ? 0.0 : fabs(double(got) - want)"
    maps = {
        "mismatches": f"!(({error}) <= absolute + relative * fabs(want)) || isinf({error})",
        "absolute": error,
        "relative": f"({error}) / (fabs(want) > 0.0 ? fabs(want) : 1.0)",
    }
    counting = name == "mismatches"
    inputs = "T got, float64 want" + (", float64 relative, float64 absolute" if counting else "")
    reduce = ("a + b", "0") if counting else ("a > b ? a : b", "0")
    output = "int64 result" if counting else "float64 result"
    return cupy.ReductionKernel(inputs, output, maps[name], reduce[0], "result = a", reduce[1], f"kernelbench_{name}")
