"""What the tests of kernels share: a GPU to plan for, and what the compiler makes of plans."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

import tests.catalog
from kernelbench.build import BuildRequest
from kernelbench.core.records import Binary, Case, DeviceProperties, Implementation, LaunchPlan
from kernelbench.devices.known import KNOWN
from kernelbench.planning.catalog import Catalog
from tests.build.binaries import all_built
from tests.kernels.simulated import Build, Ran, run_and_check


@pytest.fixture(scope="session")
def h200() -> DeviceProperties:
    return KNOWN["h200"]


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """All there is, specimens included."""
    return tests.catalog.catalog(specimens=True)


@pytest.fixture(scope="session")
def softmax(catalog: Catalog) -> Mapping[str, Implementation]:
    return catalog.implementations["softmax"]


@pytest.fixture(scope="session")
def log_softmax(catalog: Catalog) -> Mapping[str, Implementation]:
    return catalog.implementations["log_softmax"]


Checked = Callable[..., Ran]


@pytest.fixture(scope="session")
def binaries() -> Build:
    """Builds each plan for one architecture, in parallel; the binaries in the plans' order. What other tests have
    built is taken from the cache."""

    def build_all(implementation: Implementation, plans: Sequence[LaunchPlan], architecture: str) -> list[Binary]:
        assert implementation.source is not None
        requests = [BuildRequest.of(implementation.source, plan, architecture) for plan in plans]
        built = all_built(requests)
        return [built[request] for request in requests]

    return build_all


@pytest.fixture
def checked(h200: DeviceProperties, binaries: Build) -> Checked:
    """checked(name, case, shift): what that kernel of the case's operation did on the simulator, every element right.
    `plan`: by another plan than its own. Further options are those of run_and_check."""
    known = tests.catalog.catalog()

    def run(
        name: str, case: Case, shift: Any = 0, device: DeviceProperties = h200, plan: Any = None, **options: Any
    ) -> Ran:
        implementation, operation = known.implementations[case.operation][name], known.operations[case.operation]
        implementation = replace(implementation, plan=plan) if plan else implementation
        return run_and_check(implementation, operation, case, device, binaries, shift, **options)

    return run


@pytest.fixture(params=["float32", "float16", "bfloat16"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)
