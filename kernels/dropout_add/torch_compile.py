"""Peer: x * mask * scale + addend through torch.compile, which writes a Triton kernel for the shape."""

from typing import Any

from kernelbench import Case
from ..common.torch_code import compiled_peers


def expression(torch: Any, case: Case, x: Any, mask: Any, addend: Any) -> Any:
    return x * mask * case.parameter("scale", 1.25) + addend


IMPLEMENTATIONS = compiled_peers(
    "x * mask * scale + addend", expression, ("x", "mask", "addend"), "y", {"mask": "int8"}
)
