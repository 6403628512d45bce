from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelbench.build import BuildRequest, build
from kernelbench.build.builder import first_error
from kernelbench.build.cache import CUBIN, FACTS, MANIFEST, PTX, Cache, cache_key
from kernelbench.errors import BuildError, InputError
from kernelbench.records import Binary


def only(results: dict[BuildRequest, Binary | BuildError]) -> Binary:
    (result,) = results.values()
    assert isinstance(result, Binary), result
    return result


def test_a_kernel_is_compiled_once_and_found_again(fake_nvcc, kernel, tmp_path):
    request = kernel()
    first = only(build([request, request], fake_nvcc.compiler, tmp_path / "cache"))
    assert len(fake_nvcc.calls) == 2, "PTX, then cubin"
    second = only(build([request], fake_nvcc.compiler, tmp_path / "cache"))

    assert len(fake_nvcc.calls) == 2
    assert (first.cached, second.cached) == (False, True)
    assert second.facts == first.facts
    assert first.facts["k"].registers == 29
    assert first.facts["k"].parameter_loads == (1, 0)
    assert second.path.read_bytes()
    assert second.ptx_path.name == "source.ptx"


def test_nvcc_gets_flags_defines_and_both_include_folders(fake_nvcc, kernel, tmp_path):
    request = kernel(defines=(("PACK", 2), ("TYPE", "__half")))
    build([request], fake_nvcc.compiler, tmp_path / "cache")
    ptx, cubin = (call.split() for call in fake_nvcc.calls)
    assert ptx[:5] == ["-ptx", "-arch=sm_90", "-O3", "-std=c++17", "-lineinfo"]
    assert f"-I{tmp_path / 'kernels'}" in ptx
    assert ptx.index("-DPACK=2") < ptx.index("-DTYPE=__half")
    assert cubin[:5] == ["-cubin", "-arch=sm_90", "-lineinfo", "-Xptxas", "-v"]


@pytest.mark.parametrize(
    "change",
    ["source", "header", "header of header", "define", "architecture", "version", "environment"],
)
def test_whatever_decides_the_outcome_changes_the_key(fake_nvcc, kernel, tmp_path, change):
    header, deeper = tmp_path / "kernels" / "common" / "a.cuh", tmp_path / "kernels" / "softmax" / "b.cuh"
    header.parent.mkdir()
    header.write_text('#include "../softmax/b.cuh"\n')
    deeper.write_text("// b\n")
    request, compiler = kernel('  #  include "common/a.cuh"\n'), fake_nvcc.compiler
    before = cache_key(request, compiler)
    assert cache_key(request, compiler) == before

    if change == "source":
        request.source.write_text(request.source.read_text() + "// more\n")
    elif change == "header":
        header.write_text(header.read_text() + "// more\n")
    elif change == "header of header":
        deeper.write_text("// other\n")
    elif change == "define":
        request = replace(request, defines=(("N", 1),))
    elif change == "architecture":
        request = replace(request, architecture="sm_80")
    elif change == "version":
        compiler = replace(compiler, version="13.1.0")
    else:
        compiler = replace(compiler, environment=(("NVCC_APPEND_FLAGS", "-G"),))
    assert cache_key(request, compiler) != before


def test_a_moved_source_keeps_its_key(fake_nvcc, kernel):
    assert cache_key(kernel(name="here"), fake_nvcc.compiler) == cache_key(kernel(name="there"), fake_nvcc.compiler)


def test_headers_that_include_each_other_end(fake_nvcc, kernel, tmp_path):
    (tmp_path / "kernels" / "softmax" / "a.cuh").write_text('#include "a.cuh"\n#include "naive.cu"\n')
    assert cache_key(kernel('#include "a.cuh"\n'), fake_nvcc.compiler)


def test_an_include_by_macro_is_refused(fake_nvcc, kernel):
    with pytest.raises(InputError, match=r"naive\.cu: #include HEADER: expected the header's name"):
        cache_key(kernel("#include HEADER\n"), fake_nvcc.compiler)


