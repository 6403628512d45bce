"""Launch plans of oneflow.cu: OneFlow's layer norm, its three techniques alone and dispatched as OneFlow does.

One source serves all: a technique and its compile-time constants are chosen by defines.
"""

from dataclasses import replace

from kernelbench import (
    Case,
    Deviation,
    DeviceProperties,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
    Scalar,
    Unsupported,
    dtypes,
)
from .operation import EPS

WARP = 32
WARP_COLUMNS = 1024  # most of the warp technique, by its dispatch
WARP_BLOCK = 128
BLOCKS = (1024, 512, 256, 128)  # of the shared technique
UNCACHED_BLOCK = 1024
WAVES = 32  # the grid is at most so many times what the GPU holds at once
STATIC_SHARED = (WARP + 1) * 3 * 4  # bytes: mean, squares and count of each warp, and of the block
MAX_COLUMNS = 2**31 - 1 - 4 * UNCACHED_BLOCK  # the kernels' int indices go up to a block past the row's end


def pack_size(columns: int) -> int:
    """4, 2 or 1 elements: every row begins at a multiple of a pack."""
    return next(size for size in (4, 2, 1) if columns % size == 0)


def grid_size(blocks: int, threads: int, device: DeviceProperties) -> int:
    """`blocks`, but at most 32 times what the GPU holds at once by its threads."""
    resident = device.multiprocessors * device.max_threads_per_multiprocessor // threads
    return max(1, min(blocks, resident * WAVES))


def resident_blocks(block: int, columns: int, device: DeviceProperties) -> int:
    """Blocks of the shared technique that a multiprocessor holds at once; 0 beyond 48 KB per block.

    oneflow.cu bounds its registers so that they never are what limits this.
    """
    shared = 4 * columns + STATIC_SHARED
    if shared > device.shared_per_block:
        return 0
    registers = device.registers_per_multiprocessor // device.max_threads_per_multiprocessor // 8 * 8
    return device.resident_blocks(block, registers, shared)


def _plan(
    case: Case, technique: str, grid: int, block: tuple[int, int, int], constants: dict[str, int], reason: str
) -> LaunchPlan:
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    size = pack_size(columns)
    launch = Launch(
        entry=f"layer_norm_oneflow_{dtypes.suffix(case.dtype)}",
        grid=(grid, 1, 1),
        block=block,
        arguments=(
            "x", "gamma", "beta", "y", Scalar("int64", rows), Scalar("int32", columns), Scalar("float32", EPS)
        ),
        shared_bytes=4 * columns if technique == "shared" else 0,
    )  # fmt: skip
    defines: tuple[tuple[str, str | int], ...] = (
        ("ONEFLOW_TECHNIQUE", f"ONEFLOW_{technique.upper()}"),
        ("ONEFLOW_PACK", size),
        *((f"ONEFLOW_{name}", value) for name, value in constants.items()),
    )
    return LaunchPlan((launch,), defines, reasons=(reason,), alignment=size * dtypes.itemsize(case.dtype))


def plan_warp(case: Case, device: DeviceProperties) -> LaunchPlan:
    """Up to 32 packs: the next power of two of lanes, one pack each, and two rows at once if rows are even.

    Beyond: all 32 lanes, as many packs each as cover the row, one row at once.
    """
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    if columns > WARP_COLUMNS:
        raise Unsupported(f"columns must be at most {WARP_COLUMNS}, a warp's registers hold the row, got {columns}")
    size = pack_size(columns)
    group = next((lanes for lanes in (1, 2, 4, 8, 16, 32) if columns <= lanes * size), WARP)
    packs = -(-columns // (group * size))
    constants = {
        "GROUP": group,
        "COLUMNS_PER_THREAD": packs * size,
        "ROWS_PER_ACCESS": 2 if packs == 1 and rows % 2 == 0 else 1,
        "PADDED": int(columns != group * packs * size),
    }
    groups = WARP_BLOCK // group
    reason = (
        f"{group} lanes per row, {packs} packs of {size} elements per lane, {constants['ROWS_PER_ACCESS']} rows at once"
    )
    grid = grid_size(-(-rows // groups), WARP_BLOCK, device)
    return _plan(case, "warp", grid, (group, groups, 1), constants, reason)


def plan_shared(case: Case, device: DeviceProperties) -> LaunchPlan:
    """The largest block with as many resident blocks as 128 threads have."""
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    most = resident_blocks(BLOCKS[-1], columns, device)
    if most == 0:
        limit = (device.shared_per_block - STATIC_SHARED) // 4
        held = f"{device.shared_per_block} bytes of shared memory per block"
        raise Unsupported(f"columns must be at most {limit}, {held}, got {columns}")
    block = next(block for block in BLOCKS if resident_blocks(block, columns, device) == most)
    constants = {"BLOCK": block, "RESIDENT_THREADS": device.max_threads_per_multiprocessor}
    reason = f"block {block}: the largest with {most} resident blocks, as many as 128 threads have"
    return _plan(case, "shared", grid_size(rows, block, device), (block, 1, 1), constants, reason)


def plan_uncached(case: Case, device: DeviceProperties) -> LaunchPlan:
    rows, _ = case.rows_columns(max_columns=MAX_COLUMNS)
    grid = grid_size(rows, UNCACHED_BLOCK, device)
    reason = f"block {UNCACHED_BLOCK}: the fewer rows in flight, the more of them stay in the caches"
    return _plan(case, "uncached", grid, (UNCACHED_BLOCK, 1, 1), {"BLOCK": UNCACHED_BLOCK}, reason)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    _, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    if columns <= WARP_COLUMNS:
        chosen, reason = plan_warp(case, device), "columns <= 1024: a warp or part of a warp per row"
    elif resident_blocks(BLOCKS[-1], columns, device):
        chosen, reason = plan_shared(case, device), "columns > 1024 and the row fits 48 KB: kept by one block"
    else:
        chosen, reason = plan_uncached(case, device), "the row does not fit 48 KB: one block per row, read twice"
    return replace(chosen, reasons=(reason, *chosen.reasons))


ORIGIN = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow/blob/master/oneflow/core/cuda/layer_norm.cuh",
    "0dcb6f6",
    "mean and inverse deviation are not written, since this operation has no such outputs; registers of the shared "
    "technique are bounded so that occupancy is known before compiling; grids count resident blocks by threads. As "
    "in the original, a row with an infinity gives infinities beside NaN: its variance, NaN, counts as 0",
)
DEVIATIONS = tuple(
    Deviation(inputs, "a row with an infinity gives infinities and not NaN throughout: its variance, NaN, counts as 0")
    for inputs in ("inf", "-inf")
)

IMPLEMENTATIONS = tuple(
    Implementation(name, f"OneFlow{summary}", ORIGIN, plan=chosen, deviations=DEVIATIONS)
    for name, summary, chosen in (
        ("oneflow_warp", ", a warp or part of a warp per row, up to 1024 columns", plan_warp),
        ("oneflow_shared", ", one block per row in shared memory", plan_shared),
        ("oneflow_uncached", ", one block per row, read twice", plan_uncached),
        ("oneflow", ": warp, shared or uncached by the number of columns", plan),
    )
)
