"""Peer: softmax of quack-kernels, written in CuTe's Python for Hopper and later. Last axis; fast exponential.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported, import_library
from ..common.peers import QUACK_PACK_BYTES, on_stream, refuse_for_quack, refuse_unaligned, torch_tensor, torch_with_gpu
from ..softmax_family.peers import refuse_scale_and_mask


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    refuse_scale_and_mask(case)
    rows, columns, inner = case.outer_dim_inner
    if inner != 1:
        raise Unsupported(f"axis must be the last, got {case.axis}")
    refuse_for_quack(columns, case.dtype)
    torch, quack = torch_with_gpu(), import_library("quack.softmax")
    x, y = (torch_tensor(torch, arrays[name], case.dtype).view(rows, columns) for name in ("x", "y"))
    refuse_unaligned({"x": x, "y": y}, QUACK_PACK_BYTES)
    call = on_stream(torch, stream, lambda: quack._softmax_fwd(x, y))
    call()  # compiles, which is not to be timed
    return call


IMPLEMENTATIONS = (
    Implementation(
        "quack",
        "softmax of quack-kernels: one read through shared memory, clusters for long rows, one exchange",
        Origin("Dao-AILab/quack", "https://github.com/Dao-AILab/quack"),
        prepare=prepare,
        arithmetic="fast",
        role="peer",
    ),
)
