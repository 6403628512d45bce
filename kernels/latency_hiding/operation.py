"""A copy, y = x, with a given number of warps on each multiprocessor.

`warps` of each multiprocessor go through the array together. `chain` dependent multiply-adds, of 1 and 0 known at run
time only, stand between an element's load and its store: with none it is memory that a warp waits for, with very many
it is arithmetic. No parameter changes the result; infinities stay, and so does a NaN.
"""

from typing import Any

from kernelbench import Arrays, Case, Operation, SpecialValues, quarter_of_range, x_to_y_by_element


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"y": inputs["x"]}


def flops(case: Case) -> int:
    return 2 * int(case.parameter("chain", 0)) * case.elements


OPERATION = Operation(
    name="latency_hiding",
    summary="a copy by few warps or many, with arithmetic or without",
    arrays=x_to_y_by_element,
    reference=reference,
    flops=flops,
    parameters={"warps": 64, "chain": 0},
    large=quarter_of_range,
    special=SpecialValues("stays", "stays", "stays", "torch.clone"),
)
