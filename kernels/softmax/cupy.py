"""Peer: cupyx.scipy.special.softmax, which allocates its output. Any axis.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported, import_library
from ..softmax_family.peers import refuse_scale_and_mask


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], Arrays]:
    if case.dtype == "bfloat16":
        raise Unsupported("dtype must be float32, got bfloat16, which CuPy has no arithmetic for")
    if case.dtype == "float16":
        raise Unsupported("dtype must be float32, got float16, in which CuPy also subtracts and takes the exponential")
    refuse_scale_and_mask(case)
    cupy, special = import_library("cupy"), import_library("cupyx.scipy.special")
    x = cupy.asarray(arrays["x"])  # the array itself, no copy
    own_stream = cupy.cuda.ExternalStream(stream)

    def call() -> Arrays:
        with own_stream:
            return {"y": special.softmax(x, axis=case.axis)}

    return call


IMPLEMENTATIONS = (
    Implementation(
        "cupy",
        "cupyx.scipy.special.softmax of the installed CuPy: maximum, subtraction, exp, sum, division",
        Origin("cupy/cupy", "https://github.com/cupy/cupy"),
        prepare=prepare,
        role="peer",
    ),
)
