"""What library peers share: importing their library where it is used, and seeing a case's arrays as its own.

Peers under kernels/ may import it; it imports no library by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kernelbench.errors import MissingLibrary
from kernelbench.records import Array

INSTALL = {"torch": "'kernelbench[torch]'", "cupy": "'kernelbench[cuda13]' or [cuda12]"}  # what pip is asked for


def library(module: str) -> Any:
    """The imported module, such as `cupy` or `cupyx.scipy.special`; MissingLibrary says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = "cupy" if module.startswith("cupy") else module
        raise MissingLibrary(f"{name} is not installed; try: pip install {INSTALL[name]}") from error


def torch_with_gpu() -> Any:
    """The module torch, of a build that sees a GPU."""
    torch = library("torch")
    if not torch.cuda.is_available():
        raise MissingLibrary(f"torch {torch.__version__} sees no GPU: it needs a build with CUDA for this driver")
    return torch


def torch_tensor(torch: Any, array: Array, dtype: str) -> Any:
    """A tensor over the array's own memory, on the device that is current already."""
    tensor = torch.as_tensor(array, device="cuda")
    return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor
