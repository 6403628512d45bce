"""Peer: torch.clamp_min at 0, which is what torch.relu calls, writing into the case's own y.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..common.peers import torch_tensor, torch_with_gpu


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    torch = torch_with_gpu()
    x, y = (torch_tensor(torch, arrays[name], case.dtype) for name in ("x", "y"))
    own_stream = torch.cuda.ExternalStream(stream)

    def call() -> None:
        with torch.cuda.stream(own_stream), torch.no_grad():
            torch.clamp_min(x, 0, out=y)

    return call


IMPLEMENTATIONS = (
    Implementation(
        "torch",
        "torch.clamp_min of the installed PyTorch, at 0",
        Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch"),
        prepare=prepare,
        role="peer",
    ),
)
