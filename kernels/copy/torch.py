"""Peer: torch.Tensor.copy_, writing into the case's own y.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..common.peers import on_stream, torch_tensor, torch_with_gpu


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    torch = torch_with_gpu()
    x, y = (torch_tensor(torch, arrays[name], case.dtype) for name in ("x", "y"))
    return on_stream(torch, stream, lambda: y.copy_(x))


IMPLEMENTATIONS = (
    Implementation(
        "torch",
        "Tensor.copy_ of the installed PyTorch",
        Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch"),
        prepare=prepare,
        role="peer",
    ),
)
