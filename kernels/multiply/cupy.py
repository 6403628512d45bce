"""Peer: cupy.multiply, writing into the case's own z.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, Unsupported, import_library


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    if case.dtype == "bfloat16":
        raise Unsupported("dtype must be float32 or float16, got bfloat16, which CuPy has no arithmetic for")
    cupy = import_library("cupy")
    x, y, z = (cupy.asarray(arrays[name]) for name in ("x", "y", "z"))  # the arrays themselves, no copies
    own_stream = cupy.cuda.ExternalStream(stream)

    def call() -> None:
        with own_stream:
            cupy.multiply(x, y, out=z)

    return call


IMPLEMENTATIONS = (
    Implementation(
        "cupy",
        "cupy.multiply of the installed CuPy",
        Origin("cupy/cupy", "https://github.com/cupy/cupy"),
        prepare=prepare,
        role="peer",
    ),
)
