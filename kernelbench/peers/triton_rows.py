"""Softmax and log_softmax in Triton, of our own writing: tiles that are read once where they fit, tuned on the GPU.

Arrays are [outer, dim, inner]. Imported only by its peers, once triton is known to be there.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import triton
import triton.language as tl

MOST_TILE = 32768  # elements that one program holds; with twice as many, registers spill
LEAST_INNER = 8  # neighbours that a program takes along
LEAST_A_THREAD, MOST_A_THREAD = 8, 64  # elements


@triton.jit
def _normalised(shifted: Any, powers: Any, total: Any, LOG: tl.constexpr) -> Any:
    if LOG:
        return shifted - tl.log(total)
    return powers / total


@triton.jit
def rows_in_tiles(x, y, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr, LOG: tl.constexpr):
    """ROWS whole rows a program, inner 1."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    at = row[:, None] * columns + column[None, :]
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    values = tl.load(x + at, mask=inside, other=-float("inf")).to(tl.float32)
    shifted = values - tl.max(values, 1)[:, None]
    powers = tl.exp(shifted)
    tl.store(y + at, _normalised(shifted, powers, tl.sum(powers, 1)[:, None], LOG), mask=inside)


@triton.jit
def long_rows(x, y, columns, BLOCK: tl.constexpr, LOG: tl.constexpr):
    """A row a program, read twice: maximum and sum in one pass, then the result."""
    start_of_row = tl.program_id(0).to(tl.int64) * columns
    lane = tl.arange(0, BLOCK)
    largest = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        inside = start + lane < columns
        values = tl.load(x + start_of_row + start + lane, mask=inside, other=-float("inf")).to(tl.float32)
        larger = tl.maximum(largest, tl.max(values, 0))
        base = tl.where(larger == -float("inf"), 0.0, larger)
        total = total * tl.exp(largest - base) + tl.sum(tl.exp(values - base), 0)
        largest = larger
    for start in range(0, columns, BLOCK):
        inside = start + lane < columns
        values = tl.load(x + start_of_row + start + lane, mask=inside).to(tl.float32)
        shifted = values - largest
        result = _normalised(shifted, tl.exp(shifted), total, LOG)
        tl.store(y + start_of_row + start + lane, result, mask=inside)


@triton.jit
def columns_in_tiles(x, y, dim, inner, DIM: tl.constexpr, INNER: tl.constexpr, LOG: tl.constexpr):
    """All of dim for INNER neighbours a program."""
    program, blocks = tl.program_id(0).to(tl.int64), tl.cdiv(inner, INNER)
    along, across = tl.arange(0, DIM), program % blocks * INNER + tl.arange(0, INNER)
    at = (program // blocks * dim + along[:, None]) * inner + across[None, :]
    inside = (along < dim)[:, None] & (across < inner)[None, :]
    values = tl.load(x + at, mask=inside, other=-float("inf")).to(tl.float32)
    shifted = values - tl.max(values, 0)[None, :]
    powers = tl.exp(shifted)
    tl.store(y + at, _normalised(shifted, powers, tl.sum(powers, 0)[None, :], LOG), mask=inside)


@triton.jit
def long_columns(x, y, dim, inner, DIM: tl.constexpr, INNER: tl.constexpr, LOG: tl.constexpr):
    """INNER neighbours a program, dim read twice in steps of DIM."""
    program, blocks = tl.program_id(0).to(tl.int64), tl.cdiv(inner, INNER)
    across = program % blocks * INNER + tl.arange(0, INNER)
    first = program // blocks * dim
    largest = tl.full((INNER,), -float("inf"), tl.float32)
    total = tl.zeros((INNER,), tl.float32)
    for start in range(0, dim, DIM):
        along = start + tl.arange(0, DIM)
        at = (first + along[:, None]) * inner + across[None, :]
        inside = (along < dim)[:, None] & (across < inner)[None, :]
        values = tl.load(x + at, mask=inside, other=-float("inf")).to(tl.float32)
        larger = tl.maximum(largest, tl.max(values, 0))
        base = tl.where(larger == -float("inf"), 0.0, larger)
        total = total * tl.exp(largest - base) + tl.sum(tl.exp(values - base[None, :]), 0)
        largest = larger
    for start in range(0, dim, DIM):
        along = start + tl.arange(0, DIM)
        at = (first + along[:, None]) * inner + across[None, :]
        inside = (along < dim)[:, None] & (across < inner)[None, :]
        shifted = tl.load(x + at, mask=inside).to(tl.float32) - largest[None, :]
        tl.store(y + at, _normalised(shifted, tl.exp(shifted), total[None, :], LOG), mask=inside)


def launch(x: Any, y: Any, extents: tuple[int, int, int], *, log: bool) -> None:
    """x to y, tensors of outer * dim * inner elements; the first call for a shape and type tunes."""
    outer, dim, inner = extents
    held = triton.next_power_of_2(dim)
    if inner == 1 and held <= MOST_TILE:
        _ROWS[lambda chosen: (triton.cdiv(outer, chosen["ROWS"]),)](x, y, outer, dim, COLUMNS=held, LOG=log)
    elif inner == 1:
        _LONG_ROWS[(outer,)](x, y, dim, LOG=log)
    elif held * LEAST_INNER <= MOST_TILE:
        _COLUMNS[lambda chosen: (outer * triton.cdiv(inner, chosen["INNER"]),)](x, y, dim, inner, DIM=held, LOG=log)
    else:
        _LONG_COLUMNS[lambda chosen: (outer * triton.cdiv(inner, chosen["INNER"]),)](x, y, dim, inner, LOG=log)


def _fitting(configs: list[Any], arguments: dict[str, Any], **fixed: Any) -> list[Any]:
    """The configurations whose tile is neither too small nor too large for their warps, and no wider than the array."""
    kept = []
    for config in configs:
        sizes = {**fixed, **config.kwargs}
        tile = prod(sizes[name] for name in ("ROWS", "COLUMNS", "DIM", "INNER", "BLOCK") if name in sizes)
        wide = "INNER" in sizes and sizes["INNER"] > max(LEAST_INNER, triton.next_power_of_2(arguments["inner"]))
        if LEAST_A_THREAD <= tile / (32 * config.num_warps) <= MOST_A_THREAD and tile <= MOST_TILE and not wide:
            kept.append(config)
    return kept or configs[:1]


def _tuned(kernel: Any, key: tuple[str, ...], **sizes: tuple[int, ...]) -> Any:
    """The kernel tuned over all of `sizes` and numbers of warps, anew for each `key` and type."""
    chosen = [dict(zip(sizes, values, strict=True)) for values in product(*sizes.values())]
    configs = [triton.Config(one, num_warps=warps) for one in chosen for warps in (1, 2, 4, 8, 16, 32)]
    prune = {"early_config_prune": _fitting}
    return triton.autotune(configs, key=[*key], prune_configs_by=prune)(kernel)


_ROWS = _tuned(rows_in_tiles, ("rows", "columns"), ROWS=(1, 2, 4, 8, 16, 32, 64, 128, 256))
_LONG_ROWS = _tuned(long_rows, ("columns",), BLOCK=(2048, 4096, 8192, 16384))
_COLUMNS = _tuned(columns_in_tiles, ("dim", "inner"), INNER=(8, 16, 32, 64, 128, 256))
_LONG_COLUMNS = _tuned(long_columns, ("dim", "inner"), DIM=(16, 64, 256), INNER=(8, 32, 128))
