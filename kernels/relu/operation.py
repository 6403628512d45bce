"""ReLU: y = x where x is not below 0, else 0. A NaN stays a NaN, as in PyTorch; -0 may come out as 0 of either sign;
inf stays, and -inf gives 0.

Nothing is rounded, so results are exact.
"""

from typing import Any

from kernelbench import Arrays, Case, Operation, SpecialValues, quarter_of_range, x_to_y_by_element


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"y": xp.where(inputs["x"] < 0, 0.0, inputs["x"])}


OPERATION = Operation(
    name="relu",
    summary="the positive part of every element",
    arrays=x_to_y_by_element,
    reference=reference,
    large=quarter_of_range,
    special=SpecialValues("0", "inf", "NaN", "torch.relu"),
)
