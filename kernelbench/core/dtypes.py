"""The element types of arrays, and exact conversions between them and wider ones.

bfloat16 has no NumPy type, so its arrays are stored as uint16 and converted by shifting bits. Every
function takes the array module `xp` (numpy or cupy), so that the same code serves host and GPU.
"""

from typing import Any

import numpy as np

# name -> (type that arrays are stored in, bytes per element, suffix of kernel entry names)
_TYPES: dict[str, tuple[type, int, str]] = {
    "float64": (np.float64, 8, "f64"),
    "float32": (np.float32, 4, "f32"),
    "float16": (np.float16, 2, "f16"),
    "bfloat16": (np.uint16, 2, "bf16"),
    "int64": (np.int64, 8, "i64"),
    "int32": (np.int32, 4, "i32"),
    "uint32": (np.uint32, 4, "u32"),
    "int8": (np.int8, 1, "i8"),
    "uint8": (np.uint8, 1, "u8"),
}
NAMES = tuple(_TYPES)
_EXPONENT = 0x7FF0_0000_0000_0000  # bits of a float64's exponent
_LARGEST = float(np.finfo(np.float64).max)


def storage(dtype: str) -> type:
    """The NumPy type that an array of `dtype` is stored in (uint16 for bfloat16)."""
    return _TYPES[dtype][0]


def itemsize(dtype: str) -> int:
    """Bytes of one element."""
    return _TYPES[dtype][1]


def suffix(dtype: str) -> str:
    """The suffix of kernel entry names: `softmax_naive_f32`."""
    return _TYPES[dtype][2]


def unit_roundoff(dtype: str) -> float:
    """Largest relative error of rounding to nearest: 2^-24 for float32, 2^-8 for bfloat16."""
    return {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]


def smallest_step(dtype: str) -> float:
    """Distance between neighbouring subnormal numbers, below which no rounding error can be."""
    return {"float64": 2.0**-1074, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}[dtype]


def rounding_steps(dtype: str) -> tuple[float, float]:
    """Half the relative and the least absolute distance between neighbours; integers: 0 and 1."""
    floats = dtype in ("float64", "float32", "float16", "bfloat16")
    return (unit_roundoff(dtype), smallest_step(dtype)) if floats else (0.0, 1.0)


def spacing(xp: Any, size: Any, dtype: str) -> Any:
    """The distance between neighbours of the type (1 ulp) at each magnitude of a float64 array."""
    roundoff, smallest = rounding_steps(dtype)
    finite = xp.fmin(xp.maximum(size, smallest), _LARGEST)  # NaN too
    bits = finite.view(xp.uint64) & xp.uint64(_EXPONENT)
    return xp.maximum(bits.view(xp.float64) * (2 * roundoff), smallest)  # the power of two at or below each


def overflow(dtype: str) -> float:
    """The smallest magnitude that rounding to nearest makes infinite; infinity for integers."""
    largest = {"float32": (128, 24), "float16": (16, 11), "bfloat16": (128, 8)}  # exponent, bits of the significand
    if dtype not in largest:
        return float("inf")
    exponent, bits = largest[dtype]
    return 2.0**exponent - 2.0 ** (exponent - bits - 1)  # half a step beyond the largest number


def widen(xp: Any, array: Any, dtype: str) -> Any:
    """The values of a stored array as float64 (integers too), exactly."""
    if dtype == "bfloat16":
        return (array.astype(xp.uint32) << 16).view(xp.float32).astype(xp.float64)
    return array.astype(xp.float64)


def narrow(xp: Any, values: Any, dtype: str) -> Any:
    """float32 values rounded to nearest even and stored as `dtype`; NaN stays NaN."""
    if dtype != "bfloat16":
        return values.astype(storage(dtype))
    bits = values.astype(xp.float32).view(xp.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(xp.uint16)
    return xp.where(xp.isnan(values), xp.uint16(0x7FC0), rounded)
