"""Peer: cudnnSoftmaxForward of the installed cuDNN, accurate, logarithm. Any axis."""

from collections.abc import Callable

from kernelbench.peers import cudnn
from kernelbench.records import Arrays, Case, Implementation, Origin


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    return cudnn.softmax_call(case, arrays, stream, log=True)


IMPLEMENTATIONS = (
    Implementation(
        "cudnn",
        "cudnnSoftmaxForward: mode INSTANCE for the last axis, CHANNEL for any other",
        Origin("NVIDIA cuDNN", "https://docs.nvidia.com/deeplearning/cudnn"),
        prepare=prepare,
        role="peer",
    ),
)
