"""Launch plan of streamed.cu: the product of two arrays, one tile per block."""

from kernelbench import Implementation, Origin
from ..common.launch_helpers import streamed, streamed_tunable

IMPLEMENTATIONS = (
    Implementation(
        "streamed",
        "one block per tile of packs of 16 bytes",
        Origin("written here"),
        plan=streamed("multiply_streamed", ("x", "y", "z")),
        tunable=streamed_tunable("multiply"),
    ),
)
