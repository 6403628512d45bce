"""What kernels say can be tuned: that the rule is among it, and that candidates compute what they should."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import pytest

from kernelbench.build import build, find_compiler
from kernelbench.build.request import BuildRequest
from kernelbench.core import places
from kernelbench.core.records import Binary, Case, Implementation
from kernelbench.devices import open_device
from kernelbench.devices.known import KNOWN
from kernelbench.measure.bench import InProcessBench
from kernelbench.measure.case_run import Settings
from kernelbench.planning.case_plans import CasePlan, Planned, plan_case
from tests.catalog import catalog

CATALOG = catalog()
TUNABLE = [one for own in CATALOG.implementations.values() for one in own.values() if one.tunable]
each_tunable = pytest.mark.parametrize("one", TUNABLE, ids=lambda one: f"{one.operation}/{one.name}")
GPU = KNOWN["h200"]


def candidates(one: Implementation, case: Case) -> list[Mapping[str, int]]:
    """What the kernel lists, or all that the restrictions let pass; they are Python expressions."""
    if one.tunable.candidates is not None:
        return one.tunable.listed(case, GPU)
    names = list(one.tunable.values)
    pairs = [dict(zip(names, values, strict=True)) for values in product(*one.tunable.values.values())]
    return [each for each in pairs if all(eval(text, {}, dict(each)) for text in one.tunable.restrictions)]


def planned(one: Implementation, case: Case, values: Mapping[str, int]) -> Planned:
    assert one.plan is not None
    return plan_case(case, CATALOG.operations[case.operation], replace(one, plan=partial(one.plan, **values)), GPU)


def launched(one: Planned) -> Any:
    assert one.plan is not None, one.reason
    return replace(one.plan, reasons=())


def small(case: Case) -> Case:
    """The same layout in few elements, as far as there is one."""
    shapes = {1: (40_000,), 2: (130, 264), 3: (2, 96, 80), 4: (2, 24, 10, 36)}
    return replace(case, shape=shapes[len(case.shape)])


def test_there_are_some() -> None:
    names = {f"{one.operation}/{one.name}" for one in TUNABLE}
    assert {"reduce_sum/last_block", "permute/swizzled", "relu/streamed", "bias_add/streamed"} <= names


@each_tunable
def test_candidates_of_every_built_in_case_are_planned_or_refused_and_the_rule_is_among_them(
    one: Implementation,
) -> None:
    assert one.tunable.cases
    for case in one.tunable.cases:
        assert case.operation == one.operation
        found = [planned(one, case, values) for values in candidates(one, case)]
        assert {each.status for each in found} <= {"ok", "unsupported"}, [each.reason for each in found]
        launches = {launched(each) for each in found if each.status == "ok"}
        assert len(launches) > 3
        assert launched(planned(one, case, {})) in launches, "else a search never tries what it compares with"


@each_tunable
def test_built_in_cases_are_entries_of_their_own(one: Implementation) -> None:
    layout = one.tunable.layout
    places_ = [(case.dtype, layout(case), case.elements) for case in one.tunable.cases]
    assert len(places_) == len(set(places_))


@each_tunable
@pytest.mark.nvcc
@pytest.mark.exhaustive
def test_candidates_are_right_on_the_simulator(one: Implementation) -> None:
    """The first and the last, on a small case of the last layout."""
    compiler = find_compiler(None)
    case = small(one.tunable.cases[-1])
    found = candidates(one, case)
    operation = CATALOG.operations[case.operation]
    able = [each for values in found if (each := planned(one, case, values)).status == "ok"]
    plans = [
        replace(able[number], implementation=replace(one, name=f"{one.name}.{number}")) for number in (0, len(able) - 1)
    ]
    requests = {}
    for each in plans:
        assert each.plan is not None
        assert one.source is not None
        requests[each.implementation.name] = BuildRequest.of(one.source, each.plan, GPU.architecture)
    binaries = build(set(requests.values()), compiler, places.cache())
    ready = []
    for each in plans:
        binary = binaries[requests[each.implementation.name]]
        assert isinstance(binary, Binary), str(binary)
        ready.append(replace(each, binary=binary))
    inputs = tuple(spec.name for spec in operation.arrays(case) if spec.role == "input")
    bench = InProcessBench(open_device("simulated"), CATALOG)
    for result in bench.run(CasePlan(case, tuple(ready), inputs), Settings(1), lambda share: None):
        assert result.status == "ok", f"{result.implementation.name}: {result.reason}"
        assert result.check.passed
