"""Peer: torch.add with a bias that is broadcast, writing into the case's own y.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..common.peers import on_stream, torch_tensor, torch_with_gpu


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    torch = torch_with_gpu()
    x, bias, y = (torch_tensor(torch, arrays[name], case.dtype) for name in ("x", "bias", "y"))
    x, y = (tensor.view(case.outer_dim_inner) for tensor in (x, y))
    bias = bias.view((1, case.outer_dim_inner[1], 1))
    return on_stream(torch, stream, lambda: torch.add(x, bias, out=y))


IMPLEMENTATIONS = (
    Implementation(
        "torch",
        "torch.add of the installed PyTorch, which broadcasts the bias",
        Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch"),
        prepare=prepare,
        role="peer",
    ),
)
