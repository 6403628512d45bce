"""Peer: cupy.sum over all elements, in float32, writing into the case's own y.

The file bears the name that users type. It is loaded by its path, so that it stands in nobody's way when
the library of that name is imported.
"""

from collections.abc import Callable

from kernelbench.errors import Unsupported
from kernelbench.peers import library
from kernelbench.records import Arrays, Case, Implementation, Origin


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    if case.dtype == "bfloat16":
        raise Unsupported("dtype must be float32 or float16, got bfloat16, which CuPy has no arithmetic for")
    cupy = library("cupy")
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
