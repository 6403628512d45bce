"""Peer: x * y through torch.compile, which writes a Triton kernel for the shape."""

from typing import Any

from kernelbench import Case
from ..common.torch_code import compiled_peers


def expression(torch: Any, case: Case, x: Any, y: Any) -> Any:
    return x * y


IMPLEMENTATIONS = compiled_peers("x * y", expression, ("x", "y"), "z")
