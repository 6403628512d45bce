"""What a tensor map says of an array: the boxes that bulk tensor copies (TMA) move, without its address."""

from dataclasses import dataclass
from math import prod

# Bytes of the elements, in the order of CUtensorMapDataType, whose numbers driver and simulator share.
ELEMENTS = {"uint8": 1, "uint16": 2, "uint32": 4, "int32": 4, "uint64": 8, "int64": 8, "float16": 2, "float32": 4,
            "float64": 8, "bfloat16": 2, "float32_ftz": 4, "tfloat32": 4, "tfloat32_ftz": 4}  # fmt: skip
SWIZZLES = {"none": 0, "32B": 32, "64B": 64, "128B": 128}  # bytes of a row within which 16 bytes each are exchanged
FILLS = ("zeros", "nan")
BYTES = 128  # of a tensor map
MOST_AXES, MOST_BOX, MOST_STEP = 5, 256, 8
UNIT = 16  # bytes: strides and rows of a box are multiples of it


@dataclass(frozen=True)
class Tiling:
    """The arguments of cuTensorMapEncodeTiled. All axes are in NumPy's order: the last one is contiguous, and is
    coordinate 0 of the kernel.

    `dtype`: of the elements, a key of ELEMENTS. `box`: elements that a copy moves along each axis. `strides`: in bytes,
    of every axis but the last; by default those of a contiguous array. `steps`: every n-th element of a box is copied,
    along all axes but the last. `swizzle`: "none", "32B", "64B" or "128B". `fill`: what lies outside, "zeros" or "nan".
    Interleaved tensors and im2col have no form here.
    """

    dtype: str
    shape: tuple[int, ...]
    box: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    steps: tuple[int, ...] | None = None
    swizzle: str = "none"
    fill: str = "zeros"

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return ELEMENTS[self.dtype]

    @property
    def byte_strides(self) -> tuple[int, ...]:
        if self.strides is not None:
            return self.strides
        return tuple(prod(self.shape[axis + 1 :]) * self.width for axis in range(len(self.shape) - 1))

    @property
    def every(self) -> tuple[int, ...]:
        return (1,) * len(self.shape) if self.steps is None else self.steps

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the end of the last one."""
        outer = sum((size - 1) * stride for size, stride in zip(self.shape[:-1], self.byte_strides, strict=True))
        return outer + self.shape[-1] * self.width

    def problem(self) -> str:
        """What the driver would refuse; '' if nothing."""
        if self.dtype not in ELEMENTS or self.swizzle not in SWIZZLES or self.fill not in FILLS:
            return (
                f"{self.dtype!r}, swizzle {self.swizzle!r}, fill {self.fill!r}; expected one of {', '.join(ELEMENTS)}, "
                f"one of {', '.join(SWIZZLES)}, and {' or '.join(FILLS)}"
            )
        if self.fill == "nan" and "float" not in self.dtype:
            return "only floats can be filled with NaN"
        rank = len(self.shape)
        if not 1 <= rank <= MOST_AXES or not (len(self.box) == len(self.every) == rank):
            return (
                f"{rank} axes, a box of {len(self.box)}, steps of {len(self.every)}; expected the same 1 to {MOST_AXES}"
            )
        if not all(1 <= one <= 1 << 32 for one in self.shape):
            return f"shape {self.shape}: expected 1 to 2^32 elements along each axis"
        if len(self.byte_strides) != rank - 1 or any(not 0 < one < 1 << 40 or one % UNIT for one in self.byte_strides):
            return f"strides {self.byte_strides}: expected multiples of {UNIT} bytes, one for each axis but the last"
        if not all(1 <= one <= MOST_BOX for one in self.box) or not all(1 <= one <= MOST_STEP for one in self.every):
            return f"box {self.box}, steps {self.every}: expected 1 to {MOST_BOX} and 1 to {MOST_STEP}"
        row, swizzle = self.box[-1] * self.width, SWIZZLES[self.swizzle]
        if row % UNIT or (swizzle and row > swizzle):
            limit = f" and at most {swizzle}" if swizzle else ""
            return f"a row of the box has {row} bytes, expected a multiple of {UNIT}{limit}"
        return ""
