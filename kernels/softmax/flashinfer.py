"""Peer: softmax of FlashInfer's sampling kernels, made for logits. Last axis; float32; fast exponential.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable
from math import gcd

from kernelbench import Arrays, Case, Deviation, Implementation, Origin, Unsupported, dtypes, import_library
from ..common.peers import array_of, refuse_unaligned, torch_tensor, torch_with_gpu
from ..softmax_family.peers import refuse_scale_and_mask

PACK_BYTES = 16  # of each load at most; fewer where a row does not hold whole ones
INF = Deviation("inf", "a row with +inf gives inf and not NaN: a step whose maximum is infinite is left out of the sum")


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], Arrays]:
    refuse_scale_and_mask(case)
    rows, columns, inner = case.outer_dim_inner
    if inner != 1:
        raise Unsupported(f"axis must be the last, got {case.axis}")
    if case.dtype != "float32":
        raise Unsupported(f"dtype must be float32, got {case.dtype}, which FlashInfer converts in a launch of its own")
    torch, sampling = torch_with_gpu(), import_library("flashinfer.sampling")
    x = torch_tensor(torch, arrays["x"], case.dtype).view(rows, columns)
    refuse_unaligned({"x": x}, gcd(PACK_BYTES, columns * dtypes.itemsize(case.dtype)))
    own_stream = torch.cuda.ExternalStream(stream)

    def call() -> Arrays:
        # Without programmatic launch the kernel begins when what is before it has ended, as all others do.
        with torch.cuda.stream(own_stream), torch.no_grad():
            return {"y": array_of(torch, sampling.softmax(x, enable_pdl=False), case.dtype).reshape(case.shape)}

    call()  # compiles, which is not to be timed
    return call


IMPLEMENTATIONS = (
    Implementation(
        "flashinfer",
        "softmax of FlashInfer's sampling: one block per row kept in shared memory, several where there are few rows",
        Origin(
            "flashinfer-ai/flashinfer",
            "https://github.com/flashinfer-ai/flashinfer",
            differs="a row with +inf gives inf",
        ),
        prepare=prepare,
        arithmetic="fast",
        role="peer",
        deviations=(INF,),
    ),
)
