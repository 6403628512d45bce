"""Helpers that peers of softmax and log-softmax share."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from kernelbench import Arrays, Case, Unsupported, import_library
from ..common.peers import on_stream, torch_tensor, torch_with_gpu


def refuse_scale_and_mask(case: Case) -> None:
    """Unsupported for a softmax of attention, which a plain softmax does not fuse."""
    case.refuse("mask")
    if case.parameter("scale", 1.0) != 1.0:
        raise Unsupported(f"scale must be 1, got {case.parameter('scale', 1.0)}")


def our_triton() -> Any:
    """The module that launches our own Triton kernels; MissingLibrary where there is no Triton."""
    import_library("triton")
    return import_module(".triton_choice", __package__)


def our_helion() -> Any:
    """The module of our own Helion kernels; MissingLibrary where there is no Helion."""
    import_library("helion")
    return import_module(".helion_tiles", __package__)


def helion_call(case: Case, arrays: Arrays, stream: int, *, log: bool) -> Callable[[], None]:
    """A call of our own Helion kernels, which Helion tunes here for the case."""
    torch, tiles = torch_with_gpu(), our_helion()
    outer, dim, inner = case.outer_dim_inner
    x, y = (torch_tensor(torch, arrays[name], case.dtype).view(outer, dim, inner) for name in ("x", "y"))
    kernel = tiles.KERNELS[log, inner == 1]
    tensors = (x.squeeze(2), y.squeeze(2)) if inner == 1 else (x, y)
    call = on_stream(torch, stream, lambda: kernel(*tensors))
    call()  # tunes and compiles, which is not to be timed
    return call


def triton_call(case: Case, arrays: Arrays, stream: int, *, log: bool) -> Callable[[], None]:
    """A call of our own Triton kernels, which are tuned here for the case."""
    torch, choice = torch_with_gpu(), our_triton()
    x, y = (torch_tensor(torch, arrays[name], case.dtype) for name in ("x", "y"))
    own_stream = torch.cuda.ExternalStream(stream)
    with torch.cuda.stream(own_stream):
        launch = choice.launcher(x, y, case.outer_dim_inner, log=log)
    return on_stream(torch, stream, launch)
