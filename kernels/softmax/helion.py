"""Peer: softmax in Helion, tuned on the GPU that it runs on: kernels/softmax_family/helion_tiles.py. Last axis.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..softmax_family.peers import helion_call, refuse_scale_and_mask


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    refuse_scale_and_mask(case)
    return helion_call(case, arrays, stream)


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
