"""The product of two arrays, element by element: z = x * y.

Products are rounded once, to the arrays' own type, whether a kernel multiplies in it or in float32: the product of two
float16 or bfloat16 numbers is exact in float32. `debug` asks for kernels built by `nvcc -G`, which optimises
nothing; libraries and the yardstick stay as they are.
A product beyond what the type holds is infinite; infinities and NaN as in any product, inf times 0 is NaN.
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
    root_of_range,
)


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    case.require_dtype(*FLOATS)
    each = case.elements
    return (
        ArraySpec("x", case.shape, case.dtype, "input", split=each),
        ArraySpec("y", case.shape, case.dtype, "input", split=each),
        ArraySpec("z", case.shape, case.dtype, "output", split=each),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"z": inputs["x"] * inputs["y"]}


def tolerance(case: Case) -> Tolerance:
    """One rounding to nearest; a product among the subnormal numbers is off by half of their step at most."""
    return Tolerance(dtypes.unit_roundoff(case.dtype), dtypes.smallest_step(case.dtype))


OPERATION = Operation(
    name="multiply",
    summary="the product of two arrays, element by element",
    arrays=arrays,
    reference=reference,
    tolerance=tolerance,
    parameters={"debug": False},
    large=root_of_range,
    special=SpecialValues(
        "the infinity of the product's sign; times 0 NaN",
        "the infinity of the product's sign; times 0 NaN",
        "NaN",
        "torch.mul",
    ),
)
