"""Peer: torch.log_softmax through torch.compile, which writes a Triton kernel for the shape. Any axis."""

from typing import Any

from kernelbench import Case
from ..common.torch_code import compiled_peers


def expression(torch: Any, case: Case, x: Any) -> Any:
    return torch.log_softmax(x, dim=case.axis)


IMPLEMENTATIONS = compiled_peers("torch.log_softmax", expression, ("x",), "y")
