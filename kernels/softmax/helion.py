"""Peer: softmax in Helion, tuned on the GPU that it runs on: kernels/softmax_family/helion_tiles.py. Last axis.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported
from ..common.peers import on_stream, torch_tensor, torch_with_gpu
from ..softmax_family.peers import may_have_children, our_helion, refuse_scale_and_mask


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    refuse_scale_and_mask(case)
    rows, columns, inner = case.outer_dim_inner
    if inner != 1:
        raise Unsupported(f"axis must be the last, got {case.axis}")
    torch, tiles = torch_with_gpu(), our_helion()
    x, y = (torch_tensor(torch, arrays[name], case.dtype).view(rows, columns) for name in ("x", "y"))
    call = on_stream(torch, stream, lambda: tiles.softmax_rows(x, y))
    with may_have_children():
        call()  # tunes and compiles, which is not to be timed
    return call


IMPLEMENTATIONS = (
    Implementation(
        "helion",
        "Helion on Triton: whole rows or parts of them in a program, as its own quick search chooses for each shape",
        Origin(
            "pytorch/helion",
            "https://github.com/pytorch/helion/blob/main/examples/softmax.py",
            differs="written here: into an output that is given; tuned for at most 8 s per shape",
        ),
        prepare=prepare,
        role="peer",
    ),
)
