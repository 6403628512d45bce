"""The files of an operation of the user's own: what is computed, a first kernel, a suite. They are right as written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_OPERATION = '''\
"""What {operation} computes, whoever computes it. As written: y = x * weight, the weight one element for each column.

Change the four functions to what you mean, then {name}.cu. kernelbench check {suite} {option}says whether they agree.
"""

from typing import Any

from kernelbench import BROADCAST, FLOATS, Arrays, ArraySpec, Case, Operation, Tolerance, dtypes


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    """The arrays of a case, inputs and outputs. Unsupported, as these helpers raise it, where it has no meaning.

    split   Large cases are verified slice by slice. Into how many equal parts each array is cut: here a row each.
            split=BROADCAST is an input that every slice reads whole. Left out, 1: never cut, all arrays alike.
    fill    Left out, the array follows what the suite names as `inputs`. fill="normal" is normal numbers whatever
            that is, as of weights; "mask" is 0 or 1, "bits" any byte, of uint8.
    """
    case.require_dtype(*FLOATS)
    rows, columns = case.rows_columns()
    return (
        ArraySpec("x", case.shape, case.dtype, "input", split=rows),
        ArraySpec("weight", (columns,), case.dtype, "input", fill="normal", split=BROADCAST),
        ArraySpec("y", case.shape, case.dtype, "output", split=rows),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The outputs of some slices, in float64, for NumPy and CuPy (`xp`) alike.

    Inputs that are cut arrive as [slices, elements of a slice], broadcast ones whole, in their shape.
    """
    return {{"y": inputs["x"] * inputs["weight"].reshape(1, -1)}}


def flops(case: Case) -> int:
    """Operations of the whole case."""
    return case.elements


def tolerance(case: Case) -> Tolerance:
    """|got - expected| <= absolute + relative * |expected|. One product in float32, rounded to the arrays' type."""
    unit = dtypes.unit_roundoff("float32") + dtypes.unit_roundoff(case.dtype)
    return Tolerance(relative=unit, absolute=dtypes.smallest_step(case.dtype))


# Left out here: bytes_moved (each array once), parameters that a suite may set, large (how large inputs may be),
# refused (distributions that it has no inputs of), special (what infinities and NaN give).
OPERATION = Operation(
    name="{operation}",
    summary="x times a weight for each column",  # one line, for `kernelbench list kernels`
    arrays=arrays,
    reference=reference,
    flops=flops,
    tolerance=tolerance,
)
'''
_SOURCE = """\
// x times a weight for each column, an element a thread.
//   x       T [rows, columns], row-major; read once
//   weight  T [columns]; read for each row, from the caches but for the first time
//   y       T [rows, columns]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   launch  grid ceil(rows * columns / 256), block 256, no shared memory
#include "common/convert.cuh"

template <typename T>
__device__ void {operation}_{name}(const T* x, const T* weight, T* y, long long elements, int columns) {{
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;  // ranges [0, elements)
  if (i < elements) y[i] = from_float<T>(to_float(x[i]) * to_float(weight[i % columns]));
}}

extern "C" __global__ void {operation}_{name}_f32(const float* x, const float* weight, float* y, long long elements,
                                                  int columns) {{
  {operation}_{name}(x, weight, y, elements, columns);
}}

extern "C" __global__ void {operation}_{name}_f16(const __half* x, const __half* weight, __half* y, long long elements,
                                                  int columns) {{
  {operation}_{name}(x, weight, y, elements, columns);
}}

extern "C" __global__ void {operation}_{name}_bf16(const __nv_bfloat16* x, const __nv_bfloat16* weight,
                                                   __nv_bfloat16* y, long long elements, int columns) {{
  {operation}_{name}(x, weight, y, elements, columns);
}}
"""
_PLAN = '''\
"""How {name}.cu is launched: an element a thread.

`plan` is called for each case and returns a LaunchPlan; raise Unsupported("what must hold, got what came") for a case
that the kernel cannot do. `arguments` are names of {operation}'s arrays and Scalars, in the kernel's order.
"""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes

BLOCK = 256


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    _, columns = case.rows_columns(max_columns=2**31 - 1)
    launch = Launch(
        entry=f"{operation}_{name}_{{dtypes.suffix(case.dtype)}}",
        grid=(-(-case.elements // BLOCK), 1, 1),
        block=(BLOCK, 1, 1),
        arguments=("x", "weight", "y", Scalar("int64", case.elements), Scalar("int32", columns)),
    )
    return LaunchPlan((launch,))


IMPLEMENTATIONS = (Implementation("{name}", "an element a thread", Origin("written here"), plan=plan),)
'''
_SUITE = """\
title: {operation}
operation: {operation}
# Each case is a shape and a data type; `columns` is an axis of the suite. docs/writing-a-suite.md has all keys.
shape: [1048576 // columns, columns]
axes: {{columns: [100, 1024]}}
dtype: [float32, float16, bfloat16]
# Whom to compare: further kernels of the operation's folder, a library, a copy; `baseline: NAME` divides by one.
implementations: [{name}]
"""


def texts(operation: str, name: str, folder: Path, suite: Path, words: Mapping[str, str]) -> dict[Path, str]:
    """Each file of the operation with its text. `words`: `suite` and `option` as commands have them."""
    named = {"operation": operation, "name": name, **words}
    return {
        folder / operation / "operation.py": _OPERATION.format(**named),
        folder / operation / f"{name}.cu": _SOURCE.format(**named),
        folder / operation / f"{name}.py": _PLAN.format(**named),
        suite: _SUITE.format(**named),
    }
