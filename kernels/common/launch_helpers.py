"""Parts of launch plans that several operations share: grids and blocks, and the copy that serves as yardstick."""

from __future__ import annotations

from collections.abc import Callable

from kernelbench import FLOATS, Case, DeviceProperties, Launch, LaunchPlan, Scalar, Tunable, Unsupported, dtypes

Extent = tuple[int, int, int]

COPY_BLOCK = 256
COPY_PACK_BYTES = 16
COPY_PACKS = 4  # 16 KB in flight per block: four resident blocks have 64 KB per multiprocessor, enough for HBM3

COLUMNS_A_THREAD = 4  # of a kernel that goes element by element


def power_of_two_from(number: int) -> int:
    """The smallest power of two that is not below `number`."""
    return 1 << (number - 1).bit_length()


def evicts_first(nbytes: int, device: DeviceProperties) -> bool:
    """Whether a kernel that reads so many bytes once, and writes as many, should load and store with the hint "evict
    first": where the L2 holds both. It gained up to 4 % there, for layer_norm 9 %; beyond, it cost up to 8 %."""
    return 2 * nbytes <= device.l2_bytes


def elementwise_geometry(rows: int, columns: int, block: int, max_grid_y: int) -> tuple[Extent, Extent]:
    """Grid and block for `each_element` of softmax/rows.cuh on a matrix [rows, columns].

    Rows are shared by blocks of grid.y where a thread would have more than 4 columns.
    """
    lanes = min(block, power_of_two_from(columns))
    block_rows = block // lanes
    column_blocks = min(-(-columns // (lanes * COLUMNS_A_THREAD)), max_grid_y)
    return (-(-rows // block_rows), column_blocks, 1), (lanes, block_rows, 1)


def copy_plan(
    entry: str,
    arguments: tuple[str, ...],
    elements: int,
    itemsize: int,
    device: DeviceProperties,
    *,
    packs: int = COPY_PACKS,
    streamed: int = 0,
) -> LaunchPlan:
    """The launch of a kernel that calls `copy_packs` of common/copy.cuh, which copies `elements` from array to array.

    `arguments` are the kernel's arrays; the number of elements follows them. A thread has `packs` in flight;
    `streamed`: loads and stores are marked as used once.
    """
    tile = COPY_BLOCK * packs * COPY_PACK_BYTES
    blocks = max(1, -(-(elements * itemsize // COPY_PACK_BYTES) // (COPY_BLOCK * packs)))
    if blocks > device.max_grid[0]:
        largest = device.max_grid[0] * tile
        raise Unsupported(f"x must have at most {largest} bytes, got {elements * itemsize}")
    launch = Launch(
        entry=entry,
        grid=(blocks, 1, 1),
        block=(COPY_BLOCK, 1, 1),
        arguments=(*arguments, Scalar("int64", elements)),
    )
    return LaunchPlan((launch,), defines=(("BLOCK", COPY_BLOCK), ("PACKS", packs), ("STREAMED", streamed)))


# ---- Element by element --------------------------------------------------------------------------

ELEMENTWISE_BLOCK = 256  # of OneFlow's element-wise kernels
ELEMENTWISE_WAVES = 32  # times as many blocks as are resident, at most
ELEMENTWISE_PACK_BYTES = 16  # the widest access of a thread


def thread_each(items: int, device: DeviceProperties, block: int = ELEMENTWISE_BLOCK) -> Extent:
    """The grid of a kernel that gives each item one thread."""
    blocks = -(-items // block)
    if blocks > device.max_grid[0]:
        raise Unsupported(f"elements must be at most {device.max_grid[0] * block}, got {items}")
    return (blocks, 1, 1)


def waves_grid(
    items: int, device: DeviceProperties, block: int = ELEMENTWISE_BLOCK, waves: int = ELEMENTWISE_WAVES
) -> Extent:
    """OneFlow's grid of a grid-stride loop: one thread per item, but no more than `waves` times the resident blocks."""
    resident = device.multiprocessors * (device.max_threads_per_multiprocessor // block)
    return (max(1, min(-(-items // block), resident * waves)), 1, 1)


def packed_plan(
    entry: str,
    arguments: tuple[str, ...],
    case: Case,
    device: DeviceProperties,
    *,
    pack_bytes: int = ELEMENTWISE_PACK_BYTES,
    block: int = ELEMENTWISE_BLOCK,
    waves: int = ELEMENTWISE_WAVES,
    defines: tuple[tuple[str, str | int], ...] = (),
) -> LaunchPlan:
    """The launch of a kernel that calls `map_packed` of common/elementwise.cuh over arrays of the case's own type.

    `arguments` are the kernel's arrays; the numbers of packs and of elements follow them. With the parameter `debug` of
    the case, it is built by nvcc -G.
    """
    packs = case.elements // (pack_bytes // dtypes.itemsize(case.dtype))
    grid = waves_grid(packs, device, block, waves)
    launch = Launch(
        entry=entry,
        grid=grid,
        block=(block, 1, 1),
        arguments=(*arguments, Scalar("int64", packs), Scalar("int64", case.elements)),
    )
    reason = f"{packs} packs of {pack_bytes} bytes, one thread each, in at most {waves} waves of resident blocks"
    return LaunchPlan(
        (launch,),
        defines=(("BLOCK", block), *defines),
        reasons=(reason,),
        debug=case.parameter("debug", False),
    )


# ---- Streamed: one block per tile ----------------------------------------------------------------

# Packs of 16 bytes per thread and array in flight: eight resident blocks have 32 KB in flight from each array.
# results/h200/trials.yaml has the trials of these three.
STREAMED_PACKS = 1
STREAMED_BLOCK = 256
STREAMED_HINT = 0  # of common/streamed.cuh: none


STREAMED_VALUES = {"block": (128, 256, 512), "packs": (1, 2, 4), "hint": (0, 2, 3)}
MB = 2**20
STREAMED_BYTES = (16 * MB, 64 * MB, 256 * MB, 1024 * MB)


def streamed_tunable(operation: str, dtypes_: tuple[str, ...] = FLOATS) -> Tunable:
    """For a kernel that calls `map_streamed`; for it all shapes of the same size are alike."""
    return Tunable(STREAMED_VALUES, cases=cases_of_bytes(operation, STREAMED_BYTES, dtypes_))


def cases_of_bytes(operation: str, sizes: tuple[int, ...], dtypes_: tuple[str, ...] = FLOATS) -> tuple[Case, ...]:
    """A single axis of so many bytes, in each data type."""
    return tuple(
        Case(operation, (nbytes // dtypes.itemsize(dtype),), -1, dtype) for dtype in dtypes_ for nbytes in sizes
    )


def streamed_plan(
    entry: str,
    arguments: tuple[str | Scalar, ...],
    case: Case,
    device: DeviceProperties,
    *,
    block: int = STREAMED_BLOCK,
    packs: int = STREAMED_PACKS,
    hint: int = STREAMED_HINT,
    defines: tuple[tuple[str, str | int], ...] = (),
    per_pack: int | None = None,
) -> LaunchPlan:
    """The launch of a kernel that calls `map_streamed` of common/streamed.cuh: each block moves one tile and ends.

    `arguments` are the kernel's arrays, and what follows the number of elements. A pack has `per_pack` elements; left
    out, as many of the case's type as fit 16 bytes.
    """
    tile = block * packs * (per_pack or ELEMENTWISE_PACK_BYTES // dtypes.itemsize(case.dtype))
    blocks = max(1, -(-case.elements // tile))
    if blocks > device.max_grid[0]:
        raise Unsupported(f"elements must be at most {device.max_grid[0] * tile}, got {case.elements}")
    arrays = tuple(one for one in arguments if isinstance(one, str))
    launch = Launch(
        entry=entry,
        grid=(blocks, 1, 1),
        block=(block, 1, 1),
        arguments=(*arrays, Scalar("int64", case.elements), *arguments[len(arrays) :]),
    )
    return LaunchPlan(
        (launch,),
        defines=(("BLOCK", block), ("PACKS", packs), ("HINT", hint), *defines),
        reasons=(f"one block per tile of {tile} elements; {packs} packs per thread in flight",),
    )


def streamed(
    entry: str, arguments: tuple[str, ...], further: Callable[[Case], tuple[Scalar, ...]] = lambda case: ()
) -> Callable[..., LaunchPlan]:
    """The plan of a kernel that calls `map_streamed` and nothing else, with the arguments of `streamed_tunable`.

    `entry` lacks the data type; `further`: what follows the number of elements.
    """

    def plan(
        case: Case,
        device: DeviceProperties,
        block: int = STREAMED_BLOCK,
        packs: int = STREAMED_PACKS,
        hint: int = STREAMED_HINT,
    ) -> LaunchPlan:
        given: tuple[str | Scalar, ...] = (*arguments, *further(case))
        return streamed_plan(
            f"{entry}_{dtypes.suffix(case.dtype)}", given, case, device, block=block, packs=packs, hint=hint
        )

    return plan


# ---- Indices and axes ----------------------------------------------------------------------------

MAX_NARROW_ELEMENTS = 2**30  # with 32-bit indices: a step of the grid beyond the last element stays below 2^31


def index_name(elements: int) -> str:
    """The type that indices of so many elements need, as entries are named: `i32` or `i64`."""
    return "i32" if elements <= MAX_NARROW_ELEMENTS else "i64"
