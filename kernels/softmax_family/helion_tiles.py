"""Softmax, log_softmax and layer norm in Helion, which tunes tiles, warps and loops over long axes on the GPU in use.

Imported by our_helion() only, once Helion is known to be there. Helion reads these functions' source: their loops are
over tiles, and a whole axis, `:`, is held by a program or read in a loop, as its tuner chooses.
"""

import helion
import helion.language as hl
import torch

EFFORT, MOST_S = "quick", 15  # of Helion's tuner, for each shape and type; it has no more than that for one

_tuned = helion.kernel(
    static_shapes=True,
    autotune_effort=EFFORT,
    autotune_budget_seconds=MOST_S,
    autotune_progress_bar=False,
    autotune_ignore_errors=True,
)


@_tuned
def softmax_rows(x: torch.Tensor, y: torch.Tensor) -> None:
    """Softmax of each row of x, [rows, columns], into y."""
    for row in hl.tile(x.size(0)):
        y[row, :] = torch.softmax(x[row, :].to(torch.float32), dim=1).to(y.dtype)


@_tuned
def log_softmax_rows(x: torch.Tensor, y: torch.Tensor) -> None:
    for row in hl.tile(x.size(0)):
        y[row, :] = torch.log_softmax(x[row, :].to(torch.float32), dim=1).to(y.dtype)


@_tuned
def softmax_axis(x: torch.Tensor, y: torch.Tensor) -> None:
    """Softmax along dim of x, [outer, dim, inner], into y."""
    for slab, beside in hl.tile([x.size(0), x.size(2)]):
        y[slab, :, beside] = torch.softmax(x[slab, :, beside].to(torch.float32), dim=1).to(y.dtype)


@_tuned
def log_softmax_axis(x: torch.Tensor, y: torch.Tensor) -> None:
    for slab, beside in hl.tile([x.size(0), x.size(2)]):
        y[slab, :, beside] = torch.log_softmax(x[slab, :, beside].to(torch.float32), dim=1).to(y.dtype)


@_tuned
def layer_norm_rows(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    """Layer norm of each row of x, [rows, columns], into y."""
    for row in hl.tile(x.size(0)):
        values = x[row, :].to(torch.float32)
        variance, mean = torch.var_mean(values, dim=1, keepdim=True, correction=0)
        normed = (values - mean) * torch.rsqrt(variance + eps)
        y[row, :] = (normed * gamma[:].to(torch.float32) + beta[:].to(torch.float32)).to(y.dtype)


KERNELS = {  # by whether the result is the logarithm, and whether the axis is the last
    (False, True): softmax_rows,
    (True, True): log_softmax_rows,
    (False, False): softmax_axis,
    (True, False): log_softmax_axis,
}
