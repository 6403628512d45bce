"""Peer: layer norm of quack-kernels, written in CuTe's Python for Hopper and later. Last axis.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, import_library
from ..common.peers import QUACK_PACK_BYTES, on_stream, refuse_for_quack, refuse_unaligned, torch_tensor, torch_with_gpu
from .operation import EPS


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    rows, columns = case.rows_columns()
    refuse_for_quack(columns, case.dtype)
    torch, quack = torch_with_gpu(), import_library("quack.rmsnorm")
    x, y = (torch_tensor(torch, arrays[name], case.dtype).view(rows, columns) for name in ("x", "y"))
    gamma, beta = (torch_tensor(torch, arrays[name], case.dtype) for name in ("gamma", "beta"))
    refuse_unaligned({"x": x, "y": y, "gamma": gamma, "beta": beta}, QUACK_PACK_BYTES)
    call = on_stream(torch, stream, lambda: quack._rmsnorm_fwd(x, gamma, y, beta, eps=EPS, is_layernorm=True))
    call()  # compiles, which is not to be timed
    return call


IMPLEMENTATIONS = (
    Implementation(
        "quack",
        "layer norm of quack-kernels: one read through shared memory, clusters for long rows, two exchanges",
        Origin(
            "Dao-AILab/quack",
            "https://github.com/Dao-AILab/quack",
            differs="called below layernorm_fwd, which takes gamma and beta as float32 only and allocates its output",
        ),
        prepare=prepare,
        role="peer",
    ),
)
