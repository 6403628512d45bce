"""Every technique of every kernel that is written here: right on all inputs, NaN and infinities where float64 has them,
the same bits twice, and on arrays that begin one element beyond an aligned address.

    pytest tests/gpu/test_accuracy.py -n8 -k "not large"        and -k large -n1 for the large ones

What these tests run `accuracy.py` records.
"""

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from kernelbench.build import Compiler, find_compiler
from kernelbench.core.records import Case, DeviceProperties, LaunchPlan
from kernelbench.devices.known import KNOWN
from kernelbench.measure.binaries import build_plans
from kernelbench.measure.case_run import CaseRun, Settings
from kernelbench.planning.case_plans import CasePlan, plan_case
from kernelbench.planning.catalog import Catalog
from tests.catalog import catalog
from tests.gpu import accuracy, ulp
from tests.gpu.accuracy import Row
from tests.gpu.conftest import Silent, locked
from tests.gpu.shapes import DTYPES
from tests.gpu.techniques import Technique, candidates, ours, signature, techniques

CATALOG = catalog()
KERNELS = [
    pytest.param(operation, one.name, dtype, id=f"{operation},{one.name},{dtype}")
    for operation, own in ours(CATALOG)
    for one in own
    for dtype in (DTYPES if operation != "random_mask" else DTYPES[:1])
]


def problems(rows: list[Row]) -> list[str]:
    assert rows
    return [str(row) for row in rows if row.wrong or row.special or row.repeats is False or row.refused]


def test_every_kernel_has_techniques_and_every_operation_candidates() -> None:
    found = techniques(KNOWN["h200"], ("float32",))  # of one type, which all have
    taken = {(one.case.operation, one.implementation.name) for one in found}
    assert taken == {(operation, one.name) for operation, own in ours(CATALOG) for one in own}
    for operation, name in product(("softmax", "log_softmax"), ("one_read_rows", "one_read_axis")):
        several = [one for one in found if (one.case.operation, one.implementation.name) == (operation, name)]
        assert len({one.plan.defines for one in several}) > 5, "candidates reach few of its techniques"


def test_candidates_are_of_one_type() -> None:
    assert {case.dtype for case in candidates("relu", "float16")} == {"float16"}
    assert {case.dtype for case in candidates("random_mask", "float16")} == {"int8"}


def test_plans_are_of_one_technique_where_tuning_and_sizes_alone_differ() -> None:
    first = LaunchPlan(defines=(("WARPS", 4), ("HINT", 0), ("MASKED", 1)), reasons=("4 warps a row",))
    assert signature(first) == signature(
        LaunchPlan(defines=(("WARPS", 8), ("HINT", 1), ("MASKED", 1)), reasons=("8 warps a row",))
    )
    for other in (
        LaunchPlan(defines=(("WARPS", 1), ("HINT", 0), ("MASKED", 1)), reasons=first.reasons),
        LaunchPlan(defines=(("WARPS", 4), ("HINT", 0), ("MASKED", 0)), reasons=first.reasons),
        LaunchPlan(defines=first.defines, reasons=("4 warps a row, masked",)),
    ):
        assert signature(first) != signature(other)


def errors(got: list[float], expected: list[float], least: float = 0.0, exact: bool = False) -> ulp.Errors:
    return ulp.errors(np, np.array(got), np.array(expected), "float32", least, exact)


def test_errors_are_in_steps_of_the_result() -> None:
    assert errors([1.0 + 2.0**-22], [1.0]).max_ulp == 2
    assert errors([2.0**-30], [0.0], least=1.0) == ulp.Errors(2.0**-7, 0, 0, 0)
    assert errors([2.0**-126], [0.0]).below == 1
    assert errors([2.0**-20 + 2.0**-24], [2.0**-20], least=1.0).max_ulp == 0.5
    flushed = errors([0.0], [2.0**-127])
    assert (flushed.max_ulp, flushed.below) == (0, 0.5)


def test_nan_and_infinities_have_to_be_where_float64_has_them() -> None:
    nan, inf = float("nan"), float("inf")
    assert errors([nan, inf, -inf, inf], [nan, inf, -inf, 1e39]).special == 0
    for got, expected in ((0.0, nan), (nan, 0.0), (inf, -inf), (1e38, 1e39), (inf, 1.0)):
        assert errors([got], [expected]).special == 1
    assert errors([1.0 - 2.0**-24], [1.0]).special == 0
    assert errors([1.0 - 2.0**-24], [1.0], exact=True).special == 1


