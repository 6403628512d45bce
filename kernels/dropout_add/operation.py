"""Dropout with a given mask, then an addition: y = x * mask * scale + addend.

The mask is an input of one int8 an element, 1 where the element is kept. `scale` is 1 / (1 - p) where dropout drops a
share p of the elements on average; it is no matter here what share of the mask is 0.
"""

from typing import Any

from kernelbench import dtypes
from kernelbench.errors import Unsupported
from kernelbench.records import Arrays, ArraySpec, Case, Operation, Tolerance

SCALE = 1.25  # p = 0.2
LARGEST = 8  # no normal number among 2^40 is farther from 0


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    if case.dtype not in ("float32", "float16", "bfloat16"):
        raise Unsupported(f"dtype must be float32, float16 or bfloat16, got {case.dtype}")
    return (
        ArraySpec("x", case.shape, case.dtype, "input"),
        ArraySpec("mask", case.shape, "int8", "input", fill="mask"),
        ArraySpec("addend", case.shape, case.dtype, "input"),
        ArraySpec("y", case.shape, case.dtype, "output"),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"y": inputs["x"] * inputs["mask"] * case.parameter("scale", SCALE) + inputs["addend"]}


def bytes_moved(case: Case) -> int:
    return sum(spec.nbytes for spec in arrays(case))


def flops(case: Case) -> int:
    """Two products and a sum an element."""
    return 3 * case.elements


def tolerance(case: Case) -> Tolerance:
    """The sum is rounded, and so is what dropout leaves in between: to the arrays' own type where it goes through
    memory. The latter stays where the sum is near 0, so it is absolute. Kernels are given the scale in float32."""
    unit = dtypes.unit_roundoff(case.dtype)
    largest = LARGEST * abs(case.parameter("scale", SCALE))
    return Tolerance(unit, (2 * unit + 2.0**-24) * largest + dtypes.smallest_step(case.dtype))


def split(case: Case) -> int:
    """Elements are independent."""
    return case.elements


OPERATION = Operation(
    name="dropout_add",
    summary="dropout with a given mask, then an addition",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    flops=flops,
    tolerance=tolerance,
    parameters={"scale": SCALE},
    split=split,
)
