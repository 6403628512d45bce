"""A copy, y = x, with a given number of warps on each multiprocessor.

`warps` of each multiprocessor go through the array together. `chain` dependent multiply-adds, of 1 and 0 known at run
time only, stand between an element's load and its store: with none it is memory that a warp waits for, with very many
it is arithmetic. No parameter changes the result.
"""

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
    return 2 * int(case.parameter("chain", 0)) * case.elements


def tolerance(case: Case) -> Tolerance:
    return Tolerance(0.0, 0.0)


def split(case: Case) -> int:
    """Elements are independent."""
    return case.elements


OPERATION = Operation(
    name="latency_hiding",
    summary="a copy by few warps or many, with arithmetic or without",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    flops=flops,
    tolerance=tolerance,
    parameters={"warps": 64, "chain": 0},
    split=split,
)
