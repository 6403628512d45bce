"""Peer: torch.nn.functional.layer_norm through torch.compile, which writes a Triton kernel for the shape."""

from typing import Any

from kernelbench import Case
from ..common.torch_code import compiled_peers
from .operation import EPS


def expression(torch: Any, case: Case, x: Any, gamma: Any, beta: Any) -> Any:
    return torch.nn.functional.layer_norm(x, case.shape[-1:], gamma, beta, EPS)


def refuse(case: Case) -> None:
    case.rows_columns()


IMPLEMENTATIONS = compiled_peers(
    "torch.nn.functional.layer_norm", expression, ("x", "gamma", "beta"), "y", refuse=refuse
)
