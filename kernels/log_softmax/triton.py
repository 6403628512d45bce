"""Peer: log_softmax in Triton, tuned on the GPU that it runs on: kernels/softmax_family/triton_choice.py. Any axis.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..softmax_family.peers import triton_call


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    return triton_call(case, arrays, stream, log=True)


IMPLEMENTATIONS = (
    Implementation(
        "triton",
        "Triton: a tile read once where it fits a program, else two reads; sizes and warps tuned for each shape",
        Origin("written here"),
        prepare=prepare,
        role="peer",
    ),
)
