"""Peer: cupy.sum over all elements, in float32, writing into the case's own y.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported, import_library

# Beyond it CuPy leaves CUB for a kernel of one block, each of whose threads adds up millions of elements in float32.
MOST_ELEMENTS = 2**31 - 1


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    if case.dtype == "bfloat16":
        raise Unsupported("dtype must be float32 or float16, got bfloat16, which CuPy has no arithmetic for")
    if case.elements > MOST_ELEMENTS:
        raise Unsupported(f"elements must be at most 2^31 - 1, got {case.elements}: CuPy adds up more in one block")
    cupy = import_library("cupy")
    x = cupy.asarray(arrays["x"])  # the array itself, no copy
    y = cupy.asarray(arrays["y"]).reshape(())  # a sum over every axis has none left
    own_stream = cupy.cuda.ExternalStream(stream)

    def call() -> None:
        with own_stream:
            cupy.sum(x, dtype="float32", out=y)

    return call


IMPLEMENTATIONS = (
    Implementation(
        "cupy",
        "cupy.sum of the installed CuPy, by CuPy's own kernel or CUB as CuPy is set",
        Origin("cupy/cupy", "https://github.com/cupy/cupy"),
        prepare=prepare,
        role="peer",
    ),
)
