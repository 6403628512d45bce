"""The product of two arrays, element by element: z = x * y.

Products are rounded once, to the arrays' own type, whether a kernel multiplies in it or in float32: the product of two
float16 or bfloat16 numbers is exact in float32. `debug` asks for kernels built by `nvcc -G`, which optimises
nothing; libraries and the yardstick stay as they are.
"""

from typing import Any

from kernelbench import dtypes
from kernelbench.errors import Unsupported
from kernelbench.records import Arrays, ArraySpec, Case, Operation, Tolerance


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    if case.dtype not in ("float32", "float16", "bfloat16"):
        raise Unsupported(f"dtype must be float32, float16 or bfloat16, got {case.dtype}")
    return (
        ArraySpec("x", case.shape, case.dtype, "input"),
        ArraySpec("y", case.shape, case.dtype, "input"),
        ArraySpec("z", case.shape, case.dtype, "output"),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"z": inputs["x"] * inputs["y"]}


def bytes_moved(case: Case) -> int:
    return sum(spec.nbytes for spec in arrays(case))


def flops(case: Case) -> int:
    return case.elements


def tolerance(case: Case) -> Tolerance:
    """One rounding to nearest; a product among the subnormal numbers is off by half of their step at most."""
    return Tolerance(dtypes.unit_roundoff(case.dtype), dtypes.smallest_step(case.dtype))


def split(case: Case) -> int:
    """Elements are independent."""
    return case.elements


OPERATION = Operation(
    name="multiply",
    summary="the product of two arrays, element by element",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    flops=flops,
    tolerance=tolerance,
    parameters={"debug": False},
    split=split,
)
