"""Peer: layer norm in Triton, tuned on the GPU that it runs on: kernels/softmax_family/triton_choice.py. Last axis.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported
from ..common.peers import on_stream, torch_tensor, torch_with_gpu
from ..softmax_family.peers import our_triton
from .operation import EPS

MOST_COLUMNS = 32768  # that one program holds; with twice as many, registers spill


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    rows, columns = case.rows_columns()
    if columns > MOST_COLUMNS:
        raise Unsupported(f"columns must be at most {MOST_COLUMNS}, got {columns}")
    torch, choice = torch_with_gpu(), our_triton()
    x, gamma, beta, y = (torch_tensor(torch, arrays[name], case.dtype) for name in ("x", "gamma", "beta", "y"))
    own_stream = torch.cuda.ExternalStream(stream)
    with torch.cuda.stream(own_stream):
        launch = choice.norm_launcher(x, gamma, beta, y, rows, columns, EPS)
    return on_stream(torch, stream, launch)


IMPLEMENTATIONS = (
    Implementation(
        "triton",
        "Triton: whole rows in a program, read once, up to 32768 columns; sizes and warps tuned for each shape",
        Origin(
            "triton-lang/triton",
            "https://github.com/triton-lang/triton/blob/main/python/tutorials/05-layer-norm.py",
            differs="written here: the row is kept between its steps and several rows go to a program, tuned; the "
            "tutorial has a row per program, which it reads again for each step, and stores mean and inverse deviation",
        ),
        prepare=prepare,
        role="peer",
    ),
)
