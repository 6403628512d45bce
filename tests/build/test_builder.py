import shlex
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernelbench.build import BuildRequest
from kernelbench.build.builder import first_error
from kernelbench.core.errors import BuildError
from kernelbench.core.records import Binary


def test_a_kernel_is_compiled_once_and_found_again(fake_nvcc, kernel):
    request = kernel()
    first = fake_nvcc.built(request, request)
    assert len(fake_nvcc.calls) == 2, "PTX, then cubin"
    second = fake_nvcc.built(request)

    assert len(fake_nvcc.calls) == 2
    assert (first.cached, second.cached) == (False, True)
    assert second.facts == first.facts
    assert first.facts["k"].registers == 29
    assert first.facts["k"].parameter_loads == (1, 0)
    assert second.path.read_bytes()
    assert second.ptx_path.name == "source.ptx"


def test_nvcc_gets_flags_defines_and_both_include_folders(fake_nvcc, kernel, tmp_path):
    request = kernel(defines=(("PACK", 2), ("TYPE", "__half")))
    fake_nvcc.build(request)
    ptx, cubin = (call.split() for call in fake_nvcc.calls)
    assert ptx[:5] == ["-ptx", "-arch=sm_90", "-O3", "-std=c++17", "-lineinfo"]
    assert f"-I{tmp_path / 'kernels'}" in ptx
    assert ptx.index("-DPACK=2") < ptx.index("-DTYPE=__half")
    assert ptx[ptx.index("-Xcompiler") + 1].startswith("-MD,-MF,")
    assert cubin[:5] == ["-cubin", "-arch=sm_90", "-lineinfo", "-Xptxas", "-v"]


def test_a_refused_kernel_stops_no_other(fake_nvcc, kernel, tmp_path):
    bad, good = kernel("REFUSE\n", "bad"), kernel(name="good")
    results = fake_nvcc.build(bad, good)
    assert isinstance(results[good], Binary)
    error = results[bad]
    assert isinstance(error, BuildError)
    first, command = str(error).splitlines()
    assert first == f'{bad.source}:7: error: identifier "REFUSE" is undefined'
    assert command.strip() == f"command: {shlex.join(error.command)}"
    assert "warning #177-D" in error.log
    assert [path.name for path in (tmp_path / "cache").glob("*/*")] == [results[good].key]


def test_progress_names_each_request_once(fake_nvcc, kernel):
    requests = [kernel(f"// {name}\n", name) for name in ("a", "b", "c")]
    seen = []
    results = fake_nvcc.build(*requests, requests[0], jobs=2, on_done=lambda *said: seen.append(said))
    assert [(done, total) for _, _, done, total in seen] == [(1, 3), (2, 3), (3, 3)]
    assert {request: result for request, result, _, _ in seen} == results
    assert list(results) == requests, "in the order asked for"


def test_a_compiler_that_hangs_is_ended(fake_nvcc, kernel, tmp_path):
    start = time.monotonic()
    error = fake_nvcc.refused(kernel("SLEEP\n"), timeout_s=0.5)
    assert time.monotonic() - start < 10
    assert str(error).startswith("nvcc did not finish within 0.5 s and was ended\n  command: ")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_process_that_a_compiler_left_behind_is_not_waited_for(fake_nvcc, kernel):
    start = time.monotonic()
    error = fake_nvcc.refused(kernel("DAEMON\n"), timeout_s=0.5)
    assert time.monotonic() - start < 5
    assert str(error).startswith("nvcc did not finish within 0.5 s")


def test_a_compiler_that_ended_is_not_waited_for_because_a_child_holds_its_output(fake_nvcc, kernel):
    start = time.monotonic()
    fake_nvcc.built(kernel("LEFT\n"))  # and is fine
    assert time.monotonic() - start < 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("KILLED\n", "nvcc was ended by signal 9"),
        ("CICC\n", "nvcc error   : 'cicc' died due to signal 9 (Kill signal)"),
    ],
)
def test_a_compiler_that_is_killed_costs_its_kernel_alone(fake_nvcc, kernel, text, said):
    bad, good = kernel(text, "bad"), kernel(name="good")
    results = fake_nvcc.build(bad, good, jobs=2)
    assert isinstance(results[good], Binary)
    assert isinstance(results[bad], BuildError)
    assert str(results[bad]).splitlines()[0].startswith(f"{said}; memory may have run out: ")
    assert len([call for call in fake_nvcc.calls if "bad.cu" in call]) == 2, "it was tried once more"


