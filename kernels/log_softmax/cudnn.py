"""Peer: cudnnSoftmaxForward of the installed cuDNN, accurate, logarithm. Any axis."""

from collections.abc import Callable

from kernelbench import Arrays, Case, Deviation, Implementation, Origin
from ..softmax_family import cudnn

MASKED = Deviation("masked", "along the last axis a row of -inf gives -inf and not NaN")


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    return cudnn.softmax_call(case, arrays, stream, log=True)


IMPLEMENTATIONS = (
    Implementation(
        "cudnn",
        "cudnnSoftmaxForward: mode INSTANCE for the last axis, CHANNEL for any other",
        Origin(
            "NVIDIA cuDNN",
            "https://docs.nvidia.com/deeplearning/cudnn",
            differs="a row of -inf gives -inf along the last axis",
        ),
        prepare=prepare,
        role="peer",
        deviations=(MASKED,),
    ),
)
