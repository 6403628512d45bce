"""What the tests of kernels share: a GPU to plan for, and what the compiler makes of plans."""

from collections.abc import Callable, Mapping, Sequence

import pytest

import tests.catalog
from kernelbench.build import BuildRequest, build, find_compiler
from kernelbench.core import places
from kernelbench.core.records import Binary, DeviceProperties, Implementation, LaunchPlan
from kernelbench.planning.catalog import Catalog


@pytest.fixture(scope="session")
def h200() -> DeviceProperties:
    return DeviceProperties(
        name="NVIDIA H200",
        compute_capability=(9, 0),
        multiprocessors=132,
        l2_bytes=60 * 2**20,
        memory_bytes=139 * 2**30,
        peak_bytes_per_s=4.8e12,
        max_threads_per_multiprocessor=2048,
        max_blocks_per_multiprocessor=32,
        registers_per_multiprocessor=65536,
        shared_per_multiprocessor=228 * 1024,
        shared_per_block=48 * 1024,
        shared_per_block_optin=227 * 1024,
        shared_reserved_per_block=1024,
    )


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


Build = Callable[[Implementation, Sequence[LaunchPlan], str], list[Binary]]


@pytest.fixture(scope="session")
def binaries() -> Build:
    """Builds each plan for one architecture, in parallel; the binaries in the plans' order. What other tests have
    built is taken from the cache."""
    compiler = find_compiler()

    def build_all(implementation: Implementation, plans: Sequence[LaunchPlan], architecture: str) -> list[Binary]:
        assert implementation.source is not None
        requests = [BuildRequest.of(implementation.source, plan, architecture) for plan in plans]
        built = build(requests, compiler, places.cache())
        results = [built[request] for request in requests]
        for result in results:
            assert isinstance(result, Binary), result
        return results

    return build_all


@pytest.fixture(params=["float32", "float16", "bfloat16"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)
