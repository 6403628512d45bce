"""Helpers that peers of softmax and log-softmax share."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from importlib import import_module
from typing import Any

from kernelbench import Arrays, Case, MissingLibrary, Unsupported, import_library
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


def tune_helion(call: Callable[[], None]) -> None:
    """Call a Helion kernel for the first time, when it tunes and compiles. MissingLibrary where its back end does not
    take the versions that are installed.

    Its tuner compiles in processes that it starts and waits for, which a daemon, as workers are, may not.
    """
    settings = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    before, settings["daemon"] = settings.get("daemon"), False
    try:
        call()
    except import_library("helion").exc.CuteBackendUnavailable as error:
        raise MissingLibrary(str(error).partition("\n")[0]) from error
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
