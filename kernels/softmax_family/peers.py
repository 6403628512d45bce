"""Helpers that peers of softmax and log-softmax share."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kernelbench import Case, Unsupported, import_library


def refuse_scale_and_mask(case: Case) -> None:
    """Unsupported for a softmax of attention, which a plain softmax does not fuse."""
    case.refuse("mask")
    if case.parameter("scale", 1.0) != 1.0:
        raise Unsupported(f"scale must be 1, got {case.parameter('scale', 1.0)}")


def our_triton() -> Any:
    """The module that launches our own Triton kernels; MissingLibrary where there is no Triton."""
    import_library("triton")
    return import_module(".triton_choice", __package__)
