"""Softmax and layer norm in Helion, which tunes tiles, warps and loops over long axes on the GPU in use.

Imported by our_helion() only, once Helion is known to be there. Helion reads these functions' source: their loops are
over tiles, and a whole axis, `:`, is held by a program or read in a loop, as its tuner chooses.
"""

import helion
import helion.language as hl
import torch

EFFORT, MOST_S = "quick", 8  # of Helion's tuner, for each shape and type; it has no more than that for one

_tuned = helion.kernel(
    static_shapes=True,
    autotune_effort=EFFORT,
    autotune_budget_seconds=MOST_S,
    autotune_progress_bar=False,
    autotune_ignore_errors=True,
    autotune_benchmark_subprocess=False,
)


@_tuned
def softmax_rows(x: torch.Tensor, y: torch.Tensor) -> None:
    """Softmax of each row of x, [rows, columns], into y."""
    for row in hl.tile(x.size(0)):
        y[row, :] = torch.softmax(x[row, :].to(torch.float32), dim=1).to(y.dtype)


@_tuned
def layer_norm_rows(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    """Layer norm of each row of x, [rows, columns], into y."""
    for row in hl.tile(x.size(0)):
        values = x[row, :].to(torch.float32)
        centred = values - values.sum(1, keepdim=True) / x.size(1)
        normed = centred * torch.rsqrt((centred * centred).sum(1, keepdim=True) / x.size(1) + eps)
        y[row, :] = (normed * gamma[:].to(torch.float32) + beta[:].to(torch.float32)).to(y.dtype)
