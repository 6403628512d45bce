"""Peer: cupy.maximum with 0, writing into the case's own y.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported, import_library


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    if case.dtype == "bfloat16":
        raise Unsupported("dtype must be float32 or float16, got bfloat16, which CuPy has no arithmetic for")
    cupy = import_library("cupy")
    x, y = (cupy.asarray(arrays[name]) for name in ("x", "y"))  # the arrays themselves, no copies
    zero = x.dtype.type(0)  # of the array's own type, so that nothing is widened
    own_stream = cupy.cuda.ExternalStream(stream)

    def call() -> None:
        with own_stream:
            cupy.maximum(x, zero, out=y)

    return call


IMPLEMENTATIONS = (
    Implementation(
        "cupy",
        "cupy.maximum of the installed CuPy, with 0",
        Origin("cupy/cupy", "https://github.com/cupy/cupy"),
        prepare=prepare,
        role="peer",
    ),
)
