"""A bias along one axis: y[o, b, i] = x[o, b, i] + bias[b], the shape seen as (outer, bias, inner) from the axis."""

from typing import Any

from kernelbench import dtypes
from kernelbench.errors import Unsupported
from kernelbench.records import Arrays, ArraySpec, Case, Operation, Tolerance


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    if case.dtype not in ("float32", "float16", "bfloat16"):
        raise Unsupported(f"dtype must be float32, float16 or bfloat16, got {case.dtype}")
    return (
        ArraySpec("x", case.shape, case.dtype, "input"),
        ArraySpec("bias", (case.outer_dim_inner[1],), case.dtype, "input"),
        ArraySpec("y", case.shape, case.dtype, "output"),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """Where nothing lies before the axis, slices are along it: both arrays arrive cut."""
    bias = inputs["bias"].reshape(1, -1, 1)
    outer, _, inner = case.outer_dim_inner
    return {"y": inputs["x"].reshape(outer, bias.size, inner) + bias}


def bytes_moved(case: Case) -> int:
    return sum(spec.nbytes for spec in arrays(case))


def flops(case: Case) -> int:
    return case.elements


def tolerance(case: Case) -> Tolerance:
    """A sum in float32, rounded once more to half precision."""
    unit = dtypes.unit_roundoff(case.dtype)
    return Tolerance(unit if case.dtype == "float32" else unit + 2.0**-24, dtypes.smallest_step(case.dtype))


def split(case: Case) -> int:
    """The bias belongs to all that lies before the axis."""
    outer, dim, _ = case.outer_dim_inner
    return dim if outer == 1 else 1


OPERATION = Operation(
    name="bias_add",
    summary="a bias along one axis",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    flops=flops,
    tolerance=tolerance,
    split=split,
)
