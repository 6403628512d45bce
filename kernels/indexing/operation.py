"""A matrix times a factor of its row where an element is above 0, else times a factor of its column.

y[row, column] = x[row, column] * (by_row[row] if x[row, column] > 0 else by_column[column]), so that every kernel needs
both coordinates of an element. Columns go along the case's axis, the last one; rows are all before it.
Infinities and NaN as in any product: inf times 0 is NaN; a NaN is not above 0 and stays one.
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
    root_of_range,
)


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    case.require_dtype(*FLOATS)
    rows, columns = case.rows_columns()
    return (
        ArraySpec("x", case.shape, case.dtype, "input", split=rows),
        ArraySpec("by_row", (rows,), case.dtype, "input", split=rows),
        ArraySpec("by_column", (columns,), case.dtype, "input", split=BROADCAST),
        ArraySpec("y", case.shape, case.dtype, "output", split=rows),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    by_column = inputs["by_column"].reshape(1, -1)
    x = inputs["x"].reshape(-1, by_column.size)
    factor = xp.where(x > 0, inputs["by_row"].reshape(-1, 1), by_column)
    return {"y": x * factor}


def tolerance(case: Case) -> Tolerance:
    """One product in float32, rounded to the element type."""
    product = dtypes.unit_roundoff("float32")
    rounding = dtypes.unit_roundoff(case.dtype) if case.dtype != "float32" else 0.0
    return Tolerance(product + rounding * (1 + product), dtypes.smallest_step(case.dtype))


OPERATION = Operation(
    name="indexing",
    summary="a matrix times a factor of the row or of the column",
    arrays=arrays,
    reference=reference,
    tolerance=tolerance,
    large=root_of_range,
    special=SpecialValues(
        "the infinity of its product with the column's factor",
        "the infinity of its product with the row's factor",
        "NaN",
        "torch.where(x > 0, x * by_row, x * by_column)",
    ),
)
