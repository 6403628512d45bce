"""Peer: layer norm of Liger-Kernel, by its functional entry point. Last axis; allocates its output.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported, import_library
from ..common.peers import array_of, torch_tensor, torch_with_gpu
from .operation import EPS

MOST_COLUMNS = 65536


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], Arrays]:
    rows, columns = case.rows_columns()
    if columns > MOST_COLUMNS:
        raise Unsupported(f"columns must be at most {MOST_COLUMNS}, got {columns}")
    torch, liger = torch_with_gpu(), import_library("liger_kernel.transformers.functional")
    x = torch_tensor(torch, arrays["x"], case.dtype).view(rows, columns)
    gamma, beta = (torch_tensor(torch, arrays[name], case.dtype) for name in ("gamma", "beta"))
    own_stream = torch.cuda.ExternalStream(stream)

    def call() -> Arrays:
        with torch.cuda.stream(own_stream), torch.no_grad():
            y = liger.liger_layer_norm(x, gamma, beta, EPS)
            return {"y": array_of(torch, y, case.dtype).reshape(case.shape)}

    call()  # compiles, which is not to be timed
    return call


IMPLEMENTATIONS = (
    Implementation(
        "liger",
        "liger_layer_norm of Liger-Kernel, up to 65536 columns: a Triton program per row",
        Origin(
            "linkedin/Liger-Kernel",
            "https://github.com/linkedin/Liger-Kernel",
            commit="000be60929938fd1358e03524c6ab398b6d421bd",  # v0.8.2
            differs="it also writes mean and inverse deviation of each row, as training needs them",
        ),
        prepare=prepare,
        role="peer",
    ),
)
