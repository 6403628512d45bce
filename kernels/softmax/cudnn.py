"""Peer: cudnnSoftmaxForward of the installed cuDNN, accurate. Any axis.

With float16 and bfloat16 it rounds once more than the operation's tolerance allows for, in rows of more than 512
elements and along any axis but the last (cuDNN 9 of PyTorch 2.11): its rows are `graded`.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Deviation, Implementation, Origin
from ..softmax_family import cudnn
from ..softmax_family.peers import refuse_scale_and_mask

MASKED = Deviation("masked", "along the last axis a row of -inf gives 0 and not NaN")


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    refuse_scale_and_mask(case)
    return cudnn.softmax_call(case, arrays, stream, log=False)


IMPLEMENTATIONS = (
    Implementation(
        "cudnn",
        "cudnnSoftmaxForward: mode INSTANCE for the last axis, CHANNEL for any other",
        Origin(
            "NVIDIA cuDNN",
            "https://docs.nvidia.com/deeplearning/cudnn",
            differs="a row of -inf gives 0 along the last axis",
        ),
        prepare=prepare,
        role="peer",
        deviations=(MASKED,),
    ),
)
