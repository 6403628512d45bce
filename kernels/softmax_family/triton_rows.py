"""Softmax, log_softmax and layer_norm in Triton, of our own writing: tiles read once where they fit, tuned on the GPU.

Arrays are [outer, dim, inner]; `triton_choice.py` chooses tiles and launches. Functions that Triton compiles
have no types but `constexpr`: it takes other annotations for values. What is read once makes way in the L2 cache
(`evict_first`) for what is read twice (`evict_last`).
"""

import triton
import triton.language as tl


@triton.jit
def _result(shifted, exponentials, total, LOG: tl.constexpr):
    return shifted - tl.log(total) if LOG else exponentials * (1.0 / total)


@triton.jit
def _added(values, largest, total):
    """Online: the maximum so far and the sum of exponentials below it, with further values in each lane."""
    larger = tl.maximum(largest, values)
    base = tl.where(larger == -float("inf"), 0.0, larger)
    return larger, total * tl.exp(largest - base) + tl.exp(values - base)


@triton.jit
def _over_lanes(largest, total, AXIS: tl.constexpr):
    """Maximum and sum of exponentials over all lanes along AXIS, of which every lane has its own."""
    top = tl.max(largest, AXIS, keep_dims=True)
    base = tl.where(top == -float("inf"), 0.0, top)
    return top, tl.sum(total * tl.exp(largest - base), AXIS, keep_dims=True)


@triton.jit
def rows_in_tiles(x, y, rows, columns: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, LOG: tl.constexpr):
    """ROWS whole rows per program, inner 1."""
    first = tl.program_id(0).to(tl.int64) * ROWS
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    at = first * columns + row * columns + column
    inside = (row < rows - first) & (column < columns)
    values = tl.load(x + at, mask=inside, other=-float("inf"), eviction_policy="evict_first").to(tl.float32)
    shifted = values - tl.max(values, 1, keep_dims=True)
    exponentials = tl.exp(shifted)
    result = _result(shifted, exponentials, tl.sum(exponentials, 1, keep_dims=True), LOG)
    tl.store(y + at, result, mask=inside, eviction_policy="evict_first")


