"""Building the runtime, finding it again, and what is said where it cannot be built."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kernelbench.errors import BuildError, NoCompiler
from kernelbench.simt import native


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime of two files, and an empty cache."""
    sources = tmp_path / "runtime"
    sources.mkdir()
    (sources / "one.cpp").write_text('extern "C" int op_one() { return 1; }')
    (sources / "two.cpp").write_text('#include "two.hpp"\nextern "C" int op_two() { return TWO; }')
    (sources / "two.hpp").write_text("constexpr int TWO = 2;")
    monkeypatch.setattr(native, "RUNTIME", sources)
    monkeypatch.setenv("KERNELBENCH_CACHE", str(tmp_path / "cache"))
    return sources


def made(folder: Path) -> set[str]:
    return {path.name for path in (folder.parent / "cache" / "simulator").iterdir()}


def test_what_is_built_is_found_again(small: Path) -> None:
    target = native.built()
    first = target.stat().st_mtime_ns
    assert native.built() == target
    assert target.stat().st_mtime_ns == first
    assert len(made(small)) == 3  # two objects and the library; nothing half-made


def test_a_changed_file_is_compiled_alone(small: Path) -> None:
    native.built()
    before = made(small)
    (small / "one.cpp").write_text('extern "C" int op_one() { return 11; }')
    native.built()
    fresh = made(small) - before
    assert {name.split("-")[0] for name in fresh} == {"one", "runtime"}
    (small / "two.hpp").write_text("constexpr int TWO = 22;")
    fresh = made(small)
    native.built()
    assert {name.split("-")[0] for name in made(small) - fresh} == {"one", "two", "runtime"}


def test_the_checked_build_is_another(small: Path) -> None:
    assert native.built() != native.built(sanitize=True)


def test_without_a_compiler(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(NoCompiler, match=r"no-such-compiler not found.*install"):
        native.built()


def test_a_compiler_that_fails(small: Path) -> None:
    (small / "one.cpp").write_text("this is not C++")
    with pytest.raises(BuildError, match=r"cannot be built: .*one\.cpp:1") as caught:
        native.built()
    assert "-march=native" in caught.value.command
    assert not any(name.startswith("runtime") for name in made(small))


def test_another_compiler_builds_anew(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = native.built()
    other = tmp_path / "my-g++"
    other.write_text('#!/bin/sh\n[ "$1" = --version ] && echo my own 1.0 && exit\nexec g++ "$@"\n')
    other.chmod(other.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", str(other))
    assert native.built() != target


@pytest.mark.skipif(os.environ.get("CXX") is not None, reason="CXX is set")
def test_operations_are_known_by_name() -> None:
    assert native.has_operation("ld_global_u32_32")
    assert not native.has_operation("ld_global_u33_32")
