"""Peer: torch.addcmul, writing into the case's own y.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..common.peers import on_stream, torch_tensor, torch_with_gpu


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    torch = torch_with_gpu()
    x, addend, y = (torch_tensor(torch, arrays[name], case.dtype) for name in ("x", "addend", "y"))
    mask = torch_tensor(torch, arrays["mask"], "int8")
    scale = case.parameter("scale", 1.25)
    return on_stream(torch, stream, lambda: torch.addcmul(addend, x, mask, value=scale, out=y))


IMPLEMENTATIONS = (
    Implementation(
        "torch",
        "torch.addcmul of the installed PyTorch, which takes the mask as a factor",
        Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch"),
        prepare=prepare,
        role="peer",
    ),
)
