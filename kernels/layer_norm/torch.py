"""Peer: torch.nn.functional.layer_norm, which allocates its output.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..common.peers import array_of, torch_tensor, torch_with_gpu
from .operation import EPS

MOST_ROWS = 2**31 - 1  # a block per row: PyTorch refuses more than a grid has


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], Arrays]:
    case.rows_columns(max_rows=MOST_ROWS)
    torch = torch_with_gpu()
    x, gamma, beta = (torch_tensor(torch, arrays[name], case.dtype) for name in ("x", "gamma", "beta"))
    own_stream = torch.cuda.ExternalStream(stream)

    def call() -> Arrays:
        with torch.cuda.stream(own_stream), torch.no_grad():
            result = torch.nn.functional.layer_norm(x, case.shape[-1:], gamma, beta, EPS)
            return {"y": array_of(torch, result, case.dtype)}

    return call


IMPLEMENTATIONS = (
    Implementation(
        "torch",
        "layer_norm of the installed PyTorch, which allocates its output",
        Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch"),
        prepare=prepare,
        role="peer",
    ),
)
