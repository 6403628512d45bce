"""Every kernel of every suite on the simulator: right where the suite expects it, wrong where it is a specimen, and
none of the right ones raises a fault under the strict checks.

The cases are the suites' own with fewer rows, in every dtype, and a small one of each kernel that no suite names; a
case that two suites share runs once. Suites with many unlike shapes have cases of all dtypes themselves. The quick core
has a case of each kernel.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np
import pytest

from kernelbench import build
from kernelbench.core.records import Binary, Case, Implementation
from kernelbench.devices.known import KNOWN
from kernelbench.planning.case_plans import Planned, plan_case
from kernelbench.planning.catalog import Catalog
from tests.build.binaries import all_built
from tests.catalog import catalog, suites
from tests.gpu import shapes
from tests.kernels.simulated import run_and_check

pytestmark = pytest.mark.nvcc

DTYPES = ("float32", "float16", "bfloat16")
MOST_ELEMENTS = 2**15  # of a case; its leading dimensions are halved until it fits
CASES = 3  # of a suite: its first, its last and between
MANY_SHAPES = ("draw_", "model_")  # how the names of suites begin whose cases keep their dtypes
GPU = KNOWN["h200"]


@dataclass(frozen=True)
class Row:
    implementation: Implementation
    case: Case

    @property
    def name(self) -> str:
        shape = "x".join(map(str, self.case.shape))
        return f"{self.case.operation}-{self.implementation.name}-{shape}-{self.case.dtype}"


def shrunk(case: Case, name: str) -> Case:
    """The case with its leading dimensions halved, the first one first, until few elements are left. What
    FasterTransformer's kernels take stays square."""
    shape = list(case.shape)
    for axis in range(max(1, len(shape) - (2 if name.startswith("ft") else 1))):
        while prod(shape) > MOST_ELEMENTS and shape[axis] > 1:
            shape[axis] //= 2
    return replace(case, shape=tuple(shape), axes=())


def spread(cases: Sequence[Case]) -> list[Case]:
    places_ = np.linspace(0, len(cases) - 1, min(CASES, len(cases))).round().astype(int)
    return [cases[place] for place in places_]


def rows(catalog: Catalog) -> Iterator[Row]:
    """All implementations of all suites that have a kernel, each with cases of its suites."""
    for suite in suites():
        for case in spread(suite.cases):
            known = catalog.implementations[case.operation]
            for name in suite.names_for(case):
                if known[name].plan is not None:
                    own = suite.name.startswith(MANY_SHAPES) or case.dtype not in DTYPES
                    dtypes_ = (case.dtype,) if own else DTYPES
                    yield from (Row(known[name], replace(shrunk(case, name), dtype=dtype)) for dtype in dtypes_)


CATALOG = catalog(specimens=True)


def planned_for(row: Row) -> Planned:
    return plan_case(row.case, CATALOG.operations[row.case.operation], row.implementation, GPU)


def quick_core(of_suites: Sequence[Row]) -> Iterator[Row]:
    """A row of each kernel: of its suites' the first that its plan takes, from another dtype on for the next kernel; of
    one that no suite has a case for, a small case."""
    known = [one for own in CATALOG.implementations.values() for one in own.values()]
    for number, one in enumerate(one for one in known if one.plan is not None and one.role != "specimen"):
        own = [row for row in of_suites if row.implementation is one]
        turned = own[number % len(DTYPES) :] + own[: number % len(DTYPES)]
        small = [Row(one, case) for case in shapes.unaligned_cases() if case.operation == one.operation]
        yield next(row for row in turned + small if planned_for(row).plan is not None)


OF_SUITES = {row.name: row for row in rows(CATALOG)}
QUICK = {row.name: row for row in quick_core(list(OF_SUITES.values()))}
ROWS = [  # kernel by kernel: PTX that several cases share is read once
    pytest.param(row, id=name, marks=() if name in QUICK else pytest.mark.exhaustive)
    for name, row in sorted({**OF_SUITES, **QUICK}.items())
]


@pytest.fixture(scope="session")
def planned(request: pytest.FixtureRequest) -> Mapping[str, Planned]:
    """By row of the chosen tests; those that a plan refuses say why."""
    own = [item for item in request.session.items if item.path == Path(__file__) and hasattr(item, "callspec")]
    return {row.name: planned_for(row) for row in (item.callspec.params["row"] for item in own)}


@pytest.fixture(scope="session")
def binaries(planned: Mapping[str, Planned]) -> Mapping[build.BuildRequest, Binary]:
    """Without host code, which is not run here: tests/build/test_nvcc.py compiles it, and CUB takes seconds."""
    return all_built({build_request(one) for one in planned.values() if one.plan is not None and one.plan.host is None})


def build_request(one: Planned) -> build.BuildRequest:
    assert one.plan is not None
    assert one.implementation.source is not None
    return build.BuildRequest.of(one.implementation.source, one.plan, GPU.architecture)


def test_every_suite_is_here() -> None:
    assert {row.case.operation for row in OF_SUITES.values()} == set(CATALOG.operations)
    assert {row.case.dtype for row in QUICK.values()} == {*DTYPES, "int8"}


@pytest.mark.parametrize("row", ROWS)
def test_kernel(row: Row, planned: Mapping[str, Planned], binaries: Mapping[build.BuildRequest, Binary]) -> None:
    one = planned[row.name]
    if one.plan is None:
        assert one.status == "unsupported", one.reason
        pytest.skip(one.reason)
    assert one.status == "ok", one.reason
    if one.plan.host is not None:
        pytest.skip("its host code launches the kernels")
    operation, own = CATALOG.operations[row.case.operation], row.implementation
    allowed = operation.tolerance(row.case).plus(own.extra_tolerance)
    wrong = pytest.raises(AssertionError, match=r"\] of \d+: got .*, expected")
    with wrong if own.role == "specimen" else nullcontext():
        run_and_check(
            replace(own, plan=lambda *_: one.plan),
            replace(operation, tolerance=lambda _: allowed),
            row.case,
            GPU,
            lambda *_: [binaries[build_request(one)]],
        )
