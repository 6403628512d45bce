"""Binaries that a test takes for granted."""

from collections.abc import Collection
from pathlib import Path

from kernelbench.build import BuildRequest, Compiler, build, find_compiler
from kernelbench.core import places
from kernelbench.core.records import Binary


def all_built(
    requests: Collection[BuildRequest], compiler: Compiler | None = None, folder: Path | None = None
) -> dict[BuildRequest, Binary]:
    """In the cache that all tests share, if no `folder` is named. AssertionError with what the compiler says."""
    results = build(requests, compiler or find_compiler(), folder or places.cache())
    binaries = {request: result for request, result in results.items() if isinstance(result, Binary)}
    assert len(binaries) == len(results), "\n".join(str(one) for one in results.values() if not isinstance(one, Binary))
    return binaries


def only_built(request: BuildRequest, compiler: Compiler | None = None, folder: Path | None = None) -> Binary:
    return all_built([request], compiler, folder)[request]
