"""Launch plans of hand_written.cu: OneFlow's packs written out in six ways."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import packed_plan

PROJECT = "CSDN blog, CUDA notes on element-wise kernels"
DIFFERS = (
    "64-bit indices; element by element where an array does not begin at a multiple of 16 bytes; float32 and bfloat16 "
    "as well"
)
PAGE = Origin(PROJECT, differs=f"{DIFFERS}; whole packs are counted by the host")


def plan(case: Case, device: DeviceProperties, way: str) -> LaunchPlan:
    """`way` names a struct of hand_written.cu."""
    entry = f"multiply_hand_written_{dtypes.suffix(case.dtype)}"
    return packed_plan(entry, ("x", "y", "z"), case, device, defines=(("WAY", way),))


IMPLEMENTATIONS = (
    Implementation(
        "whole_packs", "kernel 0: whole packs through registers", PAGE, plan=partial(plan, way="WholePacks")
    ),
    Implementation(
        "counted_here",
        "kernel 0, whole packs counted by each thread",
        Origin(PROJECT, differs=DIFFERS),
        plan=partial(plan, way="CountedHere"),
    ),
    Implementation(
        "through_memory",
        "kernel 1: element by element through the pack in memory",
        PAGE,
        plan=partial(plan, way="ThroughMemory"),
    ),
    Implementation(
        "cast_in_loop", "kernel 2: pointers cast inside the loop", PAGE, plan=partial(plan, way="CastInLoop")
    ),
    Implementation(
        "element_index", "kernel 3: the index counts elements", PAGE, plan=partial(plan, way="ElementIndex")
    ),
    Implementation("int4", "kernel 4: int4 as container", PAGE, plan=partial(plan, way="Int4")),
)
