"""Peer: softmax of Liger-Kernel, by its functional entry point. Last axis; allocates its output.

The file bears the name that users type. It is loaded by its path, so that it stands in nobody's way when
the library of that name is imported.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported, import_library
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
    torch, liger = torch_with_gpu(), import_library("liger_kernel.transformers.functional")
    x = torch_tensor(torch, arrays["x"], case.dtype).view(rows, columns)
    own_stream = torch.cuda.ExternalStream(stream)

    def call() -> Arrays:
        with torch.cuda.stream(own_stream), torch.no_grad():
            return {"y": array_of(torch, liger.liger_softmax(x), case.dtype).reshape(case.shape)}

    call()  # compiles, which is not to be timed
    return call


IMPLEMENTATIONS = (
    Implementation(
        "liger",
        "liger_softmax of Liger-Kernel, up to 65536 columns; on NVIDIA GPUs a Triton program per row",
        Origin(
            "linkedin/Liger-Kernel",
            "https://github.com/linkedin/Liger-Kernel",
            commit="000be60929938fd1358e03524c6ab398b6d421bd",  # v0.8.2
            differs="called by liger_softmax, which takes the kernel that Liger selects for the device: in 0.8.2 that "
            "of Triton on every NVIDIA GPU, since its CuTe DSL kernels have no softmax",
        ),
        prepare=prepare,
        role="peer",
    ),
)
