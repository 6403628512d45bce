"""What library peers share: importing their library where it is used, and seeing a case's arrays as its own.

Peers under kernels/ may import it; it imports no library by itself. Beside it: `torch_code.py`, what torch.compile
makes of an expression; `triton_rows.py`, Triton kernels of our own writing, and `triton_choice.py`, which of them
takes a shape; `cudnn.py`, softmax of NVIDIA's library.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from kernelbench.core import places
from kernelbench.core.errors import MissingLibrary, Unsupported
from kernelbench.core.records import Array, Case

# What pip is asked for.
INSTALL = {
    "torch": "'kernelbench[torch]'",
    "cupy": "'kernelbench[cuda13]' or [cuda12]",
    "triton": "'kernelbench[torch]'",  # PyTorch for Linux brings it
    "quack": "'kernelbench[quack]'",
    "liger_kernel": "'kernelbench[liger]'",
    "flashinfer": "'kernelbench[flashinfer]'",
}


# Where libraries keep what they have compiled and tuned for a GPU: below our own cache, so that it outlasts a restart
# and is found by the next run. Each knows its own by source, version and GPU.
CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": "torch_compile",
    "TRITON_CACHE_DIR": "triton",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
}


def library(module: str) -> Any:
    """The imported module, such as `cupy` or `cupyx.scipy.special`; MissingLibrary says how to get it."""
    for variable, folder in CACHES.items():
        os.environ.setdefault(variable, str(places.cache() / folder))
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        name = "cupy" if package.startswith("cupy") else package
        raise MissingLibrary(f"{name} is not installed; try: pip install {INSTALL[name]}") from error


def refuse_scale_and_mask(case: Case) -> None:
    """Unsupported for a softmax of attention, which a plain softmax does not fuse."""
    case.refuse("mask")
    if case.parameter("scale", 1.0) != 1.0:
        raise Unsupported(f"scale must be 1, got {case.parameter('scale', 1.0)}")


def torch_with_gpu() -> Any:
    """The module torch, of a build that sees a GPU."""
    torch = library("torch")
    if not torch.cuda.is_available():
        raise MissingLibrary(f"torch {torch.__version__} sees no GPU: it needs a build with CUDA for this driver")
    return torch


def our_triton() -> Any:
    """The module that launches our own Triton kernels."""
    library("triton")
    return import_module("kernelbench.peers.triton_choice")


def torch_tensor(torch: Any, array: Array, dtype: str) -> Any:
    """A tensor over the array's own memory, on the device that is current already."""
    tensor = torch.as_tensor(array, device="cuda")
    return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor


def array_of(torch: Any, tensor: Any, dtype: str) -> Array:
    """A tensor that a library allocated, as the device's own kind of array; bfloat16 as uint16, as everywhere."""
    cupy = library("cupy")
    if dtype == "bfloat16":
        return cupy.asarray(tensor.view(torch.int16)).view(cupy.uint16)
    return cupy.asarray(tensor)
