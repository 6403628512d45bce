"""A copy: y = x. What a kernel that reads and writes as much can be measured by.

Infinities stay, and so does a NaN.
"""

from typing import Any

from kernelbench import Arrays, Case, Operation, SpecialValues, quarter_of_range, x_to_y_by_element


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"y": inputs["x"]}


def flops(case: Case) -> int:
    return 0


OPERATION = Operation(
    name="copy",
    summary="a copy of an array",
    arrays=x_to_y_by_element,
    reference=reference,
    flops=flops,
    large=quarter_of_range,
    special=SpecialValues("stays", "stays", "stays", "torch.clone"),
)
