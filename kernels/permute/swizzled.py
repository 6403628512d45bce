"""Launch plan of swizzled.cu: the last axes of both sides exchanged by tiles of 16-byte packs."""

from math import prod

from kernelbench import dtypes
from kernelbench.errors import Unsupported
from kernelbench.plans import merged_axes, permutation_of
from kernelbench.records import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar

ACROSS = 16  # packs of a tile's row: 256 bytes, so that a warp's accesses are of whole lines on both sides
DOWN = 16  # and of its column
RESIDENT = 0  # threads of a multiprocessor that registers must suffice for: 0 asks for nothing
HINT = 0  # of common/streamed.cuh
PACK_BYTES = 16
OTHERS = 4  # axes beside the two that are exchanged


def plan(
    case: Case,
    device: DeviceProperties,
    across: int = ACROSS,
    down: int = DOWN,
    resident: int = RESIDENT,
    hint: int = HINT,
) -> LaunchPlan:
    shape, permutation = merged_axes(case.shape, permutation_of(case))
    columns_axis, rows_axis = len(shape) - 1, permutation[-1]
    if rows_axis == columns_axis:
        raise Unsupported(f"the last axis must not stay the last, got '{''.join(map(str, permutation_of(case)))}'")
    x_strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    y_strides = {axis: prod(shape[later] for later in permutation[at + 1 :]) for at, axis in enumerate(permutation)}
    others = [axis for axis in permutation if axis not in (rows_axis, columns_axis)]
    if len(others) > OTHERS:
        raise Unsupported(f"at most {OTHERS + 2} axes may be left once neighbours are one, got {len(shape)}")
    fill = (1,) * (OTHERS - len(others))  # in front, where nothing is divided by the first
    extents = (*fill, *(shape[axis] for axis in others))
    steps_x = (*(0 for _ in fill), *(x_strides[axis] for axis in others))
    steps_y = (*(0 for _ in fill), *(y_strides[axis] for axis in others))
    rows, columns = shape[rows_axis], shape[columns_axis]

    itemsize = dtypes.itemsize(case.dtype)
    resident = min(resident, device.max_threads_per_multiprocessor)
    size = PACK_BYTES // itemsize
    tall, wide = down * size, across * size
    blocks = prod(extents) * -(-rows // tall) * -(-columns // wide)
    if blocks > device.max_grid[0]:
        raise Unsupported(f"tiles must be at most {device.max_grid[0]}, got {blocks}")
    numbers = (rows, columns, x_strides[rows_axis], y_strides[columns_axis], *extents, *steps_x, *steps_y)
    launch = Launch(
        entry=f"permute_swizzled_{dtypes.suffix(case.dtype)}",
        grid=(blocks, 1, 1),
        block=(across * down, 1, 1),
        arguments=("x", "y", *(Scalar("int64", number) for number in numbers)),
        shared_bytes=tall * across * PACK_BYTES,
    )
    return LaunchPlan(
        (launch,),
        defines=(("ACROSS", across), ("DOWN", down), ("RESIDENT", resident), ("HINT", hint)),
        reasons=(f"{prod(extents)} times {rows} rows of {columns}, a block a tile of {tall} x {wide}",),
    )


IMPLEMENTATIONS = (
    Implementation(
        "swizzled",
        "tiles through swizzled shared memory, 16 bytes an access on both sides",
        Origin("written here"),
        plan=plan,
    ),
)
