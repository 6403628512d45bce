"""Launch plan of streamed.cu: dropout and addition, one tile per block."""

from kernelbench import Implementation, Origin, Scalar
from ..common.launch_helpers import streamed, streamed_tunable

IMPLEMENTATIONS = (
    Implementation(
        "streamed",
        "dropout and addition, one block per tile of packs of 16 bytes",
        Origin("written here"),
        plan=streamed(
            "dropout_add_streamed",
            ("x", "mask", "addend", "y"),
            lambda case: (Scalar("float32", case.parameter("scale", 1.25)),),
        ),
        tunable=streamed_tunable("dropout_add"),
    ),
)
