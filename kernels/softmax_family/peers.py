"""Helpers that peers of softmax and log-softmax share."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from kernelbench import Arrays, Case, Unsupported, import_library
from ..common.peers import on_stream, torch_tensor, torch_with_gpu

# Names of Helion's implementations, and the back end and language of each.
HELION = (("helion", "triton", "Triton"), ("helion_cute", "cute", "NVIDIA's CuTe DSL"))


def refuse_scale_and_mask(case: Case) -> None:
    """Unsupported for a softmax of attention, which a plain softmax does not fuse."""
    case.refuse("mask")
    if case.parameter("scale", 1.0) != 1.0:
        raise Unsupported(f"scale must be 1, got {case.parameter('scale', 1.0)}")


def our_triton() -> Any:
    """The module that launches our own Triton kernels; MissingLibrary where there is no Triton."""
    import_library("triton")
    return import_module(".triton_choice", __package__)


def our_helion(name: str, back_end: str) -> Any:
    """Our own Helion kernel; MissingLibrary where Helion or its back end is missing."""
    import_library("helion")
    if back_end == "cute":
        import_library("cutlass")
    return import_module(".helion_tiles", __package__).TUNED[name, back_end]


@contextmanager
def may_have_children() -> Iterator[None]:
    """Within it this process may start others, although it is a daemon, as workers are: Helion's tuner compiles in
    them, and waits for them."""
    settings = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    before, settings["daemon"] = settings.get("daemon"), False
    try:
        yield
    finally:
        settings["daemon"] = before


def triton_call(case: Case, arrays: Arrays, stream: int, *, log: bool) -> Callable[[], None]:
    """A call of our own Triton kernels, which are tuned here for the case."""
    torch, choice = torch_with_gpu(), our_triton()
    x, y = (torch_tensor(torch, arrays[name], case.dtype) for name in ("x", "y"))
    own_stream = torch.cuda.ExternalStream(stream)
    with torch.cuda.stream(own_stream):
        launch = choice.launcher(x, y, case.outer_dim_inner, log=log)
    return on_stream(torch, stream, launch)
