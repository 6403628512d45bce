"""Softmax and layer norm in Helion, which tunes tiles, warps and loops over long rows on the GPU in use. What it writes
is compiled by Triton or by NVIDIA's CuTe DSL.

Imported by our_helion() only, once Helion is known to be there. Helion reads the source of these functions: a loop is
over tiles, and a program holds a whole row, `:`, or reads it in a loop, as the tuner chooses.
"""

import helion
import helion.language as hl
import torch

MOST_S = 8  # of the tuner, for each shape and type


def _softmax(x: torch.Tensor, y: torch.Tensor) -> None:
    """Softmax of each row of x into y; both are [rows, columns]."""
    for row in hl.tile(x.size(0)):
        y[row, :] = torch.softmax(x[row, :].to(torch.float32), dim=1).to(y.dtype)


def _layer_norm(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    """Layer norm of each row of x into y; both are [rows, columns].

    Not by torch.var_mean, which Helion 1.2.0 gets wrong for rows of 768.
    """
    for row in hl.tile(x.size(0)):
        values = x[row, :].to(torch.float32)
        centred = values - values.sum(1, keepdim=True) / x.size(1)
        normed = centred * torch.rsqrt((centred * centred).sum(1, keepdim=True) / x.size(1) + eps)
        y[row, :] = (normed * gamma[:].to(torch.float32) + beta[:].to(torch.float32)).to(y.dtype)


# The kernel of each function and back end.
TUNED = {
    (name, back_end): helion.kernel(
        function,
        backend=back_end,
        static_shapes=True,
        autotune_effort="quick",
        autotune_budget_seconds=MOST_S,
        autotune_progress_bar=False,
        autotune_ignore_errors=True,
        autotune_benchmark_subprocess=False,  # which would copy arrays of gigabytes
    )
    for name, function in (("softmax", _softmax), ("layer_norm", _layer_norm))
    for back_end in ("triton", "cute")
}
