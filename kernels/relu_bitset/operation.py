"""Relu with a mask of one bit per element: y = x where x > 0, else 0; the bit is set where x > 0.

Element i is bit i % 8 of byte i / 8, so bit i % 32 of word i / 32: the order that relu_grad reads. Bits beyond the last
element are 0. A kernel of another order says so and has a reference of its own. A NaN is not above 0: it gives 0 and no
bit, where relu keeps it. An element is moved or it is not, so nothing is rounded.
"""

from typing import Any

from kernelbench import FLOATS, Arrays, ArraySpec, Case, Operation, SpecialValues, quarter_of_range

WORD = 32
TILE = 2048  # elements whose bits stay together in every order


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    case.require_dtype(*FLOATS)
    split = case.elements // TILE if case.elements % TILE == 0 else 1
    return (
        ArraySpec("x", case.shape, case.dtype, "input", split=split),
        ArraySpec("y", case.shape, case.dtype, "output", split=split),
        ArraySpec("mask", (-(-case.elements // WORD),), "uint32", "output", split=split),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    x = inputs["x"]
    positive = (x > 0).reshape(-1)
    padded = xp.zeros(-(-positive.size // WORD) * WORD, dtype=bool)
    padded[: positive.size] = positive
    weights = xp.left_shift(1, xp.arange(WORD)).astype(float)  # a GPU's pow is not exact, not even of 2
    return {"y": xp.where(x > 0, x, 0.0), "mask": (padded.reshape(-1, WORD) * weights).sum(axis=1)}


OPERATION = Operation(
    name="relu_bitset",
    summary="relu with a mask of one bit per element of where it is above 0",
    arrays=arrays,
    reference=reference,
    large=quarter_of_range,
    special=SpecialValues(
        "0, bit 0",
        "inf, bit 1",
        "0, bit 0",
        "torch.relu",
        differs="which keeps a NaN: here it is not above 0, as in the kernels that are compared",
    ),
)
