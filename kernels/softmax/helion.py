"""Peer: softmax in Helion, tuned on the GPU that it runs on: kernels/softmax_family/helion_tiles.py. Last axis.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable
from functools import partial

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported
from ..common.peers import on_stream, torch_tensor, torch_with_gpu
from ..softmax_family.peers import HELION, our_helion, refuse_scale_and_mask, tune_helion


def prepare(back_end: str, case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    refuse_scale_and_mask(case)
    rows, columns, inner = case.outer_dim_inner
    if inner != 1:
        raise Unsupported(f"axis must be the last, got {case.axis}")
    torch, kernel = torch_with_gpu(), our_helion("softmax", back_end)
    x, y = (torch_tensor(torch, arrays[name], case.dtype).view(rows, columns) for name in ("x", "y"))
    call = on_stream(torch, stream, lambda: kernel(x, y))
    tune_helion(call)
    return call


IMPLEMENTATIONS = tuple(
    Implementation(
        name,
        f"Helion on {language}: whole rows or parts of them in a program, as its own quick search chooses for a shape",
        Origin(
            "pytorch/helion",
            "https://github.com/pytorch/helion/blob/main/examples/softmax.py",
            differs="written here: into an output that is given; tuned for at most 8 s per shape",
        ),
        prepare=partial(prepare, back_end),
        role="peer",
    )
    for name, back_end, language in HELION
)
