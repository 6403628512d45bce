"""The choice among our Triton kernels for a shape [outer, dim, inner], tuned over tiles and warps on the GPU in use.

Imported by our_triton() only, once triton is known to be there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from itertools import product
from math import prod
from typing import Any

import triton
import triton.testing

from kernelbench import import_library
from . import triton_rows

MOST_TILE = 32768  # elements that one program holds; with twice as many, registers spill
PACKED_TILE = 8192  # most elements of a program with several rows or slabs
ELEMENTS = (8, 16, 32)  # per thread; 64 in the largest tile
FEW_ELEMENTS = (8, 16)  # per thread, where it also holds a maximum and a sum, or a place, for each
WARPS, PACKED_WARPS = (1, 2, 4, 8, 16, 32), (1, 4, 8)  # per program, of one row and of several
LEAST_BYTES = 32  # of neighbours per program: a sector
NARROW = 32  # neighbours below which a program goes on into the next slab
LEAST_PROGRAMS, MOST_PARTS, LEAST_PART = 1024, 64, 256  # where a long axis is split
TILE = ("ROWS", "COLUMNS", "OUTER", "DIM", "INNER", "LANES", "BLOCK")  # extents of a tile
NEIGHBOURS, STEPS, STAGES = (2, 4, 8, 16, 32, 64, 128, 256), (16, 64, 256), (1, 3)
WARMUP_MS, TUNING_MS = 5, 25  # per configuration


def launcher(x: Any, y: Any, extents: tuple[int, int, int], *, log: bool) -> Callable[[], None]:
    """The call that takes x to y, tensors of outer * dim * inner elements, on the current stream.

    Where shape and type are new, all configurations are compiled at once, and then tried.
    """
    outer, dim, inner = extents
    held, shape = triton.next_power_of_2(dim), {"dim": dim, "inner": inner}
    beside = min(triton.next_power_of_2(inner), LEAST_BYTES // x.element_size())
    if inner == 1 and held <= MOST_TILE:
        return _tuned(_ROWS, _blocks((outer, "ROWS")), x, y, outer, columns=dim, COLUMNS=held, LOG=log)
    if inner == 1:
        return _tuned(_LONG_ROWS, _blocks((outer, "")), x, y, columns=dim, LOG=log)
    if inner < NARROW and inner != triton.next_power_of_2(inner) and held * NARROW <= MOST_TILE:
        return _tuned(_SLABS, _blocks((outer * inner, "LANES")), x, y, outer, **shape, DIM=held, LOG=log)
    if held * beside <= MOST_TILE:
        blocks = _blocks((outer, "OUTER"), (inner, "INNER"))
        return _tuned(_COLUMNS, blocks, x, y, outer, **shape, DIM=held, LOG=log)
    return _in_parts(x, y, extents, log)


def norm_launcher(x: Any, gamma: Any, beta: Any, y: Any, rows: int, columns: int, eps: float) -> Callable[[], None]:
    """The call that takes x to its layer norm y, likewise; columns are at most MOST_TILE."""
    held = triton.next_power_of_2(columns)
    return _tuned(_NORM_ROWS, _blocks((rows, "ROWS")), x, gamma, beta, y, rows, eps, columns=columns, COLUMNS=held)


def _in_parts(x: Any, y: Any, extents: tuple[int, int, int], log: bool) -> Callable[[], None]:
    """Two launches: maxima and sums of the parts of a long axis, and the results from these."""
    torch = import_library("torch")
    outer, dim, inner = extents
    programs = outer * triton.cdiv(inner, NARROW)
    parts = max(1, min(MOST_PARTS, triton.cdiv(LEAST_PROGRAMS, programs), dim // LEAST_PART))
    tops, sums = (x.new_empty(outer * parts * inner, dtype=torch.float32) for _ in range(2))
    blocks, shape = _blocks((outer * parts, ""), (inner, "INNER")), {"dim": dim, "inner": inner, "parts": parts}
    held = triton.next_power_of_2(parts)
    first = _tuned(_SUMS, blocks, x, tops, sums, **shape)
    second = _tuned(_PARTS, blocks, x, y, tops, sums, **shape, PARTS=held, LOG=log)

    def call() -> None:
        first()
        second()

    return call


def _blocks(*extents: tuple[int, str]) -> Callable[[Mapping[str, int]], tuple[int]]:
    """The grid: how many tiles of the chosen sizes the extents are; '' is a size of 1."""
    return lambda chosen: (prod(triton.cdiv(extent, chosen.get(size, 1)) for extent, size in extents),)


def _tuned(kernel: Any, blocks: Any, *arguments: Any, **constants: Any) -> Callable[[], None]:
    """The launch of the kernel in its fastest configuration; has run when this returns."""
    together = getattr(triton, "AsyncCompileMode", None)  # since Triton 3.4
    with ThreadPoolExecutor(os.cpu_count()) as threads, together(threads) if together else nullcontext():
        kernel.warmup(*arguments, grid=(1,), **constants)
    call: Callable[[], None] = partial(kernel[blocks], *arguments, **constants)
    call()
    return call


def _fitting(configs: Sequence[Any], arguments: Mapping[str, Any], **constants: Any) -> list[Any]:
    """The configurations whose tile suits its warps and is no wider than the array; at least one."""
    kept = [config for config in configs if _fits(config, {**arguments, **constants, **config.kwargs})]
    return kept or [configs[0]]


def _fits(config: Any, sizes: Mapping[str, Any]) -> bool:
    tile = prod(sizes[name] for name in TILE if name in sizes)
    a_thread = tile / (32 * config.num_warps)
    several = sizes.get("ROWS", 1) * sizes.get("OUTER", 1) > 1
    if "INNER" in sizes:
        all_neighbours = triton.next_power_of_2(sizes["inner"])
        least = min(all_neighbours, LEAST_BYTES // sizes["x"].element_size())
        if not least <= sizes["INNER"] <= all_neighbours or (several and sizes["INNER"] < all_neighbours):
            return False
    if "STAGES" in sizes and "DIM" in sizes:
        return a_thread in FEW_ELEMENTS and config.num_warps in PACKED_WARPS[1:]
    if "STAGES" in sizes or "LANES" in sizes:
        return a_thread in FEW_ELEMENTS
    if several:
        return a_thread in ELEMENTS and tile <= PACKED_TILE and config.num_warps in PACKED_WARPS
    return a_thread in ELEMENTS or (tile == MOST_TILE and a_thread == 2 * ELEMENTS[-1])


def _tunable(kernel: Any, key: tuple[str, ...], **sizes: Sequence[int]) -> Any:
    """The kernel with all of `sizes` and numbers of warps to choose from, anew for each `key` and type."""
    chosen = [dict(zip(sizes, values, strict=True)) for values in product(*sizes.values())]
    configs = [triton.Config(one, num_warps=warps) for one in chosen for warps in WARPS]
    prune = {"early_config_prune": _fitting}
    return triton.autotune(configs, key=[*key], prune_configs_by=prune, do_bench=_milliseconds)(kernel)


def _milliseconds(call: Callable[[], None], quantiles: Sequence[float]) -> Any:
    """Quantiles of the time of a call that finds the L2 cache cleared."""
    return triton.testing.do_bench(call, warmup=WARMUP_MS, rep=TUNING_MS, quantiles=list(quantiles))


_ROWS, _NORM_ROWS = (
    _tunable(kernel, ("rows", "columns"), ROWS=[2**power for power in range(13)])
    for kernel in (triton_rows.rows_in_tiles, triton_rows.norm_rows_in_tiles)
)
_LONG_ROWS = _tunable(triton_rows.long_rows, ("columns",), BLOCK=(2048, 4096, 8192, 16384), STAGES=STAGES)
_COLUMNS = _tunable(
    triton_rows.columns_in_tiles, ("outer", "dim", "inner"), OUTER=(1, 4, 16, 64, 256), INNER=NEIGHBOURS
)
_SLABS = _tunable(triton_rows.small_slabs, ("outer", "dim", "inner"), LANES=(32, 64, 128, 256, 512, 1024))
_SUMS = _tunable(triton_rows.sums_of_parts, ("dim", "inner", "parts"), DIM=STEPS, INNER=NEIGHBOURS, STAGES=STAGES)
_PARTS = _tunable(triton_rows.parts_from_sums, ("dim", "inner", "parts"), DIM=STEPS, INNER=NEIGHBOURS, STAGES=STAGES)
