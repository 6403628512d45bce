"""Peer: a copy of a permuted view, as permute(..).contiguous() makes it, into the case's own y.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..common.peers import on_stream, torch_tensor, torch_with_gpu
from ._axes import permutation_of


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    torch = torch_with_gpu()
    x, y = (torch_tensor(torch, arrays[name], case.dtype) for name in ("x", "y"))
    permuted = x.permute(permutation_of(case))
    return on_stream(torch, stream, lambda: y.copy_(permuted))


IMPLEMENTATIONS = (
    Implementation(
        "torch",
        "the copy that permute(..).contiguous() of the installed PyTorch makes",
        Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch"),
        prepare=prepare,
        role="peer",
    ),
)
