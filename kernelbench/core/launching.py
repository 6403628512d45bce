"""What is launched: the pure data that plans return. Plans import these words from `kernelbench`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from kernelbench.core.errors import DeviceError, Unsupported


@dataclass(frozen=True)
class Scalar:
    """A kernel argument passed by value; `dtype` must match the C parameter: int32, int64, float32."""

    dtype: str
    value: int | float


@dataclass(frozen=True)
class Launch:
    """One kernel launch. `arguments` in the kernel's order: array or scratch names, and scalars."""

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[str | Scalar, ...]
    shared_bytes: int = 0  # dynamic; above 48 KB the device opts in by itself
    cooperative: bool = False  # blocks wait for each other: all run at once, or the launch is refused
    # Blocks, one after another by number, that wait for each other: the GPU must have room for so many at once, or the
    # launch fails; the simulator runs them side by side. The grid consists of whole groups.
    co_resident: int = 1

    @property
    def threads(self) -> int:
        return prod(self.block)

    @property
    def together(self) -> int:
        """Blocks that wait for each other."""
        return prod(self.grid) if self.cooperative else self.co_resident

    def check_resident(self, room: int) -> None:
        """DeviceError where more blocks wait for each other than the `room` that a GPU has for them at once."""
        if self.together > room:
            which, what = ("its", "grid") if self.cooperative else ("groups of", "group")
            raise DeviceError(
                f"{self.entry}: {which} {self.together} blocks wait for each other, and the GPU holds {room} of them "
                f"at once; expected a {what} of at most as many"
            )


@dataclass(frozen=True)
class HostCall:
    """A call of host code that launches kernels itself: `extern "C" int entry(arguments.., cudaStream_t stream)`.

    The .cu is then built as a shared library. The function submits its work to the stream, waits for nothing, and
    returns 0 or a cudaError_t. Arrays and scratch arrive as pointers to device memory.
    """

    entry: str
    arguments: tuple[str | Scalar, ...]


@dataclass(frozen=True)
class LaunchPlan:
    """How an implementation runs one case on one device: pure data, printed by `kernelbench plan`.

    Either `launches`, or `host` for code that launches by itself.
    """

    launches: tuple[Launch, ...] = ()
    defines: tuple[tuple[str, str | int], ...] = ()  # compile-time constants: nvcc -DNAME=VALUE
    scratch: tuple[tuple[str, int], ...] = ()  # name, bytes; uninitialised, 256-byte aligned
    reasons: tuple[str, ...] = ()  # why these choices, for the reader of `kernelbench plan`
    debug: bool = False  # built with nvcc -G, which optimises nothing
    host: HostCall | None = None
    alignment: int = 1  # bytes: every array must begin at a multiple; devices refuse those that do not

    def check_alignment(self, addresses: Mapping[str, int]) -> None:
        """Unsupported for arrays, by name where they begin, that the kernels cannot move by whole packs."""
        for name, address in addresses.items():
            if over := address % self.alignment:
                raise Unsupported(f"{name} must begin at a multiple of {self.alignment} bytes, it begins {over} beyond")
