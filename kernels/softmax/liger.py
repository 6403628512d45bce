"""Peer: softmax of Liger-Kernel, in Triton: one row per program. Last axis; allocates its output.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported, library
from ..common.peers import array_of, torch_tensor, torch_with_gpu
from ..softmax_family.peers import refuse_scale_and_mask

MOST_COLUMNS = 65536


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], Arrays]:
    refuse_scale_and_mask(case)
    rows, columns, inner = case.outer_dim_inner
    if inner != 1:
        raise Unsupported(f"axis must be the last, got {case.axis}")
    if columns > MOST_COLUMNS:
        raise Unsupported(f"columns must be at most {MOST_COLUMNS}, got {columns}")
    torch, liger = torch_with_gpu(), library("liger_kernel.ops.softmax")
    x = torch_tensor(torch, arrays["x"], case.dtype).view(rows, columns)
    own_stream = torch.cuda.ExternalStream(stream)

    def call() -> Arrays:
        with torch.cuda.stream(own_stream), torch.no_grad():
            return {"y": array_of(torch, liger._softmax_forward(x)[0], case.dtype).reshape(case.shape)}

    call()  # compiles, which is not to be timed
    return call


IMPLEMENTATIONS = (
    Implementation(
        "liger",
        "softmax of Liger-Kernel: one row per Triton program, up to 65536 columns",
        Origin("linkedin/Liger-Kernel", "https://github.com/linkedin/Liger-Kernel"),
        prepare=prepare,
        role="peer",
    ),
)
