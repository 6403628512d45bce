"""Launch plans of small_array.cu: an array of a thread, indexed by constants or by a number known at run time."""

from dataclasses import replace
from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, Scalar
from ._narrow import narrow_plan

ARTICLE = Origin(
    "Oneflow-Inc/oneflow, 100 days of open source: performance optimisation",
    differs="said in words; the kernel was written here",
)
HELD = (8, 64)  # elements of the array: what compilers of today keep in registers in any case, and what they do not
WAYS = {"constant": "constants", "run_time": "a number known at run time"}


def plan(case: Case, device: DeviceProperties, held: int, way: str) -> LaunchPlan:
    """`held`: elements of the array; `way`: how it is indexed."""
    first = Scalar("int32", 0)
    narrow = narrow_plan(f"indexing_small_array_{way}", case, device, -(-case.elements // held), first)
    return replace(narrow, defines=(*narrow.defines, ("HELD", held)))


IMPLEMENTATIONS = tuple(
    Implementation(
        f"array_{held}_{way}",
        f"an array of {held} elements indexed by {words}",
        ARTICLE,
        plan=partial(plan, held=held, way=way),
    )
    for held in HELD
    for way, words in WAYS.items()
)
