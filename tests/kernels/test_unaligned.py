"""Kernels of sums and of softmax on arrays that begin one element beyond an aligned address, on the simulator."""

import pytest

from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case, LaunchPlan
from tests.catalog import catalog
from tests.kernels.simulated import run_and_check

CATALOG = catalog()
IN_FLOAT32 = [  # five_kernels_half takes float16 alone: test_variants.py
    name for name, one in CATALOG.implementations["softmax"].items() if one.plan and name != "five_kernels_half"
]
ROWS = [
    *(("reduce_sum", name, (1003,)) for name in ("tree_modulo", "tree_unrolled_all", "shuffle", "shuffle_packed")),
    *(("reduce_sum", "shuffle_packed", (n,)) for n in (1, 2, 9)),
    *(("log_softmax", name, (3, 70, 5)) for name in ("generic", "paddle", "paddle_2022", "one_read", "copy")),
]


@pytest.mark.nvcc
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("operation", "name", "shape"), ROWS, ids=lambda value: str(value).replace(" ", ""))
def test_right_on_arrays_that_are_not_aligned(h200, binaries, operation, name, shape, dtype):
    case = Case(operation, shape, min(1, len(shape) - 1), dtype)
    implementation, defined = CATALOG.implementations[operation][name], CATALOG.operations[operation]
    run_and_check(implementation, defined, case, h200, binaries, shift=1)


@pytest.mark.nvcc
@pytest.mark.parametrize("name", IN_FLOAT32)
def test_softmax_is_right_or_refuses(h200, binaries, name):
    """Even rows, which OneFlow's kernels move by two elements at once."""
    axis = 1 if name == "one_read_axis" else -1
    case, implementation = Case("softmax", (2, 3, 34, 34), axis, "float32"), CATALOG.implementations["softmax"][name]
    plan = implementation.plan(case, h200)
    beyond = {"x": 256 + 4, "y": 256 + 4}
    if name.startswith("oneflow"):
        with pytest.raises(Unsupported, match="x must begin at a multiple of 8 bytes, it begins 4 beyond"):
            plan.check_alignment(beyond)
        return
    plan.check_alignment(beyond)
    run_and_check(implementation, CATALOG.operations["softmax"], case, h200, binaries, 1)


def test_oneflow_takes_odd_rows_anywhere(h200):
    plan = CATALOG.implementations["softmax"]["oneflow"].plan(Case("softmax", (3, 33), -1, "float16"), h200)
    plan.check_alignment({"x": 256 + 2, "y": 256 + 6})


def test_each_array_is_looked_at():
    plan = LaunchPlan(alignment=16)
    plan.check_alignment({"x": 256, "y": 512 + 16})
    with pytest.raises(Unsupported, match="y must begin at a multiple of 16 bytes, it begins 4 beyond"):
        plan.check_alignment({"x": 256, "y": 512 + 20})
