"""The yardsticks: copies of as many elements from the beginning, densely."""

from typing import Any

from kernelbench import Arrays, Case
from ..common.copies import copies_of


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The first elements of x, and behind them what outputs hold before a check."""
    x = inputs["x"].reshape(-1)[: case.elements]
    if case.parameter("side", "load") == "load":
        return {"y": x}
    last = case.parameter("offset", 0) + (case.elements - 1) * case.parameter("stride", 1)
    y = xp.full(last + 1, xp.nan, x.dtype)
    y[: case.elements] = x
    return {"y": y}


IMPLEMENTATIONS = copies_of(reference=reference)
