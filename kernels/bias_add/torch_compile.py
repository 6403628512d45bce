"""Peer: x + bias through torch.compile, which writes a Triton kernel for the shape."""

from typing import Any

from kernelbench import Case
from ..common.torch_code import compiled_peers


def expression(torch: Any, case: Case, x: Any, bias: Any) -> Any:
    _, dim, _ = case.outer_dim_inner
    return (x.view(case.outer_dim_inner) + bias.view(1, dim, 1)).view(case.shape)


IMPLEMENTATIONS = compiled_peers("x + bias", expression, ("x", "bias"), "y")
