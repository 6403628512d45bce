"""Shared libraries whose own host code launches kernels: CUB, or a user's `<<<>>>`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import cupy

from kernelbench.core.errors import DeviceError
from kernelbench.core.records import Binary, HostCall, Scalar, TensorMap
from kernelbench.devices.cuda.failures import cuda_errors

_TYPES = {"int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "int64": ctypes.c_int64, "float32": ctypes.c_float}


def host_call(
    call: HostCall, binary: Binary, buffers: Mapping[str, Any], stream: int, doing: str
) -> Callable[[], None]:
    """The function of the library with its arguments bound; calling it submits its work to `stream`.

    DeviceError where the library or the function is missing, and where a call does not return 0.
    """
    try:
        function = ctypes.CDLL(str(binary.path))[call.entry]
    except OSError as error:
        raise DeviceError(f"{binary.path.name} cannot be loaded: {error}") from error
    except AttributeError as error:
        expected = f'expected extern "C" int {call.entry}(..)'
        raise DeviceError(f"its library has no function {call.entry}; {expected}") from error
    function.restype = ctypes.c_int
    arguments = [_argument(one, buffers) for one in call.arguments] + [ctypes.c_void_p(stream)]

    def submit(held: Mapping[str, Any] = buffers) -> None:  # pointers alone would not keep their memory
        if code := function(*arguments):
            with cuda_errors(doing):
                raise cupy.cuda.runtime.CUDARuntimeError(code)

    return submit


def _argument(argument: str | Scalar | TensorMap, buffers: Mapping[str, Any]) -> Any:
    if isinstance(argument, TensorMap):
        raise DeviceError("host code makes its tensor maps itself; give it the array")
    if not isinstance(argument, Scalar):
        return ctypes.c_void_p(buffers[argument].data.ptr)
    if argument.dtype not in _TYPES:
        raise DeviceError(f"an argument of host code must be {', '.join(_TYPES)}, got {argument.dtype}")
    make: Callable[[Any], Any] = _TYPES[argument.dtype]
    return make(argument.value)
