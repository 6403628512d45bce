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
from ._axes import merged_axes, permutation_of

DOWN, TALL = 16, 32  # packs of a tile's column: 256 bytes, or 512 for unaligned tiles if they fit, see tile_of
RESIDENT = {4: 2048, 2: 1280}  # threads per multiprocessor that registers suffice for in tall tiles, by itemsize
WAVES = 4  # waves of two blocks per multiprocessor from which large tiles keep a GPU busy
PACK_BYTES = 16
OTHERS = 4  # axes beside the two that are exchanged


def tile_of(planes: int, rows: int, columns: int, itemsize: int, device: DeviceProperties) -> tuple[int, int]:
    """Packs per row and per column of a tile. results/h200/trials.yaml has the figures."""
    size = PACK_BYTES // itemsize
    if rows % size or columns % size:
        several = rows > TALL * size
        fits = 2 * shared_bytes(16, TALL, itemsize) <= device.shared_per_multiprocessor
        return 16, TALL if several and fits else DOWN
    if size == 4:
        return 16, DOWN
    blocks = planes * -(-rows // (DOWN * size)) * (columns // (32 * size))
    whole = columns % (32 * size) == 0
    return (32 if whole and blocks >= WAVES * 2 * device.multiprocessors else 8), DOWN


def shared_bytes(across: int, down: int, itemsize: int) -> int:
    """Rows of a tile as they lie in x, one or two packs more than it has, and a word behind those of each pack of y."""
    size = PACK_BYTES // itemsize
    pitch = across * PACK_BYTES + (4 if itemsize < 4 else 0)
    return (down + (2 if down == TALL else 1)) * (size * pitch + 4)


def plan(
    case: Case,
    device: DeviceProperties,
    across: int | None = None,
    down: int | None = None,
    hint: int = 0,
) -> LaunchPlan:
    """Arguments left out are chosen by `tile_of`."""
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
    size = PACK_BYTES // itemsize
    chosen = tile_of(prod(extents), rows, columns, itemsize, device)
    across = chosen[0] if across is None else across
    down = chosen[1] if down is None else down
    resident = min(RESIDENT[itemsize], device.max_threads_per_multiprocessor) if down == TALL else 0
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
        shared_bytes=shared_bytes(across, down, itemsize),
    )
    return LaunchPlan(
        (launch,),
        defines=(("ACROSS", across), ("DOWN", down), ("RESIDENT", resident), ("HINT", hint)),
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
        "tiles through swizzled shared memory, 16 bytes per access on both sides",
        Origin("written here"),
        plan=plan,
        tunable=TUNABLE,
    ),
)
