"""Building the runtime, finding it again, and what is said where it cannot be built."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kernelbench.core.errors import BuildError, InputError, NoCompiler, RunWarning
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


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """stand_in(text): the compiler is a script of this text, which has a version of its own."""

    def make(text: str) -> None:
        other = tmp_path / "my-g++"
        other.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo my own 1.0 && exit\n{text}\n')
        other.chmod(0o755)
        monkeypatch.setenv("CXX", str(other))

    return make


def made(folder: Path) -> set[str]:
    """What lies there, each with its hash beside it, which is left out."""
    names = {path.name for path in (folder.parent / "cache" / "simulator").iterdir()}
    found = {name for name in names if not name.endswith(".sha256")}
    assert names - found == {f"{name}.sha256" for name in found}
    return found


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


def test_seldom_operations_are_built_by_themselves_and_call_the_others(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "_SELDOM", {"two"})
    (small / "one.cpp").write_text("int one() { return 1; }")
    (small / "two.cpp").write_text('int one();\nextern "C" int op_two() { return 2 * one(); }')
    native.built()
    before = made(small)
    assert {name.split("-")[0] for name in before} == {"one", "runtime"}
    target = native.built(seldom=True)
    assert {name.split("-")[0] for name in made(small) - before} == {"two", "seldom"}
    moved = target.parent.rename(small / "moved")
    assert ctypes.CDLL(str(moved / target.name)).op_two() == 2
    (small / "one.cpp").write_text("int one() { return 11; }")
    assert ctypes.CDLL(str(native.built(seldom=True))).op_two() == 22


def test_the_checked_build_is_another(small: Path) -> None:
    assert native.built() != native.built(sanitize=True)


def test_a_compiler_that_fails(small: Path) -> None:
    (small / "one.cpp").write_text("this is not C++")
    with pytest.raises(BuildError, match=r"cannot be built: .*one\.cpp:1") as caught:
        native.built()
    assert "-march=native" in caught.value.command
    assert not any(name.startswith("runtime") for name in made(small))


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", None])
def test_what_was_cut_off_is_built_anew(small: Path, damage: bytes | None) -> None:
    """A file that a full disk or a power cut left short; loading it could end the process."""
    target = native.built()
    folder = target.parent
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-10] if damage is None else damage)
    with pytest.warns(RunWarning, match=rf"{target}: does not match its hash; it is built anew"):
        assert native.built() == target
    assert ctypes.CDLL(str(target)).op_one() == 1


def test_a_library_with_a_few_bytes_changed_is_built_anew_wherever_they_lie(small: Path) -> None:
    """Loaded, such a library crashes, hangs, or counts wrong without a word."""
    target = native.built()
    whole = target.read_bytes()
    random = np.random.default_rng(7)
    for _ in range(200):
        damaged = np.frombuffer(whole, np.uint8).copy()
        damaged[random.integers(0, len(whole), 12)] ^= random.integers(1, 256, 12, np.uint8)
        target.write_bytes(damaged.tobytes())
        assert not native._whole(target)
    with pytest.warns(RunWarning):
        assert native.built() == target
    assert native._whole(target)
    assert ctypes.CDLL(str(target)).op_two() == 2


@pytest.mark.parametrize("hash_", [None, b"", b"\xff", b"0" * 64])
def test_a_library_without_its_hash_is_built_anew(small: Path, hash_: bytes | None) -> None:
    target = native.built()
    beside = target.with_name(f"{target.name}.sha256")
    if hash_ is None:
        beside.unlink()
    else:
        beside.write_bytes(hash_)
    with pytest.warns(RunWarning, match="built anew"):
        native.built()
    assert native._whole(target)


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_name_is_none(small: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("CXX", text)
    assert native.compiler_text().startswith("g++ ")


def test_a_compiler_may_have_words_and_blanks(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = small / "my tools" / "g++"
    other.parent.mkdir()
    other.write_text('#!/bin/sh\nexec g++ "$@"\n')
    other.chmod(0o755)
    monkeypatch.setenv("CXX", "g++ -DMINE=1")
    (small / "one.cpp").write_text('extern "C" int op_one() { return MINE; }')
    plain = native.built()
    assert ctypes.CDLL(str(plain)).op_one() == 1
    assert native.compiler_text().startswith("g++ -DMINE=1 ")
    monkeypatch.setenv("CXX", f"'{other}' -DMINE=2")
    assert ctypes.CDLL(str(native.built())).op_one() == 2
    monkeypatch.setenv("CXX", str(other))
    assert native.compiler_text().startswith("g++ ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/nowhere/g++", r"^/nowhere/g\+\+ not found: "),
        ("no-such-compiler -m32", "^no-such-compiler not found: .*install"),
        ("g++ 'open", r"^CXX=\"g\+\+ 'open\": No closing quotation; expected a compiler and its options"),
    ],
)
def test_a_compiler_that_is_not_there_is_named(
    small: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setenv("CXX", text)
    with pytest.raises(NoCompiler, match=said):
        native.built()


def test_a_library_that_cannot_be_loaded_is_named(small: Path) -> None:
    (small / "one.cpp").write_text('extern "C" int nowhere(); extern "C" int op_one() { return nowhere(); }')
    native.runtime.cache_clear()
    with pytest.raises(BuildError, match=r"runtime-\w+\.so: cannot be loaded .*nowhere.*; delete it"):
        native.runtime()


def test_a_folder_that_cannot_be_written_is_told_with_what_to_do(small: Path) -> None:
    (small.parent / "cache").write_text("a file")
    with pytest.raises(InputError, match=r"simulator: cannot keep the simulator here .*KERNELBENCH_CACHE"):
        native.built()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kill -9 $$", r"my-g\+\+ ended with status -9"),
        ("sleep 30", r"my-g\+\+ did not finish within 0\.5 s and was ended"),
        ("echo x.s: fatal error: No space left on device >&2; exit 1", "cannot be built: .*No space left on device"),
    ],
)
def test_a_compiler_that_is_ended_leaves_nothing_half_made(
    small: Path, stand_in: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    stand_in(text)
    monkeypatch.setattr(native, "TIMEOUT_S", 0.5)
    with pytest.raises(BuildError, match=said):
        native.built()
    assert made(small) == set()


def test_a_full_disk_that_keeps_the_compilers_words_from_being_written_is_told_with_what_to_do(
    small: Path, stand_in: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in("exit 1")
    with pytest.raises(BuildError, match=r"ended with status 1 and said nothing of an error$"):
        native.built()
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=0))
    with pytest.raises(BuildError, match=r"of an error; the disk of .*/simulator is full .*KERNELBENCH_CACHE$"):
        native.built()


def test_a_compiler_of_another_machine_is_named(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "my-g++"
    other.write_bytes(b"\x7fELF of another machine")
    other.chmod(0o755)
    monkeypatch.setenv("CXX", str(other))
    with pytest.raises(NoCompiler, match=r"my-g\+\+ cannot be run: .*Exec format error"):
        native.built()


def test_another_compiler_builds_anew(small: Path, stand_in: Callable[[str], None]) -> None:
    target = native.built()
    stand_in('exec g++ "$@"')
    assert native.built() != target


def test_two_at_once_build_it_once(small: Path, tmp_path: Path, stand_in: Callable[[str], None]) -> None:
    log = tmp_path / "calls.log"
    stand_in(f'echo "$@" >> {log}\nexec g++ "$@"')
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: native.built(), range(2))
    assert first == second
    assert len(log.read_text().splitlines()) == 3  # two objects and the library


@pytest.mark.skipif(os.environ.get("CXX") is not None, reason="CXX is set")
def test_operations_are_known_by_name() -> None:
    assert native.has_operation("ld_global_u32_32")
    assert native.has_operation("atom_global_add_u32")  # a seldom one
    assert native.operation("atom_global_add_u32") != native.operation("ld_global_u32_32")
    assert not native.has_operation("ld_global_u33_32")
