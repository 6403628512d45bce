"""Conversions between the arrays of a case and those of a library, shared by library peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernelbench import Array, MissingLibrary, Unsupported, dtypes, import_library

QUACK_PACK_BYTES = 16  # of each load of quack's kernels
QUACK_ROW_BYTES = 16 * 227 * 1024  # that they keep in the shared memory of a cluster


def torch_with_gpu() -> Any:
    """The module torch, of a build that sees a GPU."""
    torch = import_library("torch")
    if not torch.cuda.is_available():
        raise MissingLibrary(f"torch {torch.__version__} sees no GPU: it needs a build with CUDA for this driver")
    return torch


def torch_tensor(torch: Any, array: Array, dtype: str) -> Any:
    """A tensor over the array's own memory, on the device that is current already."""
    tensor = torch.as_tensor(array, device="cuda")
    return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor


def on_stream(torch: Any, stream: int, work: Callable[[], Any]) -> Callable[[], None]:
    """A call of `work`, which writes into the case's own arrays, on the device's stream and without gradients."""
    own_stream = torch.cuda.ExternalStream(stream)

    def call() -> None:
        with torch.cuda.stream(own_stream), torch.no_grad():
            work()

    return call


def refuse_unaligned(tensors: Mapping[str, Any], pack_bytes: int) -> None:
    """Unsupported where one begins within a pack. For libraries that do not look: their first load of it would end the
    GPU's context."""
    for name, tensor in tensors.items():
        if beyond := tensor.data_ptr() % pack_bytes:
            raise Unsupported(f"{name} must begin at a multiple of {pack_bytes} bytes, got {beyond} bytes beyond one")


def refuse_for_quack(columns: int, dtype: str) -> None:
    """Unsupported for rows that quack's kernels do not take: they end within a pack, or no cluster holds them."""
    itemsize = dtypes.itemsize(dtype)
    pack, most = QUACK_PACK_BYTES // itemsize, QUACK_ROW_BYTES // itemsize
    if columns % pack:
        raise Unsupported(f"columns must be a multiple of {pack}, got {columns}")
    if columns > most:  # its launch would be invalid
        raise Unsupported(f"columns must be at most {most}, which the shared memory of a cluster holds, got {columns}")


def array_of(torch: Any, tensor: Any, dtype: str) -> Array:
    """A tensor that a library allocated, as the device's own kind of array; bfloat16 as uint16, as everywhere."""
    cupy = import_library("cupy")
    if dtype == "bfloat16":
        return cupy.asarray(tensor.view(torch.int16)).view(cupy.uint16)
    return cupy.asarray(tensor)
