"""Launch plans of oneflow.cu: OneFlow's softmax, its three techniques alone and dispatched as OneFlow does.

One source serves all: a technique and its compile-time constants are chosen by defines.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes

WARP = 32
WARP_COLUMNS = 1024  # most that the warp technique's registers hold; the dispatch leaves it one earlier
WARP_BLOCK = 128
UNCACHED_BLOCK = 1024
WAVES = 32  # the grid is at most so many times what the GPU holds at once
MAX_COLUMNS = 2**31 - 1 - UNCACHED_BLOCK  # the kernels' int indices go up to a block past the row's end
# Static shared memory of the shared technique in bytes, by block size: one float per warp for each of two reductions.
STATIC_SHARED = {128: 32, 256: 64, 512: 128, 1024: 256}


class WarpShape(NamedTuple):
    """The compile-time constants of the warp technique."""

    pack: int  # neighbouring elements per access
    group: int  # lanes per row
    columns_per_thread: int
    rows_per_access: int
    padded: bool  # some lanes hold places beyond the row


def rows_columns(case: Case) -> tuple[int, int]:
    case.refuse("mask")
    return case.rows_columns(max_columns=MAX_COLUMNS)


def pack_size(columns: int) -> int:
    """2 where every row starts at an even element, else 1."""
    return 2 if columns % 2 == 0 else 1


def grid_size(blocks: int, threads: int, device: DeviceProperties) -> int:
    """`blocks`, but at most 32 times what the GPU holds at once by its threads."""
    resident = device.multiprocessors * device.max_threads_per_multiprocessor // threads
    return max(1, min(blocks, resident * WAVES))


def warp_shape(rows: int, columns: int) -> WarpShape:
    """Up to 32 packs: the next power of two of lanes, one pack each, and two rows at once if rows are even.

    Beyond: all 32 lanes, as many packs each as cover the row, one row at once.
    """
    pack = pack_size(columns)
    for group in (1, 2, 4, 8, 16, 32):
        if columns <= group * pack:
            return WarpShape(pack, group, pack, 2 if rows % 2 == 0 else 1, columns != group * pack)
    columns_per_thread = -(-columns // (WARP * pack)) * pack
    return WarpShape(pack, WARP, columns_per_thread, 1, columns != WARP * columns_per_thread)


def resident_blocks(block: int, columns: int, device: DeviceProperties) -> int:
    """Blocks of the shared technique that a multiprocessor holds at once; 0 beyond 48 KB per block.

    oneflow.cu bounds its registers so that they never are what limits this.
    """
    shared = 4 * columns + STATIC_SHARED[block]
    if shared > device.shared_per_block:
        return 0
    registers = device.registers_per_multiprocessor // device.max_threads_per_multiprocessor // 8 * 8
    return device.resident_blocks(block, registers, shared)


def chosen_block(columns: int, device: DeviceProperties) -> int:
    """The largest of 128, 256, 512 and 1024 threads with as many resident blocks as 128; 0 if none fits."""
    most = resident_blocks(128, columns, device)
    if most == 0:
        return 0
    return next((block for block in (1024, 512, 256) if resident_blocks(block, columns, device) == most), 128)


def _launch_plan(
    case: Case, technique: str, grid: int, block: tuple[int, int, int], constants: dict[str, int], reason: str
) -> LaunchPlan:
    rows, columns = rows_columns(case)
    launch = Launch(
        entry=f"softmax_oneflow_{technique}_{dtypes.suffix(case.dtype)}",
        grid=(grid, 1, 1),
        block=block,
        arguments=(
            "x",
            "y",
            Scalar("int64", rows),
            Scalar("int32", columns),
            Scalar("float32", case.parameter("scale", 1.0)),
        ),
        shared_bytes=4 * columns if technique == "shared" else 0,
    )
    defines: tuple[tuple[str, str | int], ...] = (("ONEFLOW_TECHNIQUE", f"ONEFLOW_{technique.upper()}"),)
    defines += tuple((f"ONEFLOW_{name}", value) for name, value in constants.items())
    alignment = constants["PACK"] * dtypes.itemsize(case.dtype)
    return LaunchPlan((launch,), defines, reasons=(reason,), alignment=alignment)


def plan_warp(case: Case, device: DeviceProperties) -> LaunchPlan:
    rows, columns = rows_columns(case)
    if columns > WARP_COLUMNS:
        raise Unsupported(f"columns must be at most {WARP_COLUMNS}, a warp's registers hold the row, got {columns}")
    shape = warp_shape(rows, columns)
    groups = WARP_BLOCK // shape.group
    constants = {
        "PACK": shape.pack,
        "GROUP": shape.group,
        "COLUMNS_PER_THREAD": shape.columns_per_thread,
        "ROWS_PER_ACCESS": shape.rows_per_access,
        "PADDED": int(shape.padded),
    }
    reason = (
        f"{shape.group} lanes and {shape.rows_per_access} rows at once, {shape.columns_per_thread} columns per lane "
        f"by packs of {shape.pack}, {'padded' if shape.padded else 'no padding'}"
    )
    grid = grid_size(-(-(rows // shape.rows_per_access) // groups), WARP_BLOCK, device)
    return _launch_plan(case, "warp", grid, (shape.group, groups, 1), constants, reason)


def _plan_shared(case: Case, device: DeviceProperties, block: int, transposed: bool, reason: str) -> LaunchPlan:
    rows, columns = rows_columns(case)
    static = STATIC_SHARED[block or 128]
    if 4 * columns + static > device.shared_per_block:
        most = (device.shared_per_block - static) // 4
        raise Unsupported(
            f"columns must be at most {most}, {device.shared_per_block} bytes of shared memory per block, got {columns}"
        )
    constants = {
        "PACK": pack_size(columns),
        "BLOCK": block,
        "TRANSPOSED": int(transposed),
        "RESIDENT_THREADS": device.max_threads_per_multiprocessor,
    }
    return _launch_plan(case, "shared", grid_size(rows, block, device), (block, 1, 1), constants, reason)


def _block_reason(columns: int, device: DeviceProperties) -> tuple[int, str]:
    block = chosen_block(columns, device)
    resident = resident_blocks(block, columns, device) if block else 0
    if block == 128:
        return block, f"block 128: {resident} resident blocks, every larger block has fewer"
    return block, f"block {block}: the largest with {resident} resident blocks, as many as 128 threads have"


def plan_shared(case: Case, device: DeviceProperties) -> LaunchPlan:
    block, reason = _block_reason(rows_columns(case)[1], device)
    return _plan_shared(case, device, block, True, reason)


def plan_shared_conflicted(case: Case, device: DeviceProperties) -> LaunchPlan:
    block, reason = _block_reason(rows_columns(case)[1], device)
    return _plan_shared(case, device, block, False, reason)


def forced_block(block: int) -> Callable[[Case, DeviceProperties], LaunchPlan]:
    def plan_forced(case: Case, device: DeviceProperties) -> LaunchPlan:
        return _plan_shared(case, device, block, True, f"block {block}: forced")

    return plan_forced


def plan_uncached(case: Case, device: DeviceProperties, block: int = UNCACHED_BLOCK) -> LaunchPlan:
    rows, columns = rows_columns(case)
    constants = {"PACK": pack_size(columns), "BLOCK": block}
    why = "the fewer rows in flight, the more of them stay in the caches" if block == UNCACHED_BLOCK else "forced"
    return _launch_plan(
        case, "uncached", grid_size(rows, block, device), (block, 1, 1), constants, f"block {block}: {why}"
    )


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    _, columns = rows_columns(case)
    if columns < WARP_COLUMNS:
        chosen, reason = plan_warp(case, device), f"columns {columns} < 1024: a warp or part of a warp per row"
    elif chosen_block(columns, device):
        chosen, reason = plan_shared(case, device), "columns >= 1024 and the row fits 48 KB: kept by one block"
    else:
        chosen, reason = plan_uncached(case, device), "the row does not fit 48 KB: one block per row, read three times"
    return replace(chosen, reasons=(reason, *chosen.reasons))


URL = "https://github.com/Oneflow-Inc/oneflow/blob/master/oneflow/core/cuda/softmax.cuh"
COMMIT = "25c8978"
DIFFERS = (
    "the block reduction is made of shuffles where the original calls cub::BlockReduce; the scale rides on the load, "
    "as in OneFlow's fused kernels; the grid counts pairs of rows where two are taken at once, as in the commit named, "
    "while older versions counted rows"
)
SHARED_DIFFERS = (
    "; registers are bounded so that occupancy is known before compiling; 32 bytes of static shared memory at 128 "
    "threads leave 12280 columns"
)
ORIGIN = Origin("Oneflow-Inc/oneflow", URL, COMMIT, DIFFERS)
SHARED_ORIGIN = Origin("Oneflow-Inc/oneflow", URL, COMMIT, DIFFERS + SHARED_DIFFERS)
FORCED_ORIGIN = Origin("Oneflow-Inc/oneflow", URL, COMMIT, DIFFERS + SHARED_DIFFERS + "; the block size is not chosen")
UNCACHED_FORCED_ORIGIN = Origin(
    "Oneflow-Inc/oneflow", URL, COMMIT, DIFFERS + "; the original always takes 1024 threads"
)
CONFLICTED_ORIGIN = Origin(
    "Oneflow-Inc/oneflow",
    URL,
    COMMIT,
    DIFFERS + SHARED_DIFFERS + "; packs lie in shared memory in the row's order, moved 4 bytes at a time: what the "
    "original avoids. Left alone, the compiler joins the two accesses into one of 8 bytes, which has no conflict",
)

IMPLEMENTATIONS = (
    Implementation(
        "oneflow_warp", "OneFlow, a warp or part of a warp per row, up to 1024 columns", ORIGIN, plan=plan_warp
    ),
    Implementation("oneflow_shared", "OneFlow, one block per row in shared memory", SHARED_ORIGIN, plan=plan_shared),
    *(
        Implementation(
            f"oneflow_shared_{block}",
            f"OneFlow, {block} threads per row kept in shared memory",
            FORCED_ORIGIN,
            plan=forced_block(block),
        )
        for block in STATIC_SHARED
    ),
    Implementation(
        "oneflow_shared_conflicted",
        "OneFlow, a row in shared memory, laid out so that banks conflict",
        CONFLICTED_ORIGIN,
        plan=plan_shared_conflicted,
    ),
    Implementation("oneflow_uncached", "OneFlow, one block per row, read three times", ORIGIN, plan=plan_uncached),
    *(
        Implementation(
            f"oneflow_uncached_{block}",
            f"OneFlow, {block} threads per row, read three times",
            UNCACHED_FORCED_ORIGIN,
            plan=partial(plan_uncached, block=block),
        )
        for block in STATIC_SHARED
        if block != UNCACHED_BLOCK
    ),
    Implementation("oneflow", "OneFlow: warp, shared or uncached by the number of columns", SHARED_ORIGIN, plan=plan),
)
