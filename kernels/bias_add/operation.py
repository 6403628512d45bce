"""A bias along one axis: y[o, b, i] = x[o, b, i] + bias[b], the shape seen as (outer, bias, inner) from the axis.

Infinities and NaN as in any sum: inf and -inf give NaN.
"""

from typing import Any

from kernelbench import (
    BROADCAST,
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


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    """Slices are those before the axis, and each reads all of the bias; if there is one, those along the axis."""
    case.require_dtype(*FLOATS)
    outer, dim, _ = case.outer_dim_inner
    split = dim if outer == 1 else outer
    return (
        ArraySpec("x", case.shape, case.dtype, "input", split=split),
        ArraySpec("bias", (dim,), case.dtype, "input", split=dim if outer == 1 else BROADCAST),
        ArraySpec("y", case.shape, case.dtype, "output", split=split),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    bias = inputs["bias"].reshape(1, -1, 1)
    return {"y": inputs["x"].reshape(-1, bias.size, case.outer_dim_inner[2]) + bias}


def tolerance(case: Case) -> Tolerance:
    """A sum in float32, rounded once more to half precision."""
    unit = dtypes.unit_roundoff(case.dtype)
    return Tolerance(unit if case.dtype == "float32" else unit + 2.0**-24, dtypes.smallest_step(case.dtype))


OPERATION = Operation(
    name="bias_add",
    summary="a bias along one axis",
    arrays=arrays,
    reference=reference,
    tolerance=tolerance,
    large=quarter_of_range,
    special=SpecialValues("-inf", "inf; NaN where the bias is -inf", "NaN", "torch.add"),
)
