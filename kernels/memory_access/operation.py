"""A copy of n elements whose one side is spread out: element i lies at offset + i * stride.

With `side` load, x is spread out and y dense: y[i] = x[offset + i * stride]. With store it is y:
y[offset + i * stride] = x[i], and what lies between is left as it was. The shape is that of the n elements.
Infinities stay, and so does a NaN.
"""

from typing import Any

from kernelbench import FLOATS, Arrays, ArraySpec, Case, Operation, SpecialValues, Unsupported, dtypes, quarter_of_range

PARAMETERS = {"side": "load", "offset": 0, "stride": 1}


def spread(case: Case) -> tuple[str, int, int]:
    """Side, offset and stride of the spread-out array, in elements."""
    side, offset, stride = (case.parameter(name, default) for name, default in PARAMETERS.items())
    if side not in ("load", "store"):
        raise Unsupported(f"side must be load or store, got {side}")
    if offset < 0 or stride < 1:
        raise Unsupported(f"offset must be at least 0 and stride at least 1, got {offset} and {stride}")
    return side, offset, stride


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    case.require_dtype(*FLOATS)
    side, offset, stride = spread(case)
    long, dense = (offset + (case.elements - 1) * stride + 1,), (case.elements,)
    x, y = (long, dense) if side == "load" else (dense, long)
    written = ArraySpec("y", y, case.dtype, "output", one_in=1 if side == "load" else stride)
    return (ArraySpec("x", x, case.dtype, "input"), written)


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    side, offset, stride = spread(case)
    x = inputs["x"].reshape(-1)
    if side == "load":
        return {"y": x[offset::stride]}
    y = xp.full(offset + (case.elements - 1) * stride + 1, xp.nan, x.dtype)  # what outputs hold before a check
    y[offset::stride] = x
    return {"y": y}


def bytes_moved(case: Case) -> int:
    """Bytes of the copied elements; those between them need not be moved."""
    return 2 * case.elements * dtypes.itemsize(case.dtype)


def flops(case: Case) -> int:
    return 0


OPERATION = Operation(
    name="memory_access",
    summary="a copy with one side at an offset and a stride",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    flops=flops,
    parameters=PARAMETERS,
    large=quarter_of_range,
    special=SpecialValues("stays", "stays", "stays", "torch.clone"),
    moves=True,
)
