"""Kernels of sums and of softmax on arrays that begin one element beyond an aligned address, on the simulator."""

import pytest

from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case, LaunchPlan
from tests.catalog import catalog

CATALOG = catalog()
IN_FLOAT32 = [  # five_kernels_half takes float16 alone: test_variants.py
    name for name, one in CATALOG.implementations["softmax"].items() if one.plan and name != "five_kernels_half"
]


@pytest.mark.nvcc
@pytest.mark.parametrize("name", IN_FLOAT32)
def test_softmax_is_right_or_refuses(h200, checked, name):
    """Even rows, which OneFlow's kernels move by two elements at once."""
    axis = 1 if name == "one_read_axis" else -1
    case, implementation = Case("softmax", (2, 3, 34, 34), axis, "float32"), CATALOG.implementations["softmax"][name]
    plan = implementation.plan(case, h200)
    beyond = {"x": 256 + 4, "y": 256 + 4}
    if name.startswith("oneflow"):
        with pytest.raises(Unsupported, match="x must begin at a multiple of 8 bytes, but is 4 past one"):
            plan.check_alignment(beyond)
        return
    plan.check_alignment(beyond)
    checked(name, case, 1)


def test_oneflow_takes_odd_rows_anywhere(h200):
    plan = CATALOG.implementations["softmax"]["oneflow"].plan(Case("softmax", (3, 33), -1, "float16"), h200)
    plan.check_alignment({"x": 256 + 2, "y": 256 + 6})


def test_each_array_is_looked_at():
    plan = LaunchPlan(alignment=16)
    plan.check_alignment({"x": 256, "y": 512 + 16})
    with pytest.raises(Unsupported, match="y must begin at a multiple of 16 bytes, but is 4 past one"):
        plan.check_alignment({"x": 256, "y": 512 + 20})
