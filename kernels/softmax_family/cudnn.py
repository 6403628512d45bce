"""cudnnSoftmaxForward of the cuDNN library that PyTorch's wheels bring, or of the system's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kernelbench import Arrays, Case, MissingLibrary, Unsupported

# cudnn_ops.h and cudnn_graph.h of cuDNN 9
_DATA = {"float32": 0, "float16": 2, "bfloat16": 9}
_NCHW, _ACCURATE, _LOG, _INSTANCE, _CHANNEL = 0, 1, 2, 0, 1


def softmax_call(case: Case, arrays: Arrays, stream: int, *, log: bool) -> Callable[[], None]:
    """x to y: mode INSTANCE, all of an image at once, for the last axis; mode CHANNEL for any other.

    Raises Unsupported where cuDNN refuses the shape.
    """
    cudnn = _library()
    outer, dim, inner = case.outer_dim_inner
    handle, tensor = _handle(stream), ctypes.c_void_p()
    _check(cudnn, "cudnnCreateTensorDescriptor", ctypes.byref(tensor))
    extents = [ctypes.c_int(extent) for extent in (outer, dim, inner, 1)]
    _check(cudnn, "cudnnSetTensor4dDescriptor", tensor, _NCHW, _DATA[case.dtype], *extents)
    x, y = (ctypes.c_void_p(arrays[name].data.ptr) for name in ("x", "y"))
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    mode = _INSTANCE if inner == 1 else _CHANNEL
    arguments = (handle, _LOG if log else _ACCURATE, mode, ctypes.byref(one), tensor, x, ctypes.byref(zero), tensor, y)

    def call() -> None:
        _check(cudnn, "cudnnSoftmaxForward", *arguments)

    return call


@cache
def _handle(stream: int) -> ctypes.c_void_p:
    """One for all calls: each keeps memory of the GPU, and thousands of them filled an H100."""
    handle = ctypes.c_void_p()
    _check(_library(), "cudnnCreate", ctypes.byref(handle))
    _check(_library(), "cudnnSetStream", handle, ctypes.c_void_p(stream))
    return handle


@cache
def _library() -> Any:
    """libcudnn, where the wheel nvidia-cudnn-cu13 or -cu12 has put it, or where the system finds it."""
    spec = find_spec("nvidia")
    folders = [Path(folder) / "cudnn" / "lib" for folder in (spec.submodule_search_locations if spec else None) or ()]
    for name in (*(str(folder / "libcudnn.so.9") for folder in folders), "libcudnn.so.9"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.cudnnGetErrorString.restype = ctypes.c_char_p
        return library
    raise MissingLibrary("cuDNN 9 is not installed; the extra `torch` brings it")


def _check(cudnn: Any, name: str, *arguments: Any) -> None:
    if status := getattr(cudnn, name)(*arguments):
        raise Unsupported(f"{name} answers {cudnn.cudnnGetErrorString(status).decode()}")
