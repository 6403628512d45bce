"""A copy: y = x. What a kernel that reads and writes as much can be measured by."""

from typing import Any

from kernelbench.errors import Unsupported
from kernelbench.records import Arrays, ArraySpec, Case, Operation, Tolerance


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    if case.dtype not in ("float32", "float16", "bfloat16"):
        raise Unsupported(f"dtype must be float32, float16 or bfloat16, got {case.dtype}")
    return (ArraySpec("x", case.shape, case.dtype, "input"), ArraySpec("y", case.shape, case.dtype, "output"))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"y": inputs["x"]}


def bytes_moved(case: Case) -> int:
    return sum(spec.nbytes for spec in arrays(case))


def flops(case: Case) -> int:
    return 0


def tolerance(case: Case) -> Tolerance:
    return Tolerance(0.0, 0.0)


def split(case: Case) -> int:
    """Elements are independent."""
    return case.elements


OPERATION = Operation(
    name="copy",
    summary="a copy of an array",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    flops=flops,
    tolerance=tolerance,
    split=split,
)
