"""Entries on disk: found again, shared, and made anew when something happened to them."""

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernelbench.build import BuildRequest, cache
from kernelbench.build.cache import COMMAND, CUBIN, DEPENDENCIES, FACTS, MANIFEST, PTX, Cache
from kernelbench.build.dependencies import Dependencies
from kernelbench.core import places, workspaces
from kernelbench.core.errors import BuildError, InputError
from kernelbench.core.records import Binary
from tests.build.conftest import FakeNvcc

Kernel = Callable[..., BuildRequest]


def entries(folder: Path) -> set[str]:
    """Keys of all there are; nothing else may lie there."""
    return {path.name for request in folder.iterdir() for path in request.iterdir()}


@pytest.mark.parametrize("change", ["source", "header", "toolkit", "define", "architecture", "version", "environment"])
def test_whatever_decides_the_outcome_changes_the_key(
    fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path, change: str
) -> None:
    header, toolkit = tmp_path / "kernels" / "common" / "a.cuh", tmp_path / "toolkit" / "b.h"
    header.parent.mkdir()
    header.write_text("// a\n")
    toolkit.write_text("// b\n")
    request = kernel(f"// READS {header}\n// READS {toolkit}\n")
    before = fake_nvcc.built(request)
    again = fake_nvcc.built(request)
    assert (again.key, again.cached) == (before.key, True)

    if change == "source":
        request.source.write_text(request.source.read_text() + "// more\n")
    elif change == "header":
        header.write_text("// other\n")
    elif change == "toolkit":
        toolkit.write_text("// other\n")
    elif change == "define":
        request = replace(request, defines=(("N", 1),))
    elif change == "architecture":
        request = replace(request, architecture="sm_80")
    elif change == "version":
        fake_nvcc = replace(fake_nvcc, compiler=replace(fake_nvcc.compiler, version="13.1.0"))
    else:
        fake_nvcc = replace(fake_nvcc, compiler=replace(fake_nvcc.compiler, environment=(("NVCC_APPEND_FLAGS", "-G"),)))
    after = fake_nvcc.built(request)
    assert after.key != before.key
    assert not after.cached
    assert before.path.is_file(), "another run may still be using it"


def test_a_header_as_it_was_finds_its_entry_again(fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path) -> None:
    header = tmp_path / "kernels" / "a.cuh"
    keys = []
    for text, cached in (("// 1\n", False), ("// 2\n", False), ("// 1\n", True)):
        header.write_text(text)
        binary = fake_nvcc.built(kernel(f"// READS {header}\n"))
        assert binary.cached == cached
        keys.append(binary.key)
    assert keys[0] == keys[2] != keys[1]


def test_a_moved_source_keeps_its_key_and_a_copy_of_another_name_does_not(fake_nvcc: FakeNvcc, kernel: Kernel) -> None:
    here = kernel(name="here")
    moved = here.source.parent / "elsewhere" / here.source.name
    moved.parent.mkdir()
    moved.write_bytes(here.source.read_bytes())
    first = fake_nvcc.built(here)
    there = fake_nvcc.built(replace(here, source=moved))
    assert (there.key, there.cached) == (first.key, True)
    assert not fake_nvcc.built(kernel(name="there")).cached, "its PTX has the name, which faults are told with"


def test_manifest_names_sizes_and_hashes(fake_nvcc, kernel):
    binary = fake_nvcc.built(kernel())
    manifest = json.loads((binary.path.parent / MANIFEST).read_text())
    assert manifest[CUBIN]["bytes"] == binary.path.stat().st_size
    assert sorted(path.name for path in binary.path.parent.iterdir()) == sorted([*manifest, MANIFEST])


