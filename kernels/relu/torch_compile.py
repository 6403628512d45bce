"""Peer: torch.relu through torch.compile, which writes a Triton kernel for the shape."""

from typing import Any

from kernelbench import Case
from ..common.torch_code import compiled_peers


def expression(torch: Any, case: Case, x: Any) -> Any:
    return torch.relu(x)


IMPLEMENTATIONS = compiled_peers("torch.relu", expression, ("x",), "y")