@pytest.mark.parametrize("inputs", accuracy.OWN)
def test_own_distributions_are_what_they_are_said_to_be(inputs: str) -> None:
    values = np.random.default_rng(1).normal(size=2 * 5 * 7).astype(np.float32)
    found = accuracy.changed(np, values, Case("softmax", (2, 5, 7), 1, "float32"), inputs, 0).reshape(2, 5, 7)
    if inputs == "special":
        kinds = found[0].T  # rows 0 to 6
        assert (kinds[0] == -np.inf).all()
        assert np.isnan(kinds[1]).sum() == (kinds[2] == np.inf).sum() == np.isfinite(kinds[3]).sum() == 1
        assert [int(np.isfinite(row).sum()) for row in kinds] == [0, 4, 4, 1, 4, 5, 3]
    elif inputs == "hidden":
        kinds = found.transpose(0, 2, 1).reshape(14, 5)[:8]
        assert [int(np.isfinite(row).sum()) for row in kinds] == [1, 3, 3, 1, 5, 0, 0, 0]
        assert (kinds[1, :2] == -np.inf).all()
        assert (kinds[2, 3:] == -np.inf).all()
        assert np.isnan(kinds[6]).sum() == (kinds[7] == np.inf).sum() == 1
        assert (kinds[np.isfinite(kinds)] < -190).all()
    else:
        largest, spread = found.max(axis=1), np.ptp(found, axis=1)
        assert (spread < 0.1).all() if inputs == "near" else (largest == 30).all() and (found.sum(axis=1) == 30).all()


@pytest.mark.exhaustive
@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("operation", "name"), [("softmax", "one_read_rows"), ("log_softmax", "one_read_axis"), ("dropout_add", "streamed")]
)
def test_the_simulator_gives_what_float64_gives(operation: str, name: str) -> None:
    """The smallest technique of each type and way that the kernel has of its own."""
    compiler = find_compiler()
    device = accuracy.opened("simulated")
    smallest: dict[object, Technique] = {}
    for one in techniques(device.properties, ("float32", "float16"), 2**12):
        if (one.case.operation, one.implementation.name) == (operation, name):
            defines = dict(one.plan.defines)
            way = (one.case.dtype, defines.get("LAYOUT"), defines.get("TECHNIQUE"))
            smallest[way] = min(smallest.get(way, one), one, key=lambda technique: technique.case.elements)
    assert {dtype for dtype, _, _ in smallest} == {"float32", "float16"}
    binaries = accuracy.built(list(smallest.values()), device.properties.architecture, compiler)
    for one in smallest.values():
        rows = list(accuracy.rows_of(device, CATALOG, one, binaries))
        assert {row.inputs for row in rows} == set(accuracy.inputs_of(CATALOG.operations[operation]))
        assert problems(rows) == []


@pytest.mark.gpu
@pytest.mark.nvcc
@pytest.mark.parametrize(("operation", "name", "dtype"), KERNELS)
def test_every_technique_is_right_and_gives_the_same_bits_twice(
    device: Any, compiler: Compiler, catalog: Catalog, operation: str, name: str, dtype: str
) -> None:
    chosen = [
        one
        for one in techniques(device.properties, (dtype,))
        if (one.case.operation, one.implementation.name) == (operation, name)
    ]
    with locked(f"{operation}-{name}"):
        binaries = accuracy.built(chosen, device.properties.architecture, compiler)
    rows = [
        row
        for one in chosen
        for late in (False, True)
        for row in accuracy.rows_of(device, catalog, one, binaries, late)
    ]
    assert "\n".join(problems(rows)) == ""


# More than 2^31 elements of two bytes, each of another technique; element-wise kernels are among those of test_kernels.
LARGE = [
    *(("softmax", "one_read_rows", shape, -1) for shape in (
        (21_474_839, 100), (2_097_155, 1024), (4_194_309, 513), (131_101, 16_392), (16_411, 131_080), (5, 429_496_760),
    )),
    *(("log_softmax", "one_read_axis", shape, 1) for shape in (
        (33_100_003, 13, 5), (32_771, 64, 1024), (2099, 1021, 1009), (40, 50_021, 1088), (3, 131, 5_465_008),
    )),
]  # fmt: skip


def large_plan(catalog: Catalog, properties: DeviceProperties, operation: str, name: str, case: Case) -> CasePlan:
    planned = plan_case(case, catalog.operations[operation], catalog.implementations[operation][name], properties)
    return CasePlan(case, (planned,))


def test_large_cases_are_of_different_techniques() -> None:
    plans = [
        large_plan(CATALOG, KNOWN["h200"], operation, name, Case(operation, shape, axis, "bfloat16")).planned[0].plan
        for operation, name, shape, axis in LARGE
    ]
    assert None not in plans
    assert len({signature(plan) for plan in plans if plan}) > len(LARGE) // 2
    assert all(prod(shape) > 2**31 for _, _, shape, _ in LARGE)


@pytest.mark.gpu
@pytest.mark.nvcc
@pytest.mark.large
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("operation", "name", "shape", "axis"), LARGE, ids=str)
def test_large(
    device: Any, compiler: Compiler, catalog: Catalog, operation: str, name: str, shape: tuple[int, ...], axis: int
) -> None:
    """Every element of more than 2^31."""
    case = Case(operation, shape, axis, "bfloat16")
    needed = (2 * 2 + 8) * case.elements + 2**33
    if device.free_bytes() < needed:
        pytest.skip(f"{needed / 1e9:.0f} GB of GPU memory are needed, {device.free_bytes() / 1e9:.0f} GB are free")
    plan = large_plan(catalog, device.properties, operation, name, case)
    with locked(f"{operation}-{name}"):
        (ready,), _ = build_plans([plan], compiler, device.properties.architecture, Silent())
    (result,) = CaseRun(device, catalog.operations[operation], ready).run(Settings(seed=3))
    assert (result.status, result.reason) == ("ok", "")
    assert result.check.elements == case.elements
