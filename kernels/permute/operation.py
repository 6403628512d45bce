"""Axes in another order: y is x with axis permutation[k] as its axis k.

`permutation` is a text of digits, "0231" for NCHW to NHWC; left out, the order of the axes is turned round. The case's
own axis plays no part.
Infinities stay, and so does a NaN.
"""

from math import prod
from typing import Any

from kernelbench import FLOATS, Arrays, ArraySpec, Case, Operation, SpecialValues, quarter_of_range
from ._axes import permutation_of


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    case.require_dtype(*FLOATS)
    permuted = tuple(case.shape[axis] for axis in permutation_of(case))
    split = prod(case.shape[: staying(case)])
    return (
        ArraySpec("x", case.shape, case.dtype, "input", split=split),
        ArraySpec("y", permuted, case.dtype, "output", split=split),
    )


def staying(case: Case) -> int:
    """Axes at the front that stay where they are; slices are of these."""
    permutation = permutation_of(case)
    return next((k for k, axis in enumerate(permutation) if k != axis), len(permutation))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    front = staying(case)
    moved = [axis - front + 1 for axis in permutation_of(case)[front:]]
    return {"y": inputs["x"].reshape(-1, *case.shape[front:]).transpose(0, *moved)}


def flops(case: Case) -> int:
    """Nothing is computed but places."""
    return 0


OPERATION = Operation(
    name="permute",
    summary="axes in another order",
    arrays=arrays,
    reference=reference,
    flops=flops,
    parameters={"permutation": ""},
    large=quarter_of_range,
    special=SpecialValues("stays", "stays", "stays", "torch.permute"),
)
