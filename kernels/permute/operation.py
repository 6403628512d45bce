"""Axes in another order: y is x with axis permutation[k] as its axis k.

`permutation` is a text of digits, "0231" for NCHW to NHWC; left out, the order of the axes is turned round. The case's
own axis plays no part.
"""

from math import prod
from typing import Any

from kernelbench.errors import Unsupported
from kernelbench.plans import permutation_of
from kernelbench.records import Arrays, ArraySpec, Case, Operation, Tolerance


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    if case.dtype not in ("float32", "float16", "bfloat16"):
        raise Unsupported(f"dtype must be float32, float16 or bfloat16, got {case.dtype}")
    permuted = tuple(case.shape[axis] for axis in permutation_of(case))
    return (ArraySpec("x", case.shape, case.dtype, "input"), ArraySpec("y", permuted, case.dtype, "output"))


def staying(case: Case) -> int:
    """Axes at the front that stay where they are; slices are of these."""
    permutation = permutation_of(case)
    return next((k for k, axis in enumerate(permutation) if k != axis), len(permutation))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    front = staying(case)
    moved = [axis - front + 1 for axis in permutation_of(case)[front:]]
    return {"y": inputs["x"].reshape(-1, *case.shape[front:]).transpose(0, *moved)}


def bytes_moved(case: Case) -> int:
    return sum(spec.nbytes for spec in arrays(case))


def flops(case: Case) -> int:
    """Nothing is computed but places."""
    return 0


def tolerance(case: Case) -> Tolerance:
    return Tolerance(0.0, 0.0)


def split(case: Case) -> int:
    return prod(case.shape[: staying(case)])


OPERATION = Operation(
    name="permute",
    summary="axes in another order",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    flops=flops,
    tolerance=tolerance,
    parameters={"permutation": ""},
    split=split,
)
