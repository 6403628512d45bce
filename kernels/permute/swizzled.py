"""Launch plan of swizzled.cu: the last axes of both sides exchanged by tiles of 16-byte packs."""

from math import prod

from kernelbench import (
    FLOATS,
    Case,
    DeviceProperties,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
    Scalar,
    Tunable,
    Unsupported,
    dtypes,
)
from ..common.launch_helpers import merged_axes, permutation_of

DOWN = 16  # packs of a tile's column: 256 bytes
RESIDENT = {4: 2048, 2: 1280}  # threads per multiprocessor that registers suffice for, without spills, by itemsize
STORES_STREAM = 3  # a hint of common/streamed.cuh
WAVES = 4  # waves of two blocks per multiprocessor from which large tiles keep a GPU busy
PACK_BYTES = 16
UNIT = 16  # bytes of a load where rows begin anywhere; see shifted_tile.cuh
GRAIN = 1  # packs of a column of y that one block writes together there
OTHERS = 4  # axes beside the two that are exchanged


def tile_of(planes: int, rows: int, columns: int, size: int, device: DeviceProperties) -> tuple[int, int]:
    """Packs per row of a tile, of `size` elements each, and the hint. results/h200/trials.yaml has the figures."""
    if size == 4 or rows % size or columns % size:
        return 16, STORES_STREAM if size > 4 else 0
    blocks = planes * -(-rows // (DOWN * size)) * (columns // (32 * size))
    whole = columns % (32 * size) == 0
    return (32 if whole and blocks >= WAVES * 2 * device.multiprocessors else 8), 0


def shared_bytes(across: int, down: int, itemsize: int, unit: int, grain: int) -> int:
    """Rows of a tile as they lie in x, a grain more than it has, and a word behind those of each pack of y."""
    size = PACK_BYTES // itemsize
    pitch = across * PACK_BYTES + (unit if unit > itemsize else 0)
    return (down + grain) * (size * pitch + 4)


def plan(
    case: Case,
    device: DeviceProperties,
    across: int | None = None,
    down: int = DOWN,
    resident: int | None = None,
    hint: int | None = None,
    unit: int = UNIT,
    grain: int = GRAIN,
) -> LaunchPlan:
    """Arguments left out are chosen by `tile_of` or the constants above."""
    shape, permutation = merged_axes(case.shape, permutation_of(case))
    columns_axis, rows_axis = len(shape) - 1, permutation[-1]
    if rows_axis == columns_axis:
        raise Unsupported(f"the last axis must not stay the last, got '{''.join(map(str, permutation_of(case)))}'")
    x_strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    y_strides = {axis: prod(shape[later] for later in permutation[at + 1 :]) for at, axis in enumerate(permutation)}
    others = [axis for axis in permutation if axis not in (rows_axis, columns_axis)]
    if len(others) > OTHERS:
        raise Unsupported(f"at most {OTHERS + 2} axes may be left once neighbours are merged, got {len(shape)}")
    fill = (1,) * (OTHERS - len(others))  # in front: the kernel never divides by the first extent
    extents = (*fill, *(shape[axis] for axis in others))
    steps_x = (*(0 for _ in fill), *(x_strides[axis] for axis in others))
    steps_y = (*(0 for _ in fill), *(y_strides[axis] for axis in others))
    rows, columns = shape[rows_axis], shape[columns_axis]

    itemsize = dtypes.itemsize(case.dtype)
    resident = min(RESIDENT[itemsize] if resident is None else resident, device.max_threads_per_multiprocessor)
    size = PACK_BYTES // itemsize
    chosen = tile_of(prod(extents), rows, columns, size, device)
    across = chosen[0] if across is None else across
    hint = chosen[1] if hint is None else hint
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
        shared_bytes=shared_bytes(across, down, itemsize, unit, grain),
    )
    return LaunchPlan(
        (launch,),
        defines=(
            ("ACROSS", across),
            ("DOWN", down),
            ("RESIDENT", resident),
            ("HINT", hint),
            ("UNIT", unit),
            ("GRAIN", grain),
        ),
        reasons=(f"{prod(extents)} times {rows} rows of {columns}, one block per tile of {tall} x {wide}",),
    )


def layout(case: Case) -> str:
    """The two exchanged extents decide how tiles fit; the order of all axes decides where tiles lie in memory."""
    shape, permutation = merged_axes(case.shape, permutation_of(case))
    return f"{''.join(map(str, permutation))} of {shape[permutation[-1]]} x {shape[-1]}"


SHAPES = (((8192, 8192), "10"), ((8191, 8193), "10"), ((64, 256, 56, 56), "0231"), ((64, 56, 56, 256), "0312"))
TUNABLE = Tunable(
    {"across": (8, 16, 32), "down": (8, 16, 32), "hint": (0, 1, 3)},
    restrictions=("across * down <= 512",),  # with more threads, a multiprocessor holds only one block of halves
    layout=layout,
    cases=tuple(
        Case("permute", shape, -1, dtype, parameters=(("permutation", permutation),))
        for dtype in FLOATS
        for shape, permutation in SHAPES
    ),
)

IMPLEMENTATIONS = (
    Implementation(
        "swizzled",
        "tiles through swizzled shared memory, 16 bytes an access on both sides",
        Origin("written here"),
        plan=plan,
        tunable=TUNABLE,
    ),
)