@pytest.mark.parametrize("file", [PTX, CUBIN, FACTS, DEPENDENCIES, MANIFEST])
@pytest.mark.parametrize("damage", ["truncated", "changed", "deleted"])
def test_a_damaged_entry_is_made_again(fake_nvcc, kernel, file, damage):
    request = kernel("// long enough to be damaged\n")
    path = fake_nvcc.built(request).path.parent / file
    whole = path.read_bytes()
    if damage == "deleted":
        path.unlink()
    else:
        path.write_bytes(whole[: len(whole) // 2] if damage == "truncated" else whole[:-2] + b"?" + whole[-1:])

    again = fake_nvcc.built(request)
    assert not again.cached
    assert path.read_bytes() == whole
    assert fake_nvcc.built(request).cached
    assert entries(fake_nvcc.cache) == {again.key}


def test_two_processes_may_build_the_same(fake_nvcc, kernel):
    request, kept = kernel(), Cache(fake_nvcc.cache)
    with kept.workspace() as slower:
        (slower / PTX).write_text("// slower\n")
        (slower / CUBIN).write_text("slower")
        faster = fake_nvcc.built(request)
        key = faster.path.parent.parent.name
        found = Dependencies.of_text((faster.path.parent / DEPENDENCIES).read_bytes())
        entry = kept.publish(slower, key, found, faster.facts, "nvcc")
    assert entry.folder == faster.path.parent
    assert entry.facts == faster.facts
    assert "slower" not in faster.path.read_text()
    assert entries(fake_nvcc.cache) == {faster.key}


def test_many_threads_may_build_the_same(fake_nvcc, kernel):
    requests = [kernel(f"// {number}\n", f"k{number}") for number in range(4)]
    found: list[dict[BuildRequest, Binary | BuildError]] = []
    threads = [threading.Thread(target=lambda: found.append(fake_nvcc.build(*requests))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(isinstance(result, Binary) for results in found for result in results.values())
    assert len(list((fake_nvcc.cache).iterdir())) == 4


WRONG = {
    "a list as manifest": {MANIFEST: "[]"},
    "no manifest": {MANIFEST: ""},
    "nesting": {MANIFEST: "[" * 100_000},
    "facts that are a list": {FACTS: "[]"},
    "facts of an entry that are none": {FACTS: '{"k": 7}'},
    "facts of another program": {FACTS: '{"k": {"registers": 1, "speed": 2}}'},
    "facts that are no text": {FACTS: b"\xff\xfe"},
}


@pytest.mark.parametrize("contents", WRONG.values(), ids=WRONG.keys())
def test_an_entry_with_wrong_contents_is_made_again(
    fake_nvcc: FakeNvcc, kernel: Kernel, contents: dict[str, str | bytes]
) -> None:
    first = fake_nvcc.built(kernel())
    folder = first.path.parent
    for name, content in contents.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    if FACTS in contents:  # as if it had been written so
        data = {name: (folder / name).read_bytes() for name in json.loads((folder / MANIFEST).read_text())}
        (folder / MANIFEST).write_text(json.dumps(cache._manifest(data)))
    again = fake_nvcc.built(kernel())
    assert (again.cached, again.facts) == (False, first.facts)
    assert fake_nvcc.built(kernel()).cached


def unreadable(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    path.mkdir()
    path.chmod(0)


IN_THE_WAY: dict[str, Callable[[Path], object]] = {
    "a file": lambda path: path.write_text("what"),
    "an empty folder": lambda path: path.mkdir(),
    "a folder of another kind": lambda path: (path / MANIFEST).mkdir(parents=True),
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a folder without rights": unreadable,
}


@pytest.mark.parametrize("put", IN_THE_WAY.values(), ids=IN_THE_WAY.keys())
def test_what_lies_in_an_entrys_place_is_put_away(
    fake_nvcc: FakeNvcc, kernel: Kernel, put: Callable[[Path], object]
) -> None:
    folder = fake_nvcc.cache
    place = fake_nvcc.built(kernel()).path.parent
    for taken in (place, place.parent):
        shutil.rmtree(taken)
        put(taken)
        assert not fake_nvcc.built(kernel()).cached
        assert fake_nvcc.built(kernel()).cached
        assert entries(folder) - {MANIFEST} == {place.name}, "a folder of requests may hold something else"


def test_whoever_may_read_the_cache_may_read_its_entries(fake_nvcc: FakeNvcc, kernel: Kernel) -> None:
    folder = fake_nvcc.cache
    folder.mkdir()
    folder.chmod(0o750)
    entry = fake_nvcc.built(kernel()).path.parent
    assert stat.S_IMODE(entry.stat().st_mode) == 0o750


def full(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_only(*arguments: object, **options: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_a_cache_folder_that_is_a_file_says_so(fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place, reason in ((tmp_path / "file", "it is not a folder"), (tmp_path / "file" / "deeper", "Not a directory")):
        said = rf"{place}: cannot write compiled kernels here \({reason}\); .*KERNELBENCH_CACHE"
        with pytest.raises(InputError, match=said):
            replace(fake_nvcc, cache=place).build(kernel())


def test_a_read_only_cache_serves_what_it_has(
    fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, fresh = kernel(), kernel("// new\n", "fresh")
    fake_nvcc.build(there)
    monkeypatch.setattr(tempfile, "mkdtemp", read_only)
    results = fake_nvcc.build(there, fresh)
    assert isinstance(results[there], Binary)
    error = results[fresh]
    assert isinstance(error, BuildError)
    assert str(error) == (
        f"{tmp_path / 'cache'}: cannot write compiled kernels here (Read-only file system); make it writable or free "
        "disk space, or name another folder in KERNELBENCH_CACHE"
    )


def test_a_disk_that_is_full_costs_the_kernels_that_had_no_room(
    fake_nvcc: FakeNvcc, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits, large = kernel(), kernel("// large\n", "large")
    really = Path.write_text

    def write_text(path: Path, text: str) -> int:
        if path.name == MANIFEST and "large" in (path.parent / COMMAND).read_text():
            full()
        return really(path, text)

    monkeypatch.setattr(Path, "write_text", write_text)
    results = fake_nvcc.build(large, fits)
    assert isinstance(results[fits], Binary)
    assert isinstance(results[large], BuildError)
    assert "cannot write compiled kernels here (No space left on device)" in str(results[large])
    assert len(list((fake_nvcc.cache).iterdir())) == 1, "nothing half made"


def test_a_cache_that_vanishes_meanwhile_costs_the_kernel_that_was_compiled(
    fake_nvcc: FakeNvcc, kernel: Kernel
) -> None:
    vanishing, later = kernel("GONE\n", "vanishing"), kernel()
    results = fake_nvcc.build(vanishing, later, jobs=1)
    assert isinstance(results[vanishing], BuildError)
    assert isinstance(results[later], Binary)


def test_without_a_home_there_is_a_word_on_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for variable in ("KERNELBENCH_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    with pytest.raises(InputError, match="KERNELBENCH_CACHE"):
        places.cache()


BUILD = """
import sys
from pathlib import Path
from kernelbench.build import BuildRequest, Compiler, build
nvcc, cache, *sources = map(Path, sys.argv[1:])
found = build([BuildRequest(one, (), "sm_90") for one in sources], Compiler(nvcc, "13.0.88"), cache, jobs=2)
print(sum(not isinstance(one, Exception) for one in found.values()))
"""


def test_processes_share_a_cache_and_one_of_them_may_be_killed(fake_nvcc: FakeNvcc, kernel: Kernel) -> None:
    folder = fake_nvcc.cache
    requests = [kernel(f"// {number}\n", f"k{number}") for number in range(6)]
    words = [str(fake_nvcc.compiler.path), str(folder), *(str(request.source) for request in requests)]
    several = [
        subprocess.Popen([sys.executable, "-c", BUILD, *words], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    until = time.monotonic() + 30
    while not fake_nvcc.calls and time.monotonic() < until:
        time.sleep(0.005)
    several[0].kill()
    several[0].communicate(timeout=30)
    assert [one.communicate(timeout=60)[0] for one in several[1:]] == ["6\n", "6\n"]

    for left in folder.glob(f"{workspaces.PREFIX}*"):  # of the one that was killed; a day later it goes
        os.utime(left, (0, 0))
    results = fake_nvcc.build(*requests)
    assert all(isinstance(one, Binary) and one.cached for one in results.values())
    assert entries(folder) == {one.key for one in results.values()}  # type: ignore[union-attr]
