"""Peer: torch.softmax, writing into the case's own y. Any axis.

The file bears the name that users type. It is loaded by its path, so that `import torch` below still
finds the library.
"""

from collections.abc import Callable

from kernelbench.errors import MissingLibrary, Unsupported
from kernelbench.records import Arrays, Case, Implementation, Origin


def prepare(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    case.refuse("mask")
    if case.parameter("scale", 1.0) != 1.0:
        raise Unsupported(f"scale must be 1, got {case.parameter('scale', 1.0)}")
    try:
        import torch
    except ImportError as error:
        raise MissingLibrary("torch is not installed; try: pip install 'kernelbench[torch]'") from error
    if not torch.cuda.is_available():
        raise MissingLibrary(f"torch {torch.__version__} sees no GPU: it needs a build with CUDA for this driver")

    # Both look at the arrays' own memory; "cuda" is the device that is current already.
    x = torch.as_tensor(arrays["x"], device="cuda")
    y = torch.as_tensor(arrays["y"], device="cuda")
    if case.dtype == "bfloat16":
        x, y = x.view(torch.bfloat16), y.view(torch.bfloat16)
    own_stream = torch.cuda.ExternalStream(stream)

    def call() -> None:
        with torch.cuda.stream(own_stream), torch.no_grad():
            torch.softmax(x, dim=case.axis, out=y)

    return call


IMPLEMENTATIONS = (
    Implementation(
        "torch",
        "torch.softmax of the installed PyTorch",
        Origin("pytorch/pytorch", "https://github.com/pytorch/pytorch"),
        prepare=prepare,
        role="peer",
    ),
)