@pytest.mark.parametrize("file", [PTX, CUBIN, FACTS, MANIFEST])
@pytest.mark.parametrize("damage", ["truncated", "changed", "deleted"])
def test_a_damaged_entry_is_made_again(fake_nvcc, kernel, tmp_path, file, damage):
    request = kernel("// long enough to be damaged\n")
    path = only(build([request], fake_nvcc.compiler, tmp_path / "cache")).path.parent / file
    whole = path.read_bytes()
    if damage == "deleted":
        path.unlink()
    else:
        path.write_bytes(whole[: len(whole) // 2] if damage == "truncated" else whole[:-2] + b"?" + whole[-1:])

    again = only(build([request], fake_nvcc.compiler, tmp_path / "cache"))
    assert not again.cached
    assert path.read_bytes() == whole
    assert only(build([request], fake_nvcc.compiler, tmp_path / "cache")).cached
    assert [entry.name for entry in (tmp_path / "cache").iterdir()] == [again.key]


def test_a_refused_kernel_stops_no_other(fake_nvcc, kernel, tmp_path):
    bad, good = kernel("REFUSE\n", "bad"), kernel(name="good")
    results = build([bad, good], fake_nvcc.compiler, tmp_path / "cache")
    assert isinstance(results[good], Binary)
    error = results[bad]
    assert isinstance(error, BuildError)
    first, command = str(error).splitlines()
    assert first == f'{bad.source}:7: error: identifier "REFUSE" is undefined'
    assert command.strip() == f"command: {shlex.join(error.command)}"
    assert "warning #177-D" in error.log
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [results[good].key]


def test_progress_names_each_request_once(fake_nvcc, kernel, tmp_path):
    requests = [kernel(f"// {name}\n", name) for name in ("a", "b", "c")]
    seen = []
    results = build(
        [*requests, requests[0]],
        fake_nvcc.compiler,
        tmp_path / "cache",
        jobs=2,
        on_done=lambda request, result, done, total: seen.append((request, result, done, total)),
    )
    assert [(done, total) for _, _, done, total in seen] == [(1, 3), (2, 3), (3, 3)]
    assert {request: result for request, result, _, _ in seen} == results
    assert list(results) == requests, "in the order asked for"


def test_a_compiler_that_hangs_is_ended(fake_nvcc, kernel, tmp_path):
    start = time.monotonic()
    results = build([kernel("SLEEP\n")], fake_nvcc.compiler, tmp_path / "cache", timeout_s=0.5)
    assert time.monotonic() - start < 10
    (error,) = results.values()
    assert isinstance(error, BuildError)
    assert str(error).startswith("nvcc did not finish within 0.5 s and was ended\n  command: ")
    assert list((tmp_path / "cache").iterdir()) == []


def test_ctrl_c_ends_the_compilers_and_leaves_nothing(fake_nvcc, kernel, tmp_path):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    sleeping = [kernel(f"SLEEP {name}\n", name) for name in ("a", "b", "c")]
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        build([kernel(), *sleeping], fake_nvcc.compiler, tmp_path / "cache", jobs=2, on_done=interrupt)
    assert time.monotonic() - start < 10
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [cache_key(kernel(), fake_nvcc.compiler)]
    assert not any("c.cu" in call for call in fake_nvcc.calls), "what had not begun did not begin"


def test_a_nvcc_that_cannot_be_started_is_a_build_error(fake_nvcc, kernel, tmp_path):
    fake_nvcc.compiler.path.unlink()
    (error,) = build([kernel()], fake_nvcc.compiler, tmp_path / "cache").values()
    assert "nvcc cannot be started: " in str(error)


def test_two_processes_may_build_the_same(fake_nvcc, kernel, tmp_path):
    request, cache = kernel(), Cache(tmp_path / "cache")
    key = cache_key(request, fake_nvcc.compiler)
    with cache.workspace() as slower:
        (slower / PTX).write_text("// slower\n")
        (slower / CUBIN).write_text("slower")
        faster = only(build([request], fake_nvcc.compiler, tmp_path / "cache"))
        entry = cache.publish(slower, key, faster.facts, "nvcc")
    assert entry.folder == faster.path.parent
    assert entry.facts == faster.facts
    assert "slower" not in faster.path.read_text()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [key]


def test_many_threads_may_build_the_same(fake_nvcc, kernel, tmp_path):
    requests = [kernel(f"// {number}\n", f"k{number}") for number in range(4)]
    found: list[dict[BuildRequest, Binary | BuildError]] = []
    threads = [
        threading.Thread(target=lambda: found.append(build(requests, fake_nvcc.compiler, tmp_path / "cache")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(isinstance(result, Binary) for results in found for result in results.values())
    assert len(list((tmp_path / "cache").iterdir())) == 4


def test_old_workspaces_of_killed_processes_are_swept(tmp_path):
    old, fresh = tmp_path / ".making-old", tmp_path / ".making-fresh"
    old.mkdir()
    fresh.mkdir()
    os.utime(old, (time.time() - 2 * 24 * 3600,) * 2)
    Cache(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [fresh.name]


def test_a_cache_that_cannot_be_written_says_so(fake_nvcc, kernel, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write compiled kernels here .*KERNELBENCH_CACHE"):
        build([kernel()], fake_nvcc.compiler, tmp_path / "file")


def test_a_source_that_is_not_there_says_so(fake_nvcc, tmp_path):
    with pytest.raises(InputError, match=r"gone\.cu: cannot be read \(No such file"):
        build([BuildRequest(tmp_path / "gone.cu", (), "sm_90")], fake_nvcc.compiler, tmp_path / "cache")


@pytest.mark.parametrize(
    "defines",
    [
        (("N;", 1),),
        (("1N", 1),),
        (("N", "a b"),),
        (("N", "x;y"),),
        (("N", '"$(x)"'),),
        (("N", ""),),
        (("N", 1), ("N", 2)),
    ],
)
def test_a_define_cannot_smuggle_in_an_option(defines):
    with pytest.raises(InputError, match="define"):
        BuildRequest(Path("naive.cu"), defines, "sm_90")


@pytest.mark.parametrize("architecture", ["", "90", "sm_90 -G", "compute_90"])
def test_an_architecture_has_one_form(architecture):
    with pytest.raises(InputError, match="expected the form sm_90"):
        BuildRequest(Path("naive.cu"), (), architecture)


def test_the_shown_command_is_short_and_safe_in_its_folder(fake_nvcc, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "softmax").mkdir()
    command = BuildRequest(Path("softmax/naive.cu"), (("N", -1),), "sm_90").shown_command(fake_nvcc.compiler)
    assert command[-1] == "softmax/naive.cu"
    assert command[-2] == "./naive.cubin"
    assert "-DN=-1" in command
    dashed = BuildRequest(Path("-x/-G.cu"), (), "sm_90")
    assert dashed.shown_command(fake_nvcc.compiler)[-1] == str(tmp_path / "-x" / "-G.cu")
    assert dashed.ptx_command(fake_nvcc.compiler, tmp_path / "a.ptx")[-1] == str(tmp_path / "-x" / "-G.cu")


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("x.cu(12): error: static assertion failed", "x.cu:12: error: static assertion failed"),
        ("x.cu:4:10: fatal error: a.h: No such file", "x.cu:4: fatal error: a.h: No such file"),
        ('x.cu(3): warning #1: "error"\n  float error : 1;\ny.cuh(5): error: b', "y.cuh:5: error: b"),
        ("nvcc fatal   : Value 'sm_20' is not defined", "nvcc fatal   : Value 'sm_20' is not defined"),
        ("ptxas error   : uses too much shared data", "ptxas error   : uses too much shared data"),
        ("note\nodd end", "odd end"),
        ("", "nvcc ended with status 1 and said nothing"),
    ],
)
def test_the_first_error_is_found(log, expected):
    assert first_error(log, 1) == expected


def test_a_killed_compiler_is_named():
    assert first_error("", -9).startswith("nvcc was ended by signal 9")


def test_manifest_names_sizes_and_hashes(fake_nvcc, kernel, tmp_path):
    binary = only(build([kernel()], fake_nvcc.compiler, tmp_path / "cache"))
    manifest = json.loads((binary.path.parent / MANIFEST).read_text())
    assert manifest[CUBIN]["bytes"] == binary.path.stat().st_size
    assert sorted(path.name for path in binary.path.parent.iterdir()) == sorted([*manifest, MANIFEST])


def test_the_build_room_needs_no_heavy_library():
    heavy = {"pandas", "scipy", "matplotlib", "cupy", "rich", "jinja2"}
    code = f"import sys, kernelbench.build, kernelbench.catalog; print(*{heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_a_debug_build_is_another_binary_that_nothing_was_optimised_in(fake_nvcc: Any) -> None:
    plain = BuildRequest(Path("naive.cu"), (), "sm_90")
    debug = BuildRequest(Path("naive.cu"), (), "sm_90", debug=True)
    for command in (debug.ptx_command(fake_nvcc.compiler, Path("x.ptx")), debug.shown_command(fake_nvcc.compiler)):
        assert "-G" in command
        assert "-lineinfo" not in command
    assert "-G" in debug.cubin_command(fake_nvcc.compiler, Path("x.ptx"), Path("x.cubin"))
    assert "-G" not in plain.ptx_command(fake_nvcc.compiler, Path("x.ptx"))
