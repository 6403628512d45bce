"""Peer: log_softmax in expressions of CuPy arrays, which allocates its output and what lies between. Any axis.

cupyx.scipy.special.log_softmax takes the same steps and one more, which puts 0 for infinite maxima and waits for the
GPU half-way: what waits cannot be submitted before it is timed.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported, import_library


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], Arrays]:
    if case.dtype == "bfloat16":
        raise Unsupported("dtype must be float32, got bfloat16, which CuPy has no arithmetic for")
    if case.dtype == "float16":
        raise Unsupported("dtype must be float32, got float16, in which CuPy also subtracts and takes the exponential")
    cupy = import_library("cupy")
    x = cupy.asarray(arrays["x"])  # the array itself, no copy
    own_stream = cupy.cuda.ExternalStream(stream)

    def call() -> Arrays:
        with own_stream:
            shifted = x - x.max(axis=case.axis, keepdims=True)
            return {"y": shifted - cupy.log(cupy.exp(shifted).sum(axis=case.axis, keepdims=True))}

    return call


IMPLEMENTATIONS = (
    Implementation(
        "cupy",
        "expressions of the installed CuPy: maximum, subtraction, exp, sum, logarithm, subtraction",
        Origin("cupy/cupy", "https://github.com/cupy/cupy"),
        prepare=prepare,
        role="peer",
    ),
)
