"""Peer: layer norm in Helion, tuned on the GPU that it runs on: kernels/softmax_family/helion_tiles.py. Last axis.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable
from functools import partial

from kernelbench import Arrays, Case, Implementation, Origin
from ..common.peers import on_stream, torch_tensor, torch_with_gpu
from ..softmax_family.peers import HELION, our_helion, tune_helion
from .operation import EPS


def prepare(back_end: str, case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    rows, columns = case.rows_columns()
    torch, kernel = torch_with_gpu(), our_helion("layer_norm", back_end)
    x, y = (torch_tensor(torch, arrays[name], case.dtype).view(rows, columns) for name in ("x", "y"))
    gamma, beta = (torch_tensor(torch, arrays[name], case.dtype) for name in ("gamma", "beta"))
    call = on_stream(torch, stream, lambda: kernel(x, gamma, beta, y, EPS))
    tune_helion(call)
    return call


IMPLEMENTATIONS = tuple(
    Implementation(
        name,
        f"Helion on {language}: whole rows or parts of them in a program, as its own quick search chooses for a shape",
        Origin(
            "pytorch/helion",
            "https://github.com/pytorch/helion/blob/main/examples/layer_norm.py",
            differs="written here: forward alone, into an output that is given; tuned for at most 8 s per shape",
        ),
        prepare=partial(prepare, back_end),
        role="peer",
    )
    for name, back_end, language in HELION
)
