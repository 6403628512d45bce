"""Binaries that a test takes for granted."""

from collections.abc import Collection
from functools import cache
from pathlib import Path

from kernelbench.build import BuildRequest, Compiler, build, find_compiler
from kernelbench.core import places
from kernelbench.core.records import Binary

ROOT = Path(__file__).resolve().parents[2]
_kept: dict[tuple[BuildRequest, Path], Binary] = {}  # of files that no test changes, by the folder of the cache


def all_built(
    requests: Collection[BuildRequest], compiler: Compiler | None = None, folder: Path | None = None
) -> dict[BuildRequest, Binary]:
    """In the cache that all tests share, if no `folder` is named. AssertionError with what the compiler says."""
    if compiler is not None or folder is not None:
        return _built(requests, compiler or _compiler(), folder or places.cache())
    own = places.cache()
    found = _built([one for one in requests if (one, own) not in _kept], _compiler(), own)
    _kept.update({(one, own): binary for one, binary in found.items() if one.source.is_relative_to(ROOT)})
    return {one: found[one] if one in found else _kept[one, own] for one in requests}


def _built(requests: Collection[BuildRequest], compiler: Compiler, folder: Path) -> dict[BuildRequest, Binary]:
    results = build(requests, compiler, folder) if requests else {}
    binaries = {request: result for request, result in results.items() if isinstance(result, Binary)}
    assert len(binaries) == len(results), "\n".join(str(one) for one in results.values() if not isinstance(one, Binary))
    return binaries


@cache
def _compiler() -> Compiler:
    """Asked once: it takes as long as a small test to say its version."""
    return find_compiler()


def only_built(request: BuildRequest, compiler: Compiler | None = None, folder: Path | None = None) -> Binary:
    return all_built([request], compiler, folder)[request]
