"""Every kernel on every distribution of its operation's inputs, and on infinities and NaN, by the simulator: it is
right, or says in its deviations why not."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kernelbench.build import find_compiler
from kernelbench.core import dtypes
from kernelbench.core.distributions import DISTRIBUTIONS
from kernelbench.core.records import Arrays, ArraySpec, Case, Implementation, Result
from kernelbench.devices.simulated import SimulatedDevice
from kernelbench.measure.binaries import build_plans
from kernelbench.measure.case_run import CaseRun, Settings
from kernelbench.planning.case_plans import CasePlan, plan_case
from tests.catalog import catalog
from tests.gpu import shapes
from tests.gpu.conftest import Silent
from tests.gpu.findings import as_found

pytestmark = pytest.mark.nvcc

CATALOG = catalog()
OPERATIONS = sorted(CATALOG.operations)
ROUNDED = ("large", "masked")  # what the narrow types are run on besides
SPECIAL = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
EVERY = 97  # elements between two that are planted: some rows have several, most have none


def planting(device: Any, value: float) -> Callable[..., None]:
    """The device's `fill`, which then plants the value among the inputs."""
    fill = device.fill

    def filled(arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> None:
        fill(arrays, specs, seed)
        for spec in specs:
            if spec.role == "input" and spec.fill == "normal":
                planted = dtypes.narrow(np, np.array([value], np.float32), spec.dtype)
                whole = arrays[spec.name]
                whole = device.materialise(whole) if hasattr(device, "materialise") else whole
                whole.reshape(-1)[5::EVERY] = device.xp.asarray(planted)[0]

    return filled


@pytest.fixture(scope="module")
def device() -> SimulatedDevice:
    made = SimulatedDevice("h200")
    made.full = True  # cases are small: nothing is sampled
    made.prepare()
    return made


def cases_of(operation: str) -> list[Case]:
    """Small ones, on which packs end within a row and beyond its end."""
    return [case for case in shapes.unaligned_cases() if case.operation == operation and case.dtype != "bfloat16"]


def ran(
    device: SimulatedDevice, operation: str, inputs: Sequence[str], kernels: Sequence[Implementation]
) -> Iterator[Result]:
    """Results of all cases, each with all of these distributions; libraries take some of them."""
    own = CATALOG.operations[operation]
    cases = [replace(case, inputs=name) for case in cases_of(operation) for name in inputs if not own.refusal(name)]
    cases = [case for case in cases if case.dtype in ("float32", "int8") or case.inputs in ROUNDED]
    libraries = set(shapes.for_libraries(cases))
    plans = [
        CasePlan(
            case,
            tuple(
                plan_case(case, own, as_found(one, case), device.properties)
                for one in kernels
                if one.plan or case in libraries
            ),
        )
        for case in cases
    ]
    compiler = find_compiler()
    for plan in build_plans(plans, compiler, device.properties.architecture, Silent(), notes=True)[0]:
        yield from CaseRun(device, own, plan).run(Settings(seed=7))


def kernels_of(operation: str) -> list[Implementation]:
    return [one for one in CATALOG.implementations[operation].values() if one.plan is not None]


def wrong_ones(results: Iterator[Result]) -> list[str]:
    found = list(results)
    assert found
    return [
        f"{one.implementation.name} on {one.case.key}: {one.reason}"
        for one in found
        if one.status not in ("ok", "unsupported")
    ]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_right_on_every_distribution_or_the_deviation_is_stated(device: SimulatedDevice, operation: str) -> None:
    assert wrong_ones(ran(device, operation, tuple(DISTRIBUTIONS), kernels_of(operation))) == []


@pytest.mark.parametrize("value", SPECIAL)
@pytest.mark.parametrize("operation", [name for name in OPERATIONS if CATALOG.operations[name].special])
def test_right_where_an_element_is_no_number_or_the_deviation_is_stated(
    device: SimulatedDevice, operation: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "fill", planting(device, SPECIAL[value]))
    chosen = [one for one in kernels_of(operation) if not one.deviation(value)]
    assert wrong_ones(ran(device, operation, ("normal",), chosen)) == []


STATED = [
    pytest.param(one, deviation.inputs, id=f"{operation} {one.name} {deviation.inputs}")
    for operation in OPERATIONS
    for one in CATALOG.implementations[operation].values()
    for deviation in one.deviations
]
BY_KERNELS = [parameter for parameter in STATED if parameter.values[0].plan is not None]
BY_LIBRARIES = [parameter for parameter in STATED if parameter.values[0].plan is None]


def test_deviations_are_of_what_there_is() -> None:
    assert BY_KERNELS
    assert BY_LIBRARIES
    for parameter in STATED:
        implementation, inputs = parameter.values
        assert inputs in {*DISTRIBUTIONS, *SPECIAL}
        assert implementation.origin.differs, "stated in the origin as well"


@pytest.mark.parametrize(("implementation", "inputs"), BY_KERNELS)
def test_what_states_a_deviation_deviates(
    device: SimulatedDevice, implementation: Implementation, inputs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, drawn = implementation.operation, (inputs if inputs in DISTRIBUTIONS else "normal",)
    if inputs in DISTRIBUTIONS:
        assert {one.status for one in ran(device, name, drawn, [implementation])} == {"unsupported"}
    if inputs in SPECIAL:
        monkeypatch.setattr(device, "fill", planting(device, SPECIAL[inputs]))
    assert wrong_ones(ran(device, name, drawn, [replace(implementation, deviations=())])) != []