@triton.jit
def norm_rows_in_tiles(
    x, gamma, beta, y, rows, eps, columns: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    """Layer norm of ROWS whole rows per program: the steps of Triton's tutorial, with the row kept between them."""
    first = tl.program_id(0).to(tl.int64) * ROWS
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    at = first * columns + row * columns + column
    inside = (row < rows - first) & (column < columns)
    values = tl.load(x + at, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
    weight = tl.load(gamma + column, mask=column < columns, other=0.0).to(tl.float32)
    bias = tl.load(beta + column, mask=column < columns, other=0.0).to(tl.float32)
    centred = tl.where(column < columns, values - tl.sum(values, 1, keep_dims=True) / columns, 0.0)
    variance = tl.sum(centred * centred, 1, keep_dims=True) / columns
    tl.store(y + at, centred / tl.sqrt(variance + eps) * weight + bias, mask=inside, eviction_policy="evict_first")


@triton.jit
def long_rows(x, y, columns: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr, LOG: tl.constexpr):
    """One row per program, read twice: for maximum and sum, then for the result, from the end that was read last."""
    first = tl.program_id(0).to(tl.int64) * columns
    lane = tl.arange(0, BLOCK)
    largest, total = tl.full((BLOCK,), -float("inf"), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, columns, BLOCK, num_stages=STAGES):
        column = start + lane
        values = tl.load(x + first + column, mask=column < columns, other=-float("inf"), eviction_policy="evict_last")
        largest, total = _added(values.to(tl.float32), largest, total)
    top, whole = _over_lanes(largest, total, 0)
    for back in tl.range(0, columns, BLOCK, num_stages=STAGES):
        column = (tl.cdiv(columns, BLOCK) - 1) * BLOCK - back + lane
        values = tl.load(x + first + column, mask=column < columns, other=0.0, eviction_policy="evict_first")
        shifted = values.to(tl.float32) - top
        result = _result(shifted, tl.exp(shifted), whole, LOG)
        tl.store(y + first + column, result, mask=column < columns, eviction_policy="evict_first")


@triton.jit
def columns_in_tiles(
    x, y, outer, dim: tl.constexpr, inner: tl.constexpr,
    OUTER: tl.constexpr, DIM: tl.constexpr, INNER: tl.constexpr, LOG: tl.constexpr,
):  # fmt: skip
    """All of dim for INNER neighbours in each of OUTER slabs per program."""
    program, blocks = tl.program_id(0), tl.cdiv(inner, INNER)
    slab = (program // blocks).to(tl.int64) * OUTER + tl.arange(0, OUTER)[:, None, None]
    along = tl.arange(0, DIM)[None, :, None]
    across = program % blocks * INNER + tl.arange(0, INNER)[None, None, :]
    at = slab * dim * inner + along.to(tl.int64) * inner + across
    inside = (slab < outer) & (along < dim) & (across < inner)
    values = tl.load(x + at, mask=inside, other=-float("inf"), eviction_policy="evict_first").to(tl.float32)
    shifted = values - tl.max(values, 1, keep_dims=True)
    exponentials = tl.exp(shifted)
    result = _result(shifted, exponentials, tl.sum(exponentials, 1, keep_dims=True), LOG)
    tl.store(y + at, result, mask=inside, eviction_policy="evict_first")


@triton.jit
def small_slabs(
    x, y, outer, dim: tl.constexpr, inner: tl.constexpr, DIM: tl.constexpr, LANES: tl.constexpr, LOG: tl.constexpr
):  # fmt: skip
    """All of dim for LANES columns per program, which go on from one slab of few neighbours into the next."""
    first = tl.program_id(0).to(tl.int64) * LANES
    slab = first // inner
    along, lane = tl.arange(0, DIM)[:, None], (first % inner).to(tl.int32) + tl.arange(0, LANES)[None, :]
    at = slab * dim * inner + lane // inner * (dim * inner) + along * inner + lane % inner
    inside = (along < dim) & (lane // inner < outer - slab)
    values = tl.load(x + at, mask=inside, other=-float("inf"), eviction_policy="evict_first").to(tl.float32)
    shifted = values - tl.max(values, 0, keep_dims=True)
    exponentials = tl.exp(shifted)
    result = _result(shifted, exponentials, tl.sum(exponentials, 0, keep_dims=True), LOG)
    tl.store(y + at, result, mask=inside, eviction_policy="evict_first")


@triton.jit
def sums_of_parts(
    x, tops, sums, dim, inner: tl.constexpr, parts, DIM: tl.constexpr, INNER: tl.constexpr, STAGES: tl.constexpr
):  # fmt: skip
    """Maximum and sum of exponentials of one of `parts` of dim, for INNER neighbours; to [outer, parts, inner]."""
    program, blocks = tl.program_id(0), tl.cdiv(inner, INNER)
    across, group = program % blocks * INNER + tl.arange(0, INNER)[None, :], program // blocks
    slab, part, steps = (group // parts).to(tl.int64), group % parts, tl.cdiv(tl.cdiv(dim, parts), DIM)
    lane = tl.arange(0, DIM)[:, None]
    largest, total = tl.full((DIM, INNER), -float("inf"), tl.float32), tl.zeros((DIM, INNER), tl.float32)
    for step in tl.range(0, steps, num_stages=STAGES):
        start = (part * steps + step) * DIM
        at, inside = (slab * dim + start) * inner + (lane * inner + across), (lane < dim - start) & (across < inner)
        values = tl.load(x + at, mask=inside, other=-float("inf"), eviction_policy="evict_last")
        largest, total = _added(values.to(tl.float32), largest, total)
    top, whole = _over_lanes(largest, total, 0)
    own = group.to(tl.int64) * inner + across
    tl.store(tops + own, top, mask=across < inner)
    tl.store(sums + own, whole, mask=across < inner)


@triton.jit
def parts_from_sums(
    x, y, tops, sums, dim, inner: tl.constexpr, parts,
    DIM: tl.constexpr, INNER: tl.constexpr, PARTS: tl.constexpr, STAGES: tl.constexpr, LOG: tl.constexpr,
):  # fmt: skip
    """The results of one part of dim, from maxima and sums of all parts, from the end that was read last."""
    program, blocks = tl.num_programs(0) - 1 - tl.program_id(0), tl.cdiv(inner, INNER)
    across, group = program % blocks * INNER + tl.arange(0, INNER)[None, :], program // blocks
    slab, part, steps = (group // parts).to(tl.int64), group % parts, tl.cdiv(tl.cdiv(dim, parts), DIM)
    each = tl.arange(0, PARTS)[:, None]
    known, inside_parts = (slab * parts + each) * inner + across, (each < parts) & (across < inner)
    largest = tl.load(tops + known, mask=inside_parts, other=-float("inf"))
    top, whole = _over_lanes(largest, tl.load(sums + known, mask=inside_parts, other=0.0), 0)
    lane = tl.arange(0, DIM)[:, None]
    for step in tl.range(0, steps, num_stages=STAGES):
        start = (part * steps + steps - 1 - step) * DIM
        at, inside = (slab * dim + start) * inner + (lane * inner + across), (lane < dim - start) & (across < inner)
        shifted = tl.load(x + at, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32) - top
        tl.store(y + at, _result(shifted, tl.exp(shifted), whole, LOG), mask=inside, eviction_policy="evict_first")
