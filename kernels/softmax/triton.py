"""Peer: softmax in Triton, tuned on the GPU that it runs on: kernels/softmax_family/triton_choice.py. Any axis.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin
from ..common.peers import torch_tensor, torch_with_gpu
from ..softmax_family.peers import our_triton, refuse_scale_and_mask


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    refuse_scale_and_mask(case)
    torch, choice = torch_with_gpu(), our_triton()
    x, y = (torch_tensor(torch, arrays[name], case.dtype) for name in ("x", "y"))
    own_stream = torch.cuda.ExternalStream(stream)
    with torch.cuda.stream(own_stream):
        launch = choice.launcher(x, y, case.outer_dim_inner, log=False)

    def call() -> None:
        with torch.cuda.stream(own_stream):
            launch()

    return call


IMPLEMENTATIONS = (
    Implementation(
        "triton",
        "Triton: a tile read once where it fits a program, else two reads; sizes and warps tuned for each shape",
        Origin("written here"),
        prepare=prepare,
        role="peer",
    ),
)
