"""Peer: torch.sum through torch.compile, which writes a Triton kernel for the shape."""

from typing import Any

from kernelbench import Case
from ..common.torch_code import compiled_peers


def expression(torch: Any, case: Case, x: Any) -> Any:
    return x.view(-1).sum(dtype=torch.float32).view(1)


IMPLEMENTATIONS = compiled_peers("torch.sum", expression, ("x",), "y", {"y": "float32"})
