"""Random inputs and comparisons, made on the GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy
import numpy as np

from kernelbench import distributions, dtypes
from kernelbench.differences import Differences, differences
from kernelbench.records import ArraySpec, Tolerance

ROW = 4096  # elements that one block of threads compares: 8 a thread


def random_values(spec: ArraySpec, start: int, size: int, seed: tuple[int, int, int]) -> Any:
    """Elements [start, start + size) in storage type. `seed`: of the case, the array and this piece of it, which NumPy
    spreads into one 64-bit number."""
    generator = cupy.random.Generator(cupy.random.XORWOW(_mixed(seed)))
    values = distributions.draw(cupy, generator, spec, start, size, _mixed(seed[:2]))
    return dtypes.narrow(cupy, values, spec.dtype)


def _mixed(seed: tuple[int, ...]) -> int:
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1)


def compare(got: Any, dtype: str, expected: Any, tolerance: Tolerance) -> Differences:
    """See contracts.Device.compare: three passes where all is right, many only where something is wrong."""
    if dtype == "bfloat16":
        got = dtypes.widen(cupy, got, dtype)
    overflow = dtypes.overflow(dtype)
    bounds = (tolerance.relative, tolerance.absolute, overflow)
    mismatches = int(_reduced("mismatches", got, expected, bounds))
    if mismatches:
        return differences(cupy, dtypes.widen(cupy, got, "float64"), expected, tolerance, overflow)
    absolute = float(_reduced("absolute", got, expected, bounds))
    return Differences(0, absolute, float(_reduced("relative", got, expected, bounds)))


def _reduced(name: str, got: Any, expected: Any, bounds: tuple[float, float, float]) -> Any:
    """One number over two flat arrays. CuPy gives each result of a reduction to one block of threads, so
    the arrays are reduced by rows first."""
    kernel = _kernel(name)
    whole = got.size // ROW * ROW
    parts = [kernel(got[whole:], expected[whole:], *bounds)] if whole < got.size else []
    if whole:
        rows = kernel(got[:whole].reshape(-1, ROW), expected[:whole].reshape(-1, ROW), *bounds, axis=1)
        parts.append(rows.sum() if name == "mismatches" else rows.max())
    return sum(map(int, parts)) if name == "mismatches" else max(map(float, parts))


@cache
def _kernel(name: str) -> Any:
    """Comparisons of a stored array with a float64 one, each in a single pass, by the rule of `differences`."""
    value, size = "double(got)", "fabs(want)"
    alike = f"{value} == want || (isnan({value}) && isnan(want))"
    too_large = f"isinf({value}) && absolute + (1.0 + relative) * {size} >= overflow && ({value} > 0.0) == (want > 0.0)"
    error = f"({alike} || ({too_large})) ? 0.0 : fabs({value} - want)"
    maps = {
        "mismatches": f"!(({error}) <= absolute + relative * {size}) || isinf({error})",
        "absolute": error,
        "relative": f"({error}) / ({size} > 0.0 ? {size} : 1.0)",
    }
    counting = name == "mismatches"
    inputs = "T got, float64 want, float64 relative, float64 absolute, float64 overflow"
    reduce = ("a + b", "0") if counting else ("a > b ? a : b", "0")
    output = "int64 result" if counting else "float64 result"
    return cupy.ReductionKernel(inputs, output, maps[name], reduce[0], "result = a", reduce[1], f"kernelbench_{name}")
