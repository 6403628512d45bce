"""Tensor maps in the simulator's form: a GPU's are known to its driver alone."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from kernelbench.core.errors import DeviceError
from kernelbench.core.tensor_maps import BYTES, ELEMENTS, FILLS, MOST_AXES, SWIZZLES, Tiling

_MAGIC = 0x31504D4F534E4554
_DESCRIPTOR = struct.Struct("<QQ4Q5I5H5B5B")  # TensorMap of tensors.hpp


@dataclass(frozen=True, eq=False)
class TensorMap:
    """What cuTensorMapEncodeTiled makes of `array`, for a kernel's `__grid_constant__ const CUtensorMap` or a pointer.

    As Tiling, with the shape, strides and type of the array unless others are given. Raises DeviceError for what the
    driver refuses.
    """

    array: npt.NDArray[Any]
    box: tuple[int, ...]
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    steps: tuple[int, ...] | None = None
    swizzle: str = "none"
    fill: str = "zeros"
    dtype: str = ""

    def __post_init__(self) -> None:
        tiling, array = self.tiling, self.array
        problem = tiling.problem()
        if not problem and (tiling.width != array.dtype.itemsize or not array.flags.c_contiguous):
            problem = f"{tiling.dtype} has {tiling.width} bytes; expected a contiguous array of such elements"
        if not problem and tiling.nbytes > array.nbytes:
            problem = f"the tensor takes {tiling.nbytes} bytes of the array"
        if problem:
            raise DeviceError(f"tensor map of {array.dtype}{list(array.shape)}: {problem}")

    @property
    def tiling(self) -> Tiling:
        shape = self.array.shape if self.shape is None else self.shape
        dtype = self.dtype or self.array.dtype.name
        return Tiling(dtype, shape, self.box, self.strides, self.steps, self.swizzle, self.fill)

    def descriptor(self, data: int) -> bytes:
        """`data`: address of the array on the device."""
        return tensor_map_bytes(self.tiling, data)


def tensor_map_bytes(tiling: Tiling, data: int) -> bytes:
    """The 128 bytes of a tensor map of an array at address `data`."""
    found = _DESCRIPTOR.pack(
        *(_MAGIC, data),
        *_inner_first(tiling.byte_strides, MOST_AXES - 1, 0),
        *_inner_first([size - 1 for size in tiling.shape], MOST_AXES, 0),
        *_inner_first(tiling.box, MOST_AXES, 1),
        *_inner_first(tiling.every, MOST_AXES, 1),
        *(list(ELEMENTS).index(tiling.dtype), tiling.width, len(tiling.shape)),
        *(SWIZZLES[tiling.swizzle], FILLS.index(tiling.fill)),
    )
    return found.ljust(BYTES, b"\0")


def _inner_first(values: Sequence[int], count: int, rest: int) -> list[int]:
    return [*reversed(values), *(rest,) * (count - len(values))]
