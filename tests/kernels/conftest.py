"""What the tests of kernels share: a GPU to plan for, and the compiler's view of what a plan launches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import pytest

from kernelbench.build import BuildRequest, build, find_compiler
from kernelbench.core import places
from kernelbench.core.errors import NoCompiler
from kernelbench.core.records import Binary, DeviceProperties, Implementation, LaunchPlan, Scalar
from kernelbench.planning.catalog import load_catalog

OLDEST = "sm_75"  # that nvcc 13 knows; what asks for its architecture is compiled for others by tests/build
_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\((.*?)\)", re.DOTALL)
_PARAMETER = re.compile(r"\.param\s+\.(\w+)")
_PTX_TYPE = {"int32": "u32", "int64": "u64", "float32": "f32"}


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
def softmax() -> Mapping[str, Implementation]:
    """All implementations of softmax by name, specimens included."""
    return load_catalog(specimens=True).implementations["softmax"]


Signatures = Mapping[str, tuple[str, ...]]


Build = Callable[[Implementation, Sequence[LaunchPlan], str], list[Binary]]


@pytest.fixture(scope="session")
def binaries() -> Build:
    """Builds each plan for one architecture, in parallel; the binaries in the plans' order. What other tests have
    built is taken from the cache."""
    try:
        compiler = find_compiler()
    except NoCompiler as error:
        pytest.skip(str(error).splitlines()[0])

    def build_all(implementation: Implementation, plans: Sequence[LaunchPlan], architecture: str) -> list[Binary]:
        assert implementation.source is not None
        requests = [BuildRequest.of(implementation.source, plan, architecture) for plan in plans]
        built = build(requests, compiler, places.cache())
        results = [built[request] for request in requests]
        for result in results:
            assert isinstance(result, Binary), result
        return results

    return build_all


@pytest.fixture(scope="session")
def signatures(binaries: Build) -> Callable[[Implementation, LaunchPlan], Signatures]:
    """Compiles what a plan needs for the oldest architecture, and gives the PTX types of every entry's parameters by
    entry."""

    def compile_once(implementation: Implementation, plan: LaunchPlan) -> Signatures:
        (binary,) = binaries(implementation, [plan], OLDEST)
        ptx = binary.ptx_path.read_text()
        return {name: tuple(_PARAMETER.findall(text)) for name, text in _ENTRY.findall(ptx)}

    return compile_once


@pytest.fixture(scope="session")
def expected_signature() -> Callable[[tuple[str | Scalar, ...]], tuple[str, ...]]:
    """The PTX types that a launch's arguments need: addresses are u64."""

    def types(arguments: tuple[str | Scalar, ...]) -> tuple[str, ...]:
        return tuple("u64" if isinstance(argument, str) else _PTX_TYPE[argument.dtype] for argument in arguments)

    return types


@pytest.fixture(params=["float32", "float16", "bfloat16"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)
