"""A bias along one axis: y[o, b, i] = x[o, b, i] + bias[b], the shape seen as (outer, bias, inner) from the axis.

Infinities and NaN as in any sum: inf and -inf give NaN.
"""

from typing import Any

from kernelbench import FLOATS, Arrays, ArraySpec, Case, Operation, SpecialValues, Tolerance, dtypes, quarter_of_range


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    case.require_dtype(*FLOATS)
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
    tolerance=tolerance,
    split=split,
    large=quarter_of_range,
    special=SpecialValues("-inf", "inf, with -inf as its bias NaN", "NaN", "torch.add"),
)
