"""Peer: torch.sum over all elements, in float32, writing into the case's own y.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..common.peers import on_stream, torch_tensor, torch_with_gpu


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    torch = torch_with_gpu()
    x = torch_tensor(torch, arrays["x"], case.dtype).view(-1)
    y = torch_tensor(torch, arrays["y"], "float32").view(())  # a sum over the only axis has none left
    return on_stream(torch, stream, lambda: torch.sum(x, dim=0, dtype=torch.float32, out=y))


IMPLEMENTATIONS = (
    Implementation(
        "torch",
        "torch.sum of the installed PyTorch",
        Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch"),
        prepare=prepare,
        role="peer",
    ),
)
