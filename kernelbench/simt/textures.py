"""Texture and surface objects: an array and how it is read."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from kernelbench.core.errors import DeviceError

# In the order of the runtime's enumerations; texture.cpp has the same Descriptor.
TEXELS = ("float32", "float16", "uint8", "int8", "uint16", "int16", "uint32", "int32")
MODES = ("clamp", "border", "wrap", "mirror")
FILTERS = ("point", "linear")
LAYERED = 16  # of an object's dimensions
_MAGIC = 0x6572757478657431
_DESCRIPTOR = struct.Struct("<QQ9I12x")


@dataclass(frozen=True, eq=False)
class Texture:
    """A texture or surface object over `array`: [width], [height, width] or [depth, height, width], with an axis of 2
    or 4 channels behind, and, if `layered`, an axis of layers before one or two dimensions.

    `filter`: "point" or "linear"; `address`: "clamp", "border", "wrap" or "mirror", the last two only if `normalized`:
    coordinates from 0 to 1. Integers become fractions of their largest value where a kernel reads them as floats.
    Raises DeviceError for anything else.
    """

    array: npt.NDArray[Any]
    channels: int = 1
    filter: str = "point"
    address: str = "clamp"
    normalized: bool = False
    layered: bool = False

    def __post_init__(self) -> None:
        dimensions = self.array.ndim - (self.channels > 1) - self.layered
        fits = self.channels == 1 or (self.channels in (2, 4) and self.array.shape[-1] == self.channels)
        if dimensions not in ((1, 2) if self.layered else (1, 2, 3)) or not fits or not self.array.size:
            shape = f"a texture of shape {self.array.shape} with {self.channels} channels"
            raise DeviceError(f"{shape}: expected 1D to 3D (layers: 1D or 2D), and 1, 2 or 4 channels")
        if self.array.dtype.name not in TEXELS:
            raise DeviceError(f"a texture of {self.array.dtype}: expected one of {', '.join(TEXELS)}")
        if self.filter not in FILTERS or self.address not in MODES:
            raise DeviceError(f"a texture with {self.filter}, {self.address}: expected {FILTERS} and {MODES}")
        if self.address in ("wrap", "mirror") and not self.normalized:
            raise DeviceError(f"a texture with {self.address}: needs normalized coordinates")

    def descriptor(self, data: int) -> bytes:
        """What its handle points to; `data`: address of the array on the device."""
        sizes = self.array.shape[: self.array.ndim - (self.channels > 1)]
        dimensions = len(sizes) - self.layered
        slices = sizes[0] if self.layered or dimensions == 3 else 1
        height, width = (sizes[-2] if dimensions > 1 else 1), sizes[-1]
        kind = TEXELS.index(self.array.dtype.name)
        flags = (FILTERS.index(self.filter), int(self.normalized), kind, MODES.index(self.address))
        last = (dimensions + LAYERED * self.layered, slices)
        return _DESCRIPTOR.pack(_MAGIC, data, width, height, self.channels, *flags, *last)
