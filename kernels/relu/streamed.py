"""Launch plan of streamed.cu: ReLU, one tile per block."""

from kernelbench import Implementation, Origin
from ..common.launch_helpers import streamed, streamed_tunable

IMPLEMENTATIONS = (
    Implementation(
        "streamed",
        "one block per tile of packs of 16 bytes",
        Origin("written here"),
        plan=streamed("relu_streamed", ("x", "y")),
        tunable=streamed_tunable("relu"),
    ),
)
