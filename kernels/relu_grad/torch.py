"""Peer: what PyTorch's relu has as its gradient, from the output, writing into the case's own dx.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Deviation, Implementation, Origin
from ..common.peers import on_stream, torch_tensor, torch_with_gpu

PASSES_NAN = Deviation("nan", "where y is NaN dx is dy and not 0: PyTorch drops dy where y <= 0, and NaN is not")


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    torch = torch_with_gpu()
    dy, y, dx = (torch_tensor(torch, arrays[name], case.dtype) for name in ("dy", "y", "dx"))
    return on_stream(torch, stream, lambda: torch.ops.aten.threshold_backward.grad_input(dy, y, 0, grad_input=dx))


IMPLEMENTATIONS = (
    Implementation(
        "torch",
        "threshold_backward of the installed PyTorch, the gradient of its relu",
        Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch", differs="dy is passed on where y is NaN, too"),
        prepare=prepare,
        role="peer",
        deviations=(PASSES_NAN,),
    ),
)
