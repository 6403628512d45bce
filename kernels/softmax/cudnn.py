"""Peer: cudnnSoftmaxForward of the installed cuDNN, accurate. Any axis."""

from collections.abc import Callable

from kernelbench.peers import cudnn, refuse_scale_and_mask
from kernelbench.records import Arrays, Case, Implementation, Origin


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    refuse_scale_and_mask(case)
    return cudnn.softmax_call(case, arrays, stream, log=False)


IMPLEMENTATIONS = (
    Implementation(
        "cudnn",
        "cudnnSoftmaxForward: mode INSTANCE for the last axis, CHANNEL for any other",
        Origin("NVIDIA cuDNN", "https://docs.nvidia.com/deeplearning/cudnn"),
        prepare=prepare,
        role="peer",
    ),
)
