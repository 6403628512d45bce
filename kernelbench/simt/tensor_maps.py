"""Tensor maps: how the bulk tensor copies of sm_90 (TMA) see an array."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy.typing as npt

from kernelbench.core.errors import DeviceError

# In the order of CUtensorMapDataType, whose numbers the driver and the runtime share.
TYPES = {"uint8": 1, "uint16": 2, "uint32": 4, "int32": 4, "uint64": 8, "int64": 8, "float16": 2, "float32": 4,
         "float64": 8, "bfloat16": 2, "float32_ftz": 4, "tfloat32": 4, "tfloat32_ftz": 4}  # fmt: skip
SWIZZLES = {"none": 0, "32B": 32, "64B": 64, "128B": 128}  # bytes of a row within which 16 bytes each are exchanged
FILLS = ("zeros", "nan")
BYTES = 128
MOST_DIMENSIONS, MOST_BOX, MOST_STEP = 5, 256, 8
UNIT = 16  # bytes: strides and rows of a box are multiples of it
_MAGIC = 0x31504D4F534E4554
_DESCRIPTOR = struct.Struct("<QQ4Q5I5H5B5B")


@dataclass(frozen=True, eq=False)
class TensorMap:
    """What cuTensorMapEncodeTiled makes of `array`, for a kernel's `__grid_constant__ const CUtensorMap` or a pointer.

    All axes are in NumPy's order: the last one is contiguous, and is coordinate 0 of the kernel. `box`: elements that a
    copy moves along each axis. `shape`, `strides` (in bytes): of the tensor, if it is not the array itself. `steps`:
    every n-th element of a box is copied, along all axes but the last. `swizzle`: "none", "32B", "64B" or "128B".
    `fill`: what lies outside the tensor, "zeros" or "nan". `type`: of the elements, by default that of the array:
    "bfloat16" or "tfloat32", say. Interleaved tensors and im2col are not supported. Raises DeviceError for what the
    driver refuses.
    """

    array: npt.NDArray[Any]
    box: tuple[int, ...]
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    steps: tuple[int, ...] | None = None
    swizzle: str = "none"
    fill: str = "zeros"
    type: str = ""

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise DeviceError(f"tensor map of {self.array.dtype}{list(self.array.shape)}: {problem}")

    @property
    def element(self) -> str:
        return self.type or self.array.dtype.name

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.array.shape if self.shape is None else tuple(self.shape)

    @property
    def byte_strides(self) -> tuple[int, ...]:
        """Of every axis but the last."""
        if self.strides is not None:
            return tuple(self.strides)[: len(self.sizes) - 1]
        if self.shape is None:
            return self.array.strides[:-1]
        return tuple(prod(self.sizes[axis + 1 :]) * TYPES[self.element] for axis in range(len(self.sizes) - 1))

    @property
    def every(self) -> tuple[int, ...]:
        return (1,) * len(self.sizes) if self.steps is None else tuple(self.steps)

    def _problem(self) -> str:
        if self.element not in TYPES or TYPES[self.element] != self.array.dtype.itemsize:
            return f"type {self.element!r}, expected one of {', '.join(TYPES)}, as wide as the array's"
        if self.swizzle not in SWIZZLES or self.fill not in FILLS:
            return f"swizzle {self.swizzle!r}, fill {self.fill!r}, expected {tuple(SWIZZLES)} and {FILLS}"
        if self.fill == "nan" and "float" not in self.element:
            return "only floats can be filled with NaN"
        rank, width = len(self.sizes), TYPES[self.element]
        if not 1 <= rank <= MOST_DIMENSIONS or not (len(self.box) == len(self.every) == rank):
            return f"{rank} axes, a box of {len(self.box)}, steps of {len(self.every)}; expected the same 1 to 5"
        if len(self.byte_strides) != rank - 1 or any(not 0 < one < 1 << 40 or one % UNIT for one in self.byte_strides):
            return f"strides {self.byte_strides}: expected multiples of {UNIT} bytes, one for each axis but the last"
        if not all(1 <= one <= MOST_BOX for one in self.box) or not all(1 <= one <= MOST_STEP for one in self.every):
            return f"box {self.box}, steps {self.every}: expected 1 to {MOST_BOX} and 1 to {MOST_STEP}"
        row, swizzle = self.box[-1] * width, SWIZZLES[self.swizzle]
        if row % UNIT or (swizzle and row > swizzle):
            limit = f" and at most {swizzle}" if swizzle else ""
            return f"a row of the box has {row} bytes, expected a multiple of {UNIT}{limit}"
        if not all(1 <= one <= 1 << 32 for one in self.sizes) or not self.array.flags.c_contiguous:
            return "expected a contiguous array with elements along each axis"
        return "" if self._reach() <= self.array.nbytes else f"the tensor takes {self._reach()} bytes of the array"

    def _reach(self) -> int:
        outer = sum((size - 1) * stride for size, stride in zip(self.sizes[:-1], self.byte_strides, strict=True))
        return outer + self.sizes[-1] * TYPES[self.element]

    def descriptor(self, data: int) -> bytes:
        """The 128 bytes for the simulator; `data`: address of the array on the device. A GPU's are a secret of its
        driver."""
        found = _DESCRIPTOR.pack(
            *(_MAGIC, data),
            *_inner_first(self.byte_strides, MOST_DIMENSIONS - 1, 0),
            *_inner_first([size - 1 for size in self.sizes], MOST_DIMENSIONS, 0),
            *_inner_first(self.box, MOST_DIMENSIONS, 1),
            *_inner_first(self.every, MOST_DIMENSIONS, 1),
            *(list(TYPES).index(self.element), TYPES[self.element], len(self.sizes)),
            *(SWIZZLES[self.swizzle], FILLS.index(self.fill)),
        )
        return found.ljust(BYTES, b"\0")


def _inner_first(values: Sequence[int], count: int, rest: int) -> list[int]:
    return [*reversed(values), *(rest,) * (count - len(values))]