def test_a_compiler_that_was_killed_beside_others_is_tried_again_alone(fake_nvcc, kernel):
    requests = [kernel(f"KILLED ONCE {name}\n", name) for name in ("a", "b")] + [kernel()]
    seen = []
    results = fake_nvcc.build(*requests, jobs=2, on_done=lambda one, *rest: seen.append((one, rest)))
    assert all(isinstance(result, Binary) for result in results.values())
    assert sorted(done for _, (_, done, _) in seen) == [1, 2, 3]
    assert {one for one, _ in seen} == set(requests)


def test_a_full_disk_that_nvcc_meets_is_told_with_what_to_do(fake_nvcc, kernel):
    first = str(fake_nvcc.refused(kernel("FULL\n"))).splitlines()[0]
    assert first.startswith("<built-in>: fatal error: when writing output to ")
    assert first.endswith("No space left on device; free disk space, or name another "
                          "folder in KERNELBENCH_CACHE")  # fmt: skip


def test_a_full_disk_that_keeps_nvccs_words_from_being_written_is_told_too(fake_nvcc, kernel, tmp_path, monkeypatch):
    said = "nvcc ended with status 1 and said nothing"
    assert str(fake_nvcc.refused(kernel("SILENT\n"))).splitlines()[0] == said
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=0))
    first = str(fake_nvcc.refused(kernel("SILENT\n"))).splitlines()[0]
    assert first.startswith(f"{said}; the disk of {tmp_path / 'cache'} is full or nearly so; free disk space, ")


@pytest.mark.parametrize(
    ("target", "advice"), [("sm_70", "name one of CUDA 12 with --nvcc"), ("sm_130", "a newer one")]
)
def test_a_gpu_that_nvcc_does_not_know_is_told_with_what_to_do(fake_nvcc, kernel, target, advice):
    first = str(fake_nvcc.refused(kernel(f"TARGET {target}\n"))).splitlines()[0]
    assert first.startswith(f"nvcc fatal   : Unsupported gpu architecture '{target}'; ")
    assert advice in first


def test_ctrl_c_ends_the_compilers_and_leaves_nothing(fake_nvcc, kernel, tmp_path):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    sleeping = [kernel(f"SLEEP {name}\n", name) for name in ("a", "b", "c")]
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fake_nvcc.build(kernel(), *sleeping, jobs=2, on_done=interrupt)
    assert time.monotonic() - start < 10
    assert len(list((tmp_path / "cache").iterdir())) == 1
    assert fake_nvcc.built(kernel()).cached, "what was done is kept"
    assert not any("c.cu" in call for call in fake_nvcc.calls), "what had not begun did not begin"


def test_a_nvcc_that_cannot_be_started_is_a_build_error(fake_nvcc, kernel):
    fake_nvcc.compiler.path.write_bytes(b"\x7fELF of another machine")
    assert "nvcc cannot be started: [Errno 8] Exec format error" in str(fake_nvcc.refused(kernel()))
    fake_nvcc.compiler.path.unlink()
    assert "nvcc cannot be started: " in str(fake_nvcc.refused(kernel()))


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


@pytest.mark.parametrize(("log", "status"), [("", -9), ("Killed", 137)])
def test_a_killed_compiler_is_named(log, status):
    assert first_error(log, status) == "nvcc was ended by signal 9"


def test_a_debug_build_is_another_binary_that_nothing_was_optimised_in(fake_nvcc: Any) -> None:
    plain = BuildRequest(Path("naive.cu"), (), "sm_90")
    debug = BuildRequest(Path("naive.cu"), (), "sm_90", debug=True)
    for command in (debug.ptx_command(fake_nvcc.compiler, Path("x.ptx")), debug.shown_command(fake_nvcc.compiler)):
        assert "-G" in command
        assert "-lineinfo" not in command
    assert "-G" in debug.cubin_command(fake_nvcc.compiler, Path("x.ptx"), Path("x.cubin"))
    assert "-G" not in plain.ptx_command(fake_nvcc.compiler, Path("x.ptx"))
