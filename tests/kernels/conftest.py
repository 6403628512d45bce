"""What the tests of kernels share: a GPU to plan for, and the compiler's view of what a plan launches."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from kernelbench import places
from kernelbench.build import BuildRequest, build, find_compiler
from kernelbench.catalog import load_catalog
from kernelbench.errors import NoCompiler
from kernelbench.records import Binary, DeviceProperties, Implementation, LaunchPlan, Scalar

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")  # the oldest that nvcc 13 knows, and the two after it with new loads
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


@pytest.fixture(scope="session")
def signatures(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Implementation, LaunchPlan, str], Signatures]:
    """Compiles what a plan needs, and gives the PTX types of every entry's parameters by entry."""
    try:
        nvcc = find_compiler().path
    except NoCompiler as error:
        pytest.skip(str(error).splitlines()[0])
    folder = tmp_path_factory.mktemp("ptx")
    known: dict[tuple[Path | None, object, str], Signatures] = {}

    def compile_once(implementation: Implementation, plan: LaunchPlan, architecture: str) -> Signatures:
        key = (implementation.source, plan.defines, architecture)
        if key not in known:
            ptx = folder / f"{len(known)}.ptx"
            defines = [f"-D{name}={value}" for name, value in plan.defines]
            flags = ["-ptx", f"-arch={architecture}", "-O3", "-std=c++17", "-lineinfo", "-I", str(places.KERNELS)]
            done = subprocess.run(
                [nvcc, *flags, *defines, str(implementation.source), "-o", str(ptx)],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            known[key] = {name: tuple(_PARAMETER.findall(text)) for name, text in _ENTRY.findall(ptx.read_text())}
        return known[key]

    return compile_once


@pytest.fixture(scope="session")
def binaries(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Implementation, Sequence[LaunchPlan], str], list[Binary]]:
    """Builds each plan for one architecture, in parallel and once a session; the binaries in the plans' order."""
    try:
        compiler = find_compiler()
    except NoCompiler as error:
        pytest.skip(str(error))
    cache = tmp_path_factory.mktemp("binaries")

    def build_all(implementation: Implementation, plans: Sequence[LaunchPlan], architecture: str) -> list[Binary]:
        assert implementation.source is not None
        requests = [BuildRequest(implementation.source, plan.defines, architecture) for plan in plans]
        built = build(requests, compiler, cache)
        results = [built[request] for request in requests]
        for result in results:
            assert isinstance(result, Binary), result
        return results

    return build_all


@pytest.fixture(scope="session")
def expected_signature() -> Callable[[tuple[str | Scalar, ...]], tuple[str, ...]]:
    """The PTX types that a launch's arguments need: addresses are u64."""

    def types(arguments: tuple[str | Scalar, ...]) -> tuple[str, ...]:
        return tuple("u64" if isinstance(argument, str) else _PTX_TYPE[argument.dtype] for argument in arguments)

    return types


@pytest.fixture(params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["float32", "float16", "bfloat16"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)
