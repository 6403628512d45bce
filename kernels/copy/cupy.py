"""Peer: cupy.copyto, writing into the case's own y.

The file has the name that users type. It is loaded by its path, so it does not hide the library of that name.
"""

from collections.abc import Callable

from kernelbench import Arrays, Case, Implementation, Origin, import_library


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    cupy = import_library("cupy")
    x, y = (
        cupy.asarray(arrays[name]) for name in ("x", "y")
    )  # the arrays themselves; bfloat16 as uint16, which is copied alike
    own_stream = cupy.cuda.ExternalStream(stream)

    def call() -> None:
        with own_stream:
            cupy.copyto(y, x)

    return call


IMPLEMENTATIONS = (
    Implementation(
        "cupy",
        "cupy.copyto of the installed CuPy",
        Origin("cupy/cupy", "https://github.com/cupy/cupy"),
        prepare=prepare,
        role="peer",
    ),
)
