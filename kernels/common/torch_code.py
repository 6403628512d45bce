"""Peers that run an expression through torch.compile, and write into the case's own output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any

from kernelbench import Arrays, Case, Implementation, Origin
from .peers import on_stream, torch_tensor, torch_with_gpu

MODES = {"torch_compile": "default", "torch_compile_autotuned": "max-autotune-no-cudagraphs"}
MOST_COMPILED = 10_000  # PyTorch gives up after 8 shapes of one function, and runs it uncompiled


def compiled_call(
    name: str,
    expression: Callable[..., Any],
    inputs: tuple[str, ...],
    output: str,
    case: Case,
    arrays: Arrays,
    stream: int,
    dtypes: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[], None]:
    """The call of `expression(torch, case, *inputs)` compiled in the mode of the peer called `name`.

    `dtypes` has the types of arrays that are not of the case's own.
    """
    torch = torch_with_gpu()
    # The distribution of its inputs and the suite's axes are no reason to compile again.
    code_of = Case(case.operation, case.shape, case.axis, case.dtype, parameters=case.parameters)
    run = _compiled(MODES[name], expression, code_of)
    tensors = [torch_tensor(torch, arrays[one], dtypes.get(one, case.dtype)) for one in (output, *inputs)]
    call = on_stream(torch, stream, lambda: run(*tensors))
    call()  # compiles, and tunes, which is not to be timed
    return call


@cache
def _compiled(mode: str, expression: Callable[..., Any], case: Case) -> Callable[..., Any]:
    torch = torch_with_gpu()
    torch._dynamo.config.recompile_limit = MOST_COMPILED

    def into(output: Any, *inputs: Any) -> None:
        output.copy_(expression(torch, case, *inputs))

    compiled: Callable[..., Any] = torch.compile(into, mode=mode, dynamic=False, fullgraph=True)
    return compiled


def compiled_peers(
    what: str,
    expression: Callable[..., Any],
    inputs: tuple[str, ...],
    output: str,
    dtypes: Mapping[str, str] = MappingProxyType({}),
    refuse: Callable[[Case], None] = lambda case: None,
) -> tuple[Implementation, ...]:
    """A peer for each mode: `what` through torch.compile. `refuse` raises Unsupported for what the expression does not
    say; the rest is as in `compiled_call`."""

    def prepare(name: str, case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
        refuse(case)
        return compiled_call(name, expression, inputs, output, case, arrays, stream, dtypes)

    return tuple(
        Implementation(
            name,
            f"{what} through torch.compile of the installed PyTorch, mode {mode}",
            Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch"),
            prepare=partial(prepare, name),
            role="peer",
        )
        for name, mode in MODES.items()
    )
