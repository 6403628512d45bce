"""Peer: log_softmax in Helion, tuned on the GPU that it runs on: kernels/softmax_family/helion_tiles.py. Any axis.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..softmax_family.peers import helion_call


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    return helion_call(case, arrays, stream, log=True)


IMPLEMENTATIONS = (
    Implementation(
        "helion",
        "Helion on Triton: whole rows or parts of them in a program, as its own quick search chooses for each shape",
        Origin(
            "pytorch/helion",
            "https://github.com/pytorch/helion/blob/main/examples/softmax.py",
            differs="written here: into an output that is given, and along any axis; tuned for at most 15 s per shape",
        ),
        prepare=prepare,
        role="peer",
    ),
)
