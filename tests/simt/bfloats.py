"""bfloat16 as bits, which NumPy has no type for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def bfloat(values: NDArray[Any]) -> NDArray[np.uint16]:
    """Rounded to nearest even."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return np.asarray(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16))


def widened(bits: NDArray[Any]) -> NDArray[np.float32]:
    return (bits.astype(np.uint32) << 16).view(np.float32)
