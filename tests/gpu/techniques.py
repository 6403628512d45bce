"""A case for every technique of every kernel that is written here, as the kernels' own plans choose among them.

Shapes are candidates only. Which technique one brings about its plan says: entries, constants and reasons, in which a
number counts as 0, 1 or more. Of the shapes of one technique the smallest of several blocks and of long enough rows is
taken.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from kernelbench.core.records import FLOATS, Case, DeviceProperties, Implementation, LaunchPlan
from kernelbench.planning.case_plans import plan_case
from kernelbench.planning.catalog import Catalog
from tests.catalog import catalog
from tests.gpu import shapes

# Rows that fill part of a block, several blocks, and clusters to which several rows come, one after another.
ROWS = (5, 9, 17, 37, 67, 301, 1009, 2049)
# On both sides of a pack, of a warp's packs and of what registers, shared memory and clusters hold.
COLUMNS = (
    1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 54, 64, 96, 100, 128, 129, 192, 255, 256, 384, 512, 513, 768, 1000, 1023,
    1024, 1536, 2047, 2048, 3072, 4096, 4097, 4111, 6144, 6245, 8192, 8193, 10_000, 16_384, 16_385, 24_576, 32_768,
    32_769, 50_000, 65_536, 65_537, 100_000, 131_072, 131_073, 200_000, 262_144, 262_145, 500_000, 524_288,
    1_048_576, 1_048_577,
)  # fmt: skip
OUTER = (1, 3, 40, 301)
DIM = (1, 2, 3, 16, 21, 64, 100, 128, 200, 256, 500, 896, 1009, 2048, 4096, 10_007, 50_000)
INNER = (2, 3, 4, 5, 8, 17, 31, 48, 64, 100, 128, 196, 256, 1000, 1024, 1025, 4096, 32_768)
LEAST_DIM = 32  # sums of fewer elements say little of a kernel that takes more
ROW_OPERATIONS = ("softmax", "log_softmax")
MOST_ELEMENTS = 2**23  # clusters to which several rows come hold that many
# How fast a technique is depends on these, not what it does.
TUNING = ("HINT", "LOADS", "STORES", "RESIDENT")
LEFT_OUT = ("indexing",)  # kernels that show what a choice costs; one result for all of them
# Kernels that take the hardware's exponential, and for which types.
BY_HARDWARE = {"one_read_rows": ("float16", "bfloat16"), "one_read_axis": FLOATS}
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Technique:
    """One technique of a kernel on one case."""

    implementation: Implementation
    case: Case
    plan: LaunchPlan

    @property
    def form(self) -> str:
        """Whose exponential it takes: expf's ("accurate"), or that of the hardware; '' for none."""
        if self.implementation.operation not in ROW_OPERATIONS:
            return ""
        return "hardware" if self.case.dtype in BY_HARDWARE.get(self.implementation.name, ()) else "accurate"

    @property
    def name(self) -> str:
        """In words, with the numbers of this case."""
        return "; ".join(self.plan.reasons) or ", ".join(launch.entry for launch in self.plan.launches)


def techniques(
    device: DeviceProperties, dtypes: Sequence[str], most_elements: int = MOST_ELEMENTS
) -> tuple[Technique, ...]:
    """All that cases of at most so many elements reach, by operation, kernel and type."""
    found = [
        technique
        for operation, own in ours(catalog())
        for implementation, dtype in product(own, dtypes)
        for technique in _of_kernel(operation, implementation, dtype, device, most_elements)
    ]
    return tuple({(one.implementation.name, one.case): one for one in found}.values())


@cache  # several tests ask for the same, which takes seconds
def _of_kernel(
    operation: str, implementation: Implementation, dtype: str, device: DeviceProperties, most_elements: int
) -> list[Technique]:
    chosen: dict[object, tuple[tuple[bool, bool, int], Technique]] = {}
    for case in candidates(operation, dtype):
        if case.elements > most_elements:
            continue
        planned = plan_case(case, catalog().operations[operation], implementation, device)
        if planned.plan is None:
            continue
        size = (is_one_block(planned.plan), case.outer_dim_inner[1] < LEAST_DIM, case.elements)
        key = signature(planned.plan)
        if key not in chosen or size < chosen[key][0]:
            chosen[key] = size, Technique(implementation, case, planned.plan)
    return [technique for _, technique in chosen.values()]


def ours(catalog: Catalog) -> Iterator[tuple[str, list[Implementation]]]:
    """Kernels of origin "written here" by operation; yardsticks and peers are none."""
    for operation, named in catalog.implementations.items():
        own = [one for one in named.values() if one.origin.project == "written here" and one.role == "kernel"]
        if own and operation not in LEFT_OUT:
            yield operation, own


def candidates(operation: str, dtype: str) -> Iterator[Case]:
    """Cases of one type; of what knows one type only, that one."""
    if operation in ROW_OPERATIONS:
        yield from (Case(operation, (rows, columns), -1, dtype) for columns, rows in product(COLUMNS, ROWS))
        yield from (Case(operation, shape, 1, dtype) for shape in product(OUTER, DIM, INNER))
        return
    if operation == "layer_norm":
        yield from (Case(operation, (rows, columns), -1, dtype) for columns, rows in product(COLUMNS, ROWS))
    for case in (*shapes.small_cases(), *shapes.unaligned_cases()):
        if case.operation == operation and case.dtype in (dtype, "int8"):
            yield case


def signature(plan: LaunchPlan) -> object:
    """Equal for plans of the same technique."""
    defines = tuple((name, value if isinstance(value, str) or name == "WORD" else _few(value))
                    for name, value in plan.defines if name not in TUNING)  # fmt: skip
    reasons = tuple(_NUMBER.sub(lambda number: str(_few(int(number[0]))), reason) for reason in plan.reasons)
    return tuple(launch.entry for launch in plan.launches), defines, reasons


def _few(value: int | float) -> int | float:
    return value if value in (0, 1) else 2


def is_one_block(plan: LaunchPlan) -> bool:
    return max((launch.grid[0] * launch.grid[1] for launch in plan.launches), default=1) == 1
