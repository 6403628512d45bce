"""ReLU: y = x where x is not below 0, else 0. A NaN stays a NaN, as in PyTorch; -0 may come out as 0 of either sign.

Nothing is rounded, so results are exact.
"""

from typing import Any

from kernelbench.errors import Unsupported
from kernelbench.records import Arrays, ArraySpec, Case, Operation, Tolerance


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    if case.dtype not in ("float32", "float16", "bfloat16"):
        raise Unsupported(f"dtype must be float32, float16 or bfloat16, got {case.dtype}")
    return (ArraySpec("x", case.shape, case.dtype, "input"), ArraySpec("y", case.shape, case.dtype, "output"))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"y": xp.where(inputs["x"] < 0, 0.0, inputs["x"])}


def bytes_moved(case: Case) -> int:
    return sum(spec.nbytes for spec in arrays(case))


def flops(case: Case) -> int:
    return case.elements


def tolerance(case: Case) -> Tolerance:
    return Tolerance(0.0, 0.0)


def split(case: Case) -> int:
    """Elements are independent."""
    return case.elements


OPERATION = Operation(
    name="relu",
    summary="the positive part of every element",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    flops=flops,
    tolerance=tolerance,
    split=split,
)
