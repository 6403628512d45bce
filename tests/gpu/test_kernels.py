"""Every implementation of every operation on the GPU against the float64 reference: on sizes where kernels go wrong,
on arrays that begin between two packs, and on arrays beyond what 32 bits count.

    pytest tests/gpu/test_kernels.py -k large        only the large ones; -k "not large" all others
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import pytest

from kernelbench.build import Compiler
from kernelbench.core.errors import DeviceLost
from kernelbench.core.records import Case, DeviceProperties, Result
from kernelbench.devices.known import KNOWN
from kernelbench.measure import verify
from kernelbench.measure.binaries import build_plans
from kernelbench.measure.case_run import CaseRun, Settings
from kernelbench.planning.case_plans import CasePlan, Planned, plan_case
from kernelbench.planning.catalog import Catalog
from tests.catalog import catalog as own_catalog
from tests.gpu import shapes
from tests.gpu.conftest import Plans, RunCase, Silent, locked
from tests.gpu.findings import ROUNDED_TWICE, SHOWN_BY, as_found
from tests.gpu.shapes import DTYPES
from tests.gpu.unaligned import Unaligned

pytestmark = [pytest.mark.gpu, pytest.mark.nvcc]

SETTINGS = Settings(seed=20260401)
SPECIMENS = ("ft_as_published", "four_kernels_as_published")
SMALL, UNALIGNED, LARGE = shapes.small_cases(), shapes.unaligned_cases(), shapes.large_cases()
OVER_BYTES = [case for case in LARGE if case.elements < shapes.OVER_ELEMENTS]
OVER_ELEMENTS = [case for case in LARGE if case.elements > shapes.OVER_ELEMENTS]
FOR_LIBRARIES = shapes.for_libraries(UNALIGNED)
COMPILE_FOR_A_SHAPE = ("torch_compile", "torch_compile_autotuned", "triton", "helion", "helion_cute", "quack", "liger")
# What takes no array of more than 2^31 elements, each with a reason: 32-bit indices, a thread an element of a row, ..
NOT_OVER_ELEMENTS = {
    "indexing": {"index_32", "remainder", "multiply_subtract", "read_twice", "read_once", "branch_inside",
                 "branch_kept", "branch_outside", "array_8_constant", "array_8_run_time", "array_64_constant",
                 "array_64_run_time"},
}  # fmt: skip


def key(case: Case) -> str:
    return f"{case.operation},{case.key.replace(' ', ',')}"


def planned_for(case: Case, catalog: Catalog, device: DeviceProperties) -> CasePlan:
    operation = catalog.operations[case.operation]
    inputs = tuple(spec.name for spec in operation.arrays(case) if spec.role == "input")
    chosen = [as_found(one, case) for one in catalog.implementations[case.operation].values()]
    return CasePlan(case, tuple(plan_case(case, operation, one, device) for one in chosen), inputs)


@pytest.mark.parametrize("cases", [SMALL, UNALIGNED, LARGE], ids=["small", "unaligned", "large"])
def test_every_operation_has_cases(cases: Sequence[Case]) -> None:
    assert {case.operation for case in cases} == set(own_catalog().operations)


OF_ONE_TYPE = {("softmax", "five_kernels_half")}  # its intermediates are the type's own


def refusals(cases: Sequence[Case]) -> dict[tuple[str, str, str], set[str]]:
    """Reasons by operation, implementation and data type, of what takes none of the cases that it is asked for."""
    catalog = own_catalog()
    taken, reasons = set(), {}
    for case in cases:
        for one in planned_for(case, catalog, KNOWN["h200"]).planned:
            assert one.status in ("ok", "unsupported"), one.reason
            assert (one.status == "ok") == (not one.reason)
            name = (case.operation, one.implementation.name, case.dtype)
            if one.status == "ok":
                taken.add(name)
            else:
                reasons.setdefault(name, set()).add(one.reason)
    refused = {name: texts for name, texts in reasons.items() if name not in taken}
    return {
        name: texts
        for name, texts in refused.items()
        if (name[0] in shapes.UNALIGNED and name[:2] not in OF_ONE_TYPE)
        or not all(text.startswith("dtype must be") for text in texts)
    }


def test_every_implementation_takes_some_small_case_of_each_type() -> None:
    assert refusals(SMALL) == {}


def test_every_implementation_takes_some_case_that_is_made_unaligned() -> None:
    assert refusals(UNALIGNED) == {}


@pytest.mark.exhaustive
def test_large_cases_are_large() -> None:
    for case in LARGE:
        arrays = own_catalog().operations[case.operation].arrays(case)
        assert max(spec.nbytes for spec in arrays) > 2**31
        assert max(prod(spec.shape) for spec in arrays) > (2**31 if case.dtype != "float32" else 2**29)


def test_every_implementation_takes_some_large_case_or_says_why_not() -> None:
    assert refusals(OVER_BYTES) == {}
    refused = {name: texts for name, texts in refusals(OVER_ELEMENTS).items() if name[0] in shapes.UNALIGNED}
    assert {operation: {name for o, name, _ in refused if o == operation} for operation, _, _ in refused} == (
        NOT_OVER_ELEMENTS
    )
    assert all("elements must be at most" in text for texts in refused.values() for text in texts)


def test_what_was_found_of_libraries_is_bounded_by_two_roundings() -> None:
    catalog = own_catalog()
    for (operation, name), types in ROUNDED_TWICE.items():
        library = catalog.implementations[operation][name]
        assert library.prepare is not None
        for dtype in DTYPES:
            case = Case(operation, *SHOWN_BY, dtype)
            allowed = as_found(library, case).extra_tolerance
            assert (allowed is not None) == (dtype in types)
            own = catalog.operations[operation].tolerance(case).relative
            assert allowed is None or 1.9 * own < own + allowed.relative < 2.01 * own


@pytest.fixture(scope="module")
def planned(_opened: Any, compiler: Compiler, catalog: Catalog, request: pytest.FixtureRequest) -> dict[Case, CasePlan]:
    """The cases of all tests of this file that will run, compiled together: all implementations of large cases; of
    others, libraries that compile for a shape on few of them."""
    items = [item for item in request.session.items if item.path == request.path]
    given = [item.callspec.params["case"] for item in items if "case" in getattr(item, "fixturenames", ())]
    properties = _opened.properties
    plans = [without_compiling(planned_for(case, catalog, properties)) for case in dict.fromkeys(given)]
    with locked("kernels"):
        return {plan.case: plan for plan in build_plans(plans, compiler, properties.architecture, Silent())[0]}


lost: list[str] = []  # the case in which the GPU's context was lost: nothing can be run after it


@pytest.fixture
def run(device: Any, catalog: Catalog) -> RunCase:
    """run(plan): the results by implementation, verified only; `beyond` are arrays that begin one element late."""
    if lost:
        pytest.fail(f"the GPU's context was lost in {lost[0]}")

    def run_case(plan: CasePlan, beyond: Sequence[str] = ()) -> dict[str, Result]:
        chosen = Unaligned(device, beyond) if beyond else device
        try:
            results = CaseRun(chosen, catalog.operations[plan.case.operation], plan).run(SETTINGS)
        except DeviceLost:
            lost.append(key(plan.case))
            raise
        finally:
            if "torch" in sys.modules:  # its peers' work arrays
                sys.modules["torch"].cuda.empty_cache()
        return {result.implementation.name: result for result in results}

    return run_case


def assert_right(plan: CasePlan, results: dict[str, Result], catalog: Catalog, unaligned: bool = False) -> None:
    """Kernels are right in every element or refuse with a reason; so do peers, which may also be missing."""
    arrays = catalog.operations[plan.case.operation].arrays(plan.case)
    elements = sum(prod(spec.shape) for spec in arrays if spec.role == "output")
    wrong = []
    for one in plan.planned:
        result = results[one.implementation.name]
        if result.status not in expected(one, plan.case, unaligned) or (result.status != "ok" and not result.reason):
            wrong.append(f"{one.implementation.name}: {result.status} {result.reason}")
        elif result.check is not None and result.check.elements != elements:
            wrong.append(f"{one.implementation.name}: {result.check.elements} of {elements} elements checked")
    assert not wrong, "\n".join(wrong)


def expected(one: Planned, case: Case, unaligned: bool) -> tuple[str, ...]:
    """What may become of it."""
    implementation = one.implementation
    if implementation.name in SPECIMENS:
        trivial = case.outer_dim_inner[1] == 1 and one.status == "ok"  # a row of one is 1 for everybody
        return ("ok", "wrong") if trivial else ("wrong", "unsupported")
    if implementation.role == "specimen":
        return ("ok", "wrong", "unsupported")  # a race need not show
    if implementation.prepare is not None:
        return ("ok", "unsupported", "skipped")
    if unaligned and one.plan is not None and one.plan.alignment > 1:
        return ("ok", "unsupported")
    return (one.status,) if one.status in ("ok", "unsupported") else ()


def without_specimens(plan: CasePlan) -> CasePlan:
    kept = tuple(one for one in plan.planned if one.implementation.role != "specimen")
    return CasePlan(plan.case, kept, plan.inputs)


def without_compiling(plan: CasePlan) -> CasePlan:
    """Without the libraries that take seconds for a shape, unless it is one of those that they are given."""
    if plan.case in LARGE or plan.case in FOR_LIBRARIES:
        return plan
    kept = tuple(one for one in plan.planned if one.implementation.name not in COMPILE_FOR_A_SHAPE)
    return CasePlan(plan.case, kept, plan.inputs)


@pytest.mark.timeout(600)  # the first one waits for all compilations
@pytest.mark.parametrize("case", SMALL, ids=key)
def test_small(case: Case, planned: Any, run: RunCase, catalog: Catalog) -> None:
    """All that take the case are right, and specimens are not."""
    assert_right(planned[case], run(planned[case]), catalog)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", UNALIGNED, ids=key)
def test_unaligned(case: Case, planned: Any, run: RunCase, catalog: Catalog) -> None:
    """All arrays begin one element beyond, then each alone."""
    plan = without_specimens(planned[case])
    names = [spec.name for spec in catalog.operations[case.operation].arrays(case)]
    for beyond in dict.fromkeys([tuple(names), *((name,) for name in names)]):
        assert_right(plan, run(plan, beyond), catalog, unaligned=True)


@pytest.mark.large
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", LARGE, ids=key)
def test_large(case: Case, planned: Any, run: RunCase, catalog: Catalog, device: Any) -> None:
    """Over 2^31 bytes or 2^31 elements, every one of them checked."""
    plan = without_specimens(planned[case])
    scratch = max((sum(size for _, size in one.plan.scratch) for one in plan.planned if one.plan), default=0)
    arrays = catalog.operations[case.operation].arrays(case)
    needed = sum(spec.nbytes for spec in arrays) + scratch + 5 * 8 * max(prod(spec.shape) for spec in arrays)
    if device.free_bytes() < needed:
        pytest.skip(f"{needed / 1e9:.0f} GB of GPU memory are needed, {device.free_bytes() / 1e9:.0f} GB are free")
    assert_right(plan, run(plan), catalog)


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_specimens_are_rejected_on_random_input(dtype: str, plans: Plans, run_case: RunCase) -> None:
    (plan,) = plans([Case("softmax", (4, 64, 64, 64), -1, dtype)], SPECIMENS)
    for name, result in run_case(plan, Settings(seed=1)).items():
        assert result.status == "wrong", f"{name}: {result.status} {result.reason}"
        assert "elements wrong, first y[0, 0, 0, " in result.reason
        assert result.check.mismatches > 0.9 * result.check.elements


# Errors in ulp of results that are rounded once or twice: the first rounding is half an ulp where it was made, and one
# of a number twice as large relative to its ulp. Float32 arithmetic adds less than 0.05: see the operation's tolerance.
ONCE_ULP, TWICE_ULP, ARITHMETIC_ULP = 0.5, 1.5, 0.05


@pytest.mark.parametrize(
    ("operation", "name", "dtype"), [(*which, dtype) for which, dtypes in ROUNDED_TWICE.items() for dtype in dtypes]
)
def test_libraries_that_round_twice_are_graded_and_wrong_beyond_their_bound(
    operation: str, name: str, dtype: str, plans: Plans, run_case: RunCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is not graded rounds once now: strike it off findings.py."""
    (plan,) = plans([Case(operation, *SHOWN_BY, dtype)], [name])
    result = run_case(plan, Settings(seed=1))[name]
    if result.status == "skipped":
        pytest.skip(result.reason)
    assert result.status == "ok", result.reason
    assert result.check.mismatches > 0
    assert result.check.grade.startswith("off by its own rounding: ")
    assert ONCE_ULP + ARITHMETIC_ULP < result.check.max_error_ulp < TWICE_ULP + ARITHMETIC_ULP
    (planned,) = plan.planned
    enough = replace(planned, implementation=as_found(planned.implementation, plan.case))
    within = run_case(replace(plan, planned=(enough,)), Settings(seed=1))[name]
    assert (within.status, within.check.mismatches, within.check.grade) == ("ok", 0, "")
    monkeypatch.setattr(verify, "LIBRARY_FACTOR", 1.2)  # of the tolerance, which is one rounding
    assert run_case(plan, Settings(seed=1))[name].status == "wrong"


def test_a_row_of_minus_infinity_and_huge_values_come_out_as_the_reference(
    device: Any, catalog: Any, plans: Plans
) -> None:
    """Extreme rows are not among random inputs: they are written into x here, and then everybody is checked."""
    from kernelbench.measure.case_data import CaseData
    from kernelbench.measure.verify import run_and_check

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
    data = CaseData(device, operation, case, [arrays])
    for one in plan.planned:
        assert one.status == "ok", one.reason
        executable = device.executable(one.implementation, case, one.plan, one.binary, arrays)
        check = run_and_check(data, one.implementation, executable, 1)
        assert check.passed, f"{one.implementation.name}: {check.message}"
