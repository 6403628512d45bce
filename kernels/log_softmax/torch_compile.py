"""Peer: torch.log_softmax through torch.compile, which writes a Triton kernel for the shape. Any axis."""

from collections.abc import Callable
from functools import partial
from typing import Any

from kernelbench.peers.torch_code import MODES, compiled_call
from kernelbench.records import Arrays, Case, Implementation, Origin


def expression(torch: Any, case: Case, x: Any) -> Any:
    return torch.log_softmax(x, dim=case.axis)


def prepare(name: str, case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    return compiled_call(name, expression, ("x",), "y", case, arrays, stream)


IMPLEMENTATIONS = tuple(
    Implementation(
        name,
        f"torch.log_softmax through torch.compile of the installed PyTorch, mode {mode}",
        Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch"),
        prepare=partial(prepare, name),
        role="peer",
    )
    for name, mode in MODES.items()
)
