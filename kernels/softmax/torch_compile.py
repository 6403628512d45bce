"""Peer: torch.softmax through torch.compile, which writes a Triton kernel for the shape. Any axis."""

from typing import Any

from kernelbench import Case
from ..common.torch_code import compiled_peers
from ..softmax_family.peers import refuse_scale_and_mask


def expression(torch: Any, case: Case, x: Any) -> Any:
    return torch.softmax(x, dim=case.axis)


IMPLEMENTATIONS = compiled_peers("torch.softmax", expression, ("x",), "y", refuse=refuse_scale_and_mask)
