"""Libraries that not every run needs, such as those of peers: imported on first use, with their caches inside ours."""

import json
import os
import re
from importlib import import_module
from typing import Any

from kernelbench.core import places
from kernelbench.core.errors import MissingLibrary

EXTRAS = {  # by module, the extra that brings it
    "torch": "torch",
    "cupy": "cuda13",
    "triton": "torch",  # PyTorch for Linux brings it
    "quack": "quack",
    "liger_kernel": "liger",
    "flashinfer": "flashinfer",
    "helion": "helion",
    "cutlass": "helion",  # NVIDIA's CuTe DSL, which quack brings too
    "ncu_report": "ncu",
    "cryptography": "fleet",
}
# The packages whose versions say what a peer ran, by the first word of its name. CUB comes with the compiler's headers.
PEER_PACKAGES = {
    "torch": ("torch",),
    "triton": ("triton",),
    "quack": ("quack-kernels",),
    "liger": ("liger-kernel",),
    "flashinfer": ("flashinfer-python",),
    "helion": ("helion",),
    "cudnn": ("nvidia-cudnn-cu12", "nvidia-cudnn-cu13"),
    "cupy": ("cupy-cuda12x", "cupy-cuda13x"),
    "cub": ("cub",),
}
# Folders below our own cache for what libraries compile and tune, so that the next run finds it. Libraries tell entries
# apart by source, version and GPU.
CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": "torch_compile",
    "TRITON_CACHE_DIR": "triton",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "HELION_CACHE_DIR": "helion",
}


def import_library(module: str) -> Any:
    """The imported module, such as `cupy` or `cupyx.scipy.special`; MissingLibrary says how to get it."""
    for variable, folder in CACHES.items():
        os.environ.setdefault(variable, str(places.cache() / folder))
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        name = "cupy" if package.startswith("cupy") else package
        absent = isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in (package, name)
        said = "is not installed" if absent else f"cannot be imported ({_first_line(error)})"
        raise MissingLibrary(f"{name} {said}; try: {pip_install(EXTRAS[name])}") from error


def _first_line(error: ImportError) -> str:
    """The first line with words: CuPy's message begins with a line of signs."""
    return next((line.strip() for line in str(error).splitlines() if re.search(r"\w", line)), type(error).__name__)


def pip_install(extra: str) -> str:
    """The command that adds an extra: from the checkout, or from the source that pip installed this package from, for
    no index has it."""
    if places.in_checkout():
        return f"pip install -e '{places.ROOT}[{extra}]'"
    from importlib import metadata

    try:
        url = json.loads(metadata.distribution("kernelbench").read_text("direct_url.json") or "{}").get("url", "")
    except metadata.PackageNotFoundError:
        url = ""
    if url:
        return f"pip install 'kernelbench[{extra}] @ {url}'"
    return f"pip install 'SOURCE[{extra}]', where SOURCE is the checkout or the wheel that kernelbench comes from"
