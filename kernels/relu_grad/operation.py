"""The gradient of relu: dx = dy where the output y of relu is above 0, else 0.

Where it was above 0 is an input twice: as y itself, and as a mask of one bit per element, of which element i is bit
i % 8 of byte i / 8. Both are random, and neither follows from the other: kernels that read the mask have a reference
of their own, which reads the mask as well. The least traffic is that of the mask.
A NaN in y is not above 0 and gives 0; one in dy, or an infinity, stays where y is above 0. Nothing is rounded.
"""

from typing import Any

from kernelbench import FLOATS, Arrays, ArraySpec, Case, Operation, SpecialValues, quarter_of_range


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    """Elements that share a byte of the mask stay together."""
    case.require_dtype(*FLOATS)
    split = case.elements // 8 if case.elements % 8 == 0 else 1
    return (
        ArraySpec("dy", case.shape, case.dtype, "input", split=split),
        ArraySpec("y", case.shape, case.dtype, "input", split=split),
        ArraySpec("mask", (-(-case.elements // 8),), "uint8", "input", fill="bits", split=split),
        ArraySpec("dx", case.shape, case.dtype, "output", split=split),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"dx": xp.where(inputs["y"] > 0, inputs["dy"], 0.0)}


def bytes_moved(case: Case) -> int:
    return sum(spec.nbytes for spec in arrays(case) if spec.name != "y")


OPERATION = Operation(
    name="relu_grad",
    summary="the gradient of relu, from its output or from a mask of one bit per element",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    large=quarter_of_range,
    special=SpecialValues(
        "-inf in y gives 0, in dy it gives -inf or 0",
        "inf in y gives dy, in dy it gives inf or 0",
        "NaN in y gives 0, in dy it gives NaN or 0",
        "torch.ops.aten.threshold_backward",
        differs="which passes dy on where y is NaN: here that is not above 0, as in the kernels that are compared",
    ),
)
