"""Arguments of a launch as CuPy takes them. Tensor maps are made by the driver's cuTensorMapEncodeTiled, which CuPy
does not wrap."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from kernelbench.core import dtypes
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import Scalar, TensorMap
from kernelbench.core.tensor_maps import BYTES, ELEMENTS, FILLS, SWIZZLES, Tiling

LIBRARY = "libcuda.so.1"
ALIGNMENT = 64  # bytes, of a CUtensorMap
L2_PROMOTION = 2  # CU_TENSOR_MAP_L2_PROMOTION_L2_128B
INTERLEAVE_NONE = 0


def argument_of(one: str | Scalar | TensorMap, buffers: Mapping[str, Any]) -> Any:
    """`buffers`: CuPy's arrays by name."""
    if isinstance(one, Scalar):
        return dtypes.storage(one.dtype)(one.value)
    return encoded(one.tiling, buffers[one.array].data.ptr) if isinstance(one, TensorMap) else buffers[one]


def encoded(tiling: Tiling, data: int) -> np.void:
    """The tensor map of an array at address `data`, as an argument of a CuPy kernel."""
    memory = ctypes.create_string_buffer(BYTES + ALIGNMENT)
    place = -(-ctypes.addressof(memory) // ALIGNMENT) * ALIGNMENT
    code = _encode()(
        *(ctypes.c_void_p(place), list(ELEMENTS).index(tiling.dtype), len(tiling.shape), ctypes.c_void_p(data)),
        *(_array(ctypes.c_uint64, tiling.shape), _array(ctypes.c_uint64, tiling.byte_strides)),
        *(_array(ctypes.c_uint32, tiling.box), _array(ctypes.c_uint32, tiling.every)),
        *(INTERLEAVE_NONE, list(SWIZZLES).index(tiling.swizzle), L2_PROMOTION, FILLS.index(tiling.fill)),
    )
    if code:
        raise DeviceError(f"cuTensorMapEncodeTiled refuses {tiling} with error {code}")
    found: np.void = np.frombuffer(ctypes.string_at(place, BYTES), f"V{BYTES}")[0]
    return found


@cache
def _encode() -> Any:
    try:
        return ctypes.CDLL(LIBRARY).cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise DeviceError(f"{LIBRARY} has no cuTensorMapEncodeTiled: tensor maps need driver 525 or newer") from error


def _array(kind: Any, values: Sequence[int]) -> Any:
    """Innermost axis first, as the driver wants it."""
    return (kind * max(len(values), 1))(*reversed(values))
