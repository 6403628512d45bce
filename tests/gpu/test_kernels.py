"""Every kernel and peer on the GPU against the float64 reference, on sizes where kernels go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernelbench.catalog import load_catalog
from kernelbench.devices.known import KNOWN
from kernelbench.measure.case import Settings
from kernelbench.planning import CasePlan, plan_case
from kernelbench.records import Case, Result

pytestmark = [pytest.mark.gpu, pytest.mark.nvcc]

DTYPES = ("float32", "float16", "bfloat16")
# One, odd, on both sides of a warp and of 1024, and what no power of two divides.
COLUMNS = (1, 2, 3, 31, 33, 100, 1000, 1023, 1025)
MASKED = (("scale", 0.125), ("mask", True))
SPECIMENS = ("ft_as_published", "four_kernels_as_published")


def small_cases() -> list[Case]:
    rows = [Case("softmax", (37, columns), -1, dtype) for columns in COLUMNS for dtype in DTYPES]
    # Attention scores, on both sides of 120 heads in all, with and without scale and mask.
    heads = [(2, 3, seq, seq) for seq in COLUMNS if seq <= 1024] + [(11, 11, 33, 33), (1, 1, 1025, 1025)]
    attention = [Case("softmax", shape, -1, dtype) for shape in heads for dtype in DTYPES]
    masked = [Case("softmax", shape, -1, dtype, parameters=MASKED) for shape in heads for dtype in DTYPES]
    scaled = [Case("softmax", (37, columns), -1, "float32", parameters=(("scale", -3.5),)) for columns in (33, 1025)]
    others = [
        Case("softmax", (5, 33, 7), 1, "float32"),
        Case("softmax", (3, 20_001), -1, "float16"),  # beyond what a block's shared memory holds as float
        Case("softmax", (2, 16_384), -1, "float32"),
        Case("softmax", (9, 12_160), -1, "bfloat16"),  # the longest row in shared memory
        Case("softmax", (1,), -1, "float32"),
    ]
    return rows + attention + masked + scaled + others


CASES = small_cases()


def test_every_kernel_takes_some_of_these_cases() -> None:
    catalog = load_catalog(specimens=True)
    operation = catalog.operations["softmax"]
    for name, one in catalog.implementations["softmax"].items():
        taken = [case for case in CASES if plan_case(case, operation, one, KNOWN["h200"]).status == "ok"]
        assert {case.dtype for case in taken} == set(DTYPES), name


@pytest.fixture(scope="module")
def planned(plans: Callable[..., tuple[CasePlan, ...]]) -> dict[Case, CasePlan]:
    """All cases with all implementations, compiled together."""
    return {plan.case: plan for plan in plans(CASES)}


@pytest.mark.timeout(600)  # the first one waits for all compilations
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key.replace(" ", ","))
def test_all_that_take_the_case_are_right_and_specimens_are_not(
    case: Case, planned: dict[Case, CasePlan], run_case: Callable[..., dict[str, Result]]
) -> None:
    results = run_case(planned[case], Settings(seed=20260401))
    for one in planned[case].planned:
        name = one.implementation.name
        result = results[name]
        if name in SPECIMENS:
            trivial = case.outer_dim_inner[1] == 1 and result.status == "ok"  # a row of one is 1 for everybody
            assert trivial or result.status in ("wrong", "unsupported"), f"{name} passed"
        elif one.status == "ok" and one.plan is not None:
            assert result.status == "ok", f"{name}: {result.reason}"
        else:
            assert result.status in ("ok", "unsupported", "skipped"), f"{name}: {result.reason}"
        if result.check is not None:
            assert result.check.elements == case.elements


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_specimens_are_rejected_on_random_input(
    dtype: str, plans: Callable[..., tuple[CasePlan, ...]], run_case: Callable[..., dict[str, Result]]
) -> None:
    (plan,) = plans([Case("softmax", (4, 64, 64, 64), -1, dtype)], SPECIMENS)
    for name, result in run_case(plan, Settings(seed=1)).items():
        assert result.status == "wrong", f"{name}: {result.status} {result.reason}"
        assert "elements wrong, first y[0, 0, 0, " in result.reason
        assert result.check is not None
        assert result.check.mismatches > 0.9 * result.check.elements


def test_a_row_of_minus_infinity_and_huge_values_come_out_as_the_reference(
    device: Any, catalog: Any, plans: Callable[..., tuple[CasePlan, ...]]
) -> None:
    """Extreme rows are not among random inputs: they are written into x here, and then everybody is checked."""
    from kernelbench.measure.verify import Setup, run_and_check

    case = Case("softmax", (2, 3, 96, 96), -1, "float32")
    (plan,) = plans([case], ["naive", "tree_shuffle", "tree_modulo", "four_kernels", "five_kernels", "oneflow_warp"])
    operation = catalog.operations["softmax"]
    specs = operation.arrays(case)
    arrays = device.allocate(specs)
    device.fill(arrays, specs, 1)
    arrays["x"][0, 0, 0] = 3e38  # without the maximum subtracted its exponential is infinite
    arrays["x"][0, 0, 1] = -3e38
    arrays["x"][0, 0, 2, 5:] = float("-inf")
    arrays["x"][0, 0, 3] = 7.0
    arrays["x"][1, 2, 95, ::2] = 80.0
    device.clock.wait()
    setup = Setup(device, operation, case, [arrays])
    for one in plan.planned:
        assert one.status == "ok", one.reason
        executable = device.executable(one.implementation, case, one.plan, one.binary, arrays)
        check = run_and_check(setup, one.implementation, executable, 1)
        assert check.passed, f"{one.implementation.name}: {check.message}"


def test_a_large_case_is_checked_to_its_last_element(
    device: Any, plans: Callable[..., tuple[CasePlan, ...]], run_case: Callable[..., dict[str, Result]]
) -> None:
    case = Case("softmax", (32, 64, 512, 512), -1, "float32")  # 2^29 elements: eight slices
    (plan,) = plans([case], ["oneflow", "ft"])
    for result in run_case(plan, Settings(seed=1)).values():
        assert result.status == "ok", result.reason
        assert result.check is not None
        assert result.check.elements == 2**29
