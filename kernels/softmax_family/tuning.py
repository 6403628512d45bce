"""What `kernelbench tune` may try: every candidate of a case, which softmax and log-softmax rank by a cost function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kernelbench import FLOATS, Case, CostModel, DeviceProperties, Tunable
from .axis_candidates import axis_candidates
from .axis_tiles import view_of
from .choice_values import choice_values
from .cost import CONSTANTS, predicted_seconds
from .quantities import axis_quantities, rows_quantities
from .row_candidates import row_candidates

Choices = Callable[[Case, DeviceProperties], Sequence[Any]]  # Any: a choice of row_techniques, see choice_values

MODEL = "softmax"  # one cost function of both families, which share its constants
# Rows by a few lanes, a warp, several warps and a cluster; rows of the last three lengths begin within packs.
COLUMNS = (128, 512, 1024, 4096, 16384, 129, 1000, 4097)
ELEMENTS = 2**26
# Whole strips, a cluster, contiguous slabs, few long rows, strips of 4-byte loads.
VIEWS = ((1, 128, 32768), (512, 896, 48), (64, 1000, 196), (8, 21, 262144), (256, 256, 1025))


def rows_tunable(operation: str, choices: Choices, model: CostModel | None = None) -> Tunable:
    """The tunable of kernels along the last axis. `choices`: the candidates of a case."""
    return Tunable(
        candidates=lambda case, device: tuple(map(choice_values, choices(case, device))),
        model=model,
        layout=lambda case: f"{case.outer_dim_inner[1]} columns",
        cases=tuple(
            Case(operation, (ELEMENTS // columns, columns), -1, dtype) for dtype in FLOATS for columns in COLUMNS
        ),
    )


def softmax_rows_tunable(operation: str, keeps_exponentials: bool) -> Tunable:
    """The same of softmax and log-softmax, ranked by their cost function."""
    quantities = partial(rows_quantities, keeps_exponentials=keeps_exponentials)
    return rows_tunable(
        operation,
        partial(row_candidates, keeps_exponentials=keeps_exponentials),
        CostModel(MODEL, CONSTANTS, quantities, predicted_seconds),
    )


def axis_tunable(operation: str) -> Tunable:
    """The tunable of kernels along another axis."""

    return Tunable(
        candidates=lambda case, device: tuple(map(choice_values, axis_candidates(case, device))),
        model=CostModel(MODEL, CONSTANTS, axis_quantities, predicted_seconds),
        layout=_view_text,
        cases=tuple(Case(operation, shape, 1, dtype) for dtype in FLOATS for shape in VIEWS),
    )


def _view_text(case: Case) -> str:
    view = view_of(case)
    return f"{view.dim} x {view.inner}"
