"""Launches as the pure data that plans return. Plans import these names from `kernelbench`."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from kernelbench.core.errors import DeviceError, Unsupported
from kernelbench.core.tensor_maps import Tiling


@dataclass(frozen=True)
class Scalar:
    """A kernel argument passed by value; `dtype` must match the C parameter: int32, int64, float32."""

    dtype: str
    value: int | float


@dataclass(frozen=True)
class TensorMap:
    """A kernel argument `const __grid_constant__ CUtensorMap`: how bulk tensor copies see an array or scratch."""

    array: str
    tiling: Tiling


def too_many_threads(entry: str, most: int, threads: int) -> str:
    """The same words on a GPU and on the simulator."""
    remedy = "launch fewer, or change its __launch_bounds__"
    return f"kernel {entry}: expected at most {most} threads per block, as it was compiled, got {threads}; {remedy}"


@dataclass(frozen=True)
class Launch:
    """One kernel launch. `arguments` in the kernel's order: array or scratch names, scalars, and tensor maps."""

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[str | Scalar | TensorMap, ...]
    shared_bytes: int = 0  # dynamic; above 48 KB the device opts in by itself
    cooperative: bool = False  # all blocks wait for each other: they run at once, or the launch is refused
    # Consecutive blocks that wait for each other. The GPU must have room for this many at once, or the launch fails;
    # the simulator runs them side by side. The grid consists of whole groups.
    co_resident: int = 1

    @property
    def threads(self) -> int:
        return prod(self.block)

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of the arrays and scratch that it gets, each one once."""
        named = (one.array if isinstance(one, TensorMap) else one for one in self.arguments)
        return tuple(dict.fromkeys(one for one in named if isinstance(one, str)))

    @property
    def together(self) -> int:
        """Blocks that wait for each other."""
        return prod(self.grid) if self.cooperative else self.co_resident

    def check_threads(self, most: int) -> None:
        """DeviceError where a block has more threads than the kernel was compiled for, `most`: CUDA calls that an
        invalid argument."""
        if self.threads > most:
            raise DeviceError(too_many_threads(self.entry, most, self.threads))

    def check_resident(self, room: int) -> None:
        """DeviceError where more blocks wait for each other than the GPU holds at once, `room`."""
        if self.together > room:
            which, what = ("its", "grid") if self.cooperative else ("groups of", "group")
            raise DeviceError(
                f"{self.entry}: {which} {self.together} blocks wait for each other, and the GPU holds {room} of them "
                f"at once; expected a {what} of at most as many"
            )


@dataclass(frozen=True)
class HostCall:
    """A call of host code that launches kernels itself: `extern "C" int entry(arguments.., cudaStream_t stream)`.

    The .cu is built as a shared library. The function submits its work to the stream, waits for nothing, and returns 0
    or a cudaError_t. Arrays and scratch arrive as pointers to device memory.
    """

    entry: str
    arguments: tuple[str | Scalar, ...]


@dataclass(frozen=True)
class LaunchPlan:
    """The way an implementation runs one case on one device: pure data, printed by `kernelbench plan`.

    It has either `launches`, or `host` for code that launches by itself.
    """

    launches: tuple[Launch, ...] = ()
    defines: tuple[tuple[str, str | int], ...] = ()  # compile-time constants: nvcc -DNAME=VALUE
    scratch: tuple[tuple[str, int], ...] = ()  # name, bytes; uninitialised, 256-byte aligned
    reasons: tuple[str, ...] = ()  # why these choices, for the reader of `kernelbench plan`
    debug: bool = False  # built with nvcc -G, which optimises nothing
    host: HostCall | None = None
    alignment: int = 1  # bytes: every array must begin at a multiple, or devices refuse the plan
    source: str = ""  # name of its .cu beside the usual one, among the implementation's `other_sources`

    def check_alignment(self, addresses: Mapping[str, int]) -> None:
        """Unsupported for arrays that do not begin at a multiple of `alignment`. `addresses`: by name."""
        for name, address in addresses.items():
            if over := address % self.alignment:
                raise Unsupported(f"{name} must begin at a multiple of {self.alignment} bytes, but is {over} past one")
