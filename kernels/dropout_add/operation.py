"""Dropout with a given mask, then an addition: y = x * mask * scale + addend.

The mask is an input of one int8 per element, 1 where the element is kept. `scale` is 1 / (1 - p) where dropout drops a
share p of the elements on average; it is no matter here what share of the mask is 0.
An infinity that is dropped gives NaN, as 0 times it does; a NaN stays one, dropped or not.
"""

from typing import Any

from kernelbench import (
    FLOATS,
    Arrays,
    ArraySpec,
    Case,
    Operation,
    SpecialValues,
    Tolerance,
    dtypes,
    quarter_of_range,
)

SCALE = 1.25  # p = 0.2
LARGEST = {"normal": 8, "uniform": 1, "zeros": 0, "ones": 1}  # no normal number among 2^40 is farther from 0


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    case.require_dtype(*FLOATS)
    each = case.elements
    return (
        ArraySpec("x", case.shape, case.dtype, "input", split=each),
        ArraySpec("mask", case.shape, "int8", "input", fill="mask", split=each),
        ArraySpec("addend", case.shape, case.dtype, "input", split=each),
        ArraySpec("y", case.shape, case.dtype, "output", split=each),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"y": inputs["x"] * inputs["mask"] * case.parameter("scale", SCALE) + inputs["addend"]}


def flops(case: Case) -> int:
    """Two products and a sum per element."""
    return 3 * case.elements


def large(case: Case) -> float:
    """So large that the scaled element still leaves room for the addend."""
    return quarter_of_range(case) / max(1.0, abs(float(case.parameter("scale", SCALE))))


def tolerance(case: Case) -> Tolerance:
    """The sum is rounded, and so is what dropout leaves in between: to the arrays' own type where it goes through
    memory. The latter stays where the sum is near 0, so it is absolute. Kernels are given the scale in float32."""
    unit = dtypes.unit_roundoff(case.dtype)
    largest = (LARGEST[case.inputs] if case.inputs in LARGEST else large(case)) * abs(case.parameter("scale", SCALE))
    return Tolerance(unit, (2 * unit + 2.0**-24) * largest + dtypes.smallest_step(case.dtype))


OPERATION = Operation(
    name="dropout_add",
    summary="dropout with a given mask, then an addition",
    arrays=arrays,
    reference=reference,
    flops=flops,
    tolerance=tolerance,
    parameters={"scale": SCALE},
    large=large,
    special=SpecialValues(
        "-inf; NaN where it is dropped",
        "inf; NaN where it is dropped",
        "NaN, dropped or not",
        "x * mask * scale + addend",
    ),
)
