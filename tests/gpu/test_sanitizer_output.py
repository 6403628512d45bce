"""Reports of compute-sanitizer are read as they are written, and what is no clean report is never taken for one."""

import stat
import sys
from pathlib import Path

import pytest

from tests.gpu import sanitizer
from tests.gpu.sanitizer import NoSummary, Refused, parse
from tests.processes import ROOT

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
CLEAN_RACE = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
OUT_OF_BOUNDS = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at planted_out_of_bounds(const float *, float *)+0x70 in planted.cu:4
=========     by thread (63,0,0) in block (0,0,0)
=========     Access at 0x7f21e2a002fc is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f21e2a00200 of size 252 bytes
=========
========= Target application returned an error
========= ERROR SUMMARY: 1 error
"""
RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at log_softmax_paddle_as_published_f32+0x90 in paddle_as_published.cu:21
=========     and Read access at log_softmax_paddle_as_published_f32+0xa0 in paddle_as_published.cu:27 [508 hazards]
=========
========= Warning: Race reported between Write access at void reduce_sum_volatile<float>(const T1 *, float *, long long)+0x2f0 in tree_unrolled_as_published.cu:36
=========     and Read access at void reduce_sum_volatile<float>(const T1 *, float *, long long)+0x2e0 in tree_unrolled_as_published.cu:36 [124 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""  # noqa: E501
REFUSED = """\
========= COMPUTE-SANITIZER
========= Error: Device not supported. Please refer to the "Supported Devices" section of the sanitizer documentation
=========
========= ERROR SUMMARY: 1 error
"""


@pytest.mark.parametrize("tool", sanitizer.TOOLS)
def test_clean(tool: str) -> None:
    report = parse(tool, CLEAN_RACE if tool == "racecheck" else CLEAN)
    assert report.clean
    assert (report.errors, report.warnings, report.text) == (0, 0, "")


def test_an_error_is_counted_and_named() -> None:
    report = parse("memcheck", OUT_OF_BOUNDS)
    assert (report.errors, report.warnings, report.clean) == (1, 0, False)
    assert report.names({"planted_out_of_bounds", "planted_race"}) == {"planted_out_of_bounds"}
    assert report.text.splitlines()[0] == "Invalid __global__ write of size 4 bytes"


PROBE = """\
========= Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to "invalid argument" on CUDA API call to cuGetProcAddress_v2.
=========
"""  # noqa: E501


@pytest.mark.parametrize(("summary", "clean"), [("2 errors", True), ("3 errors", False)])
def test_failed_calls_of_the_driver_are_no_errors_of_kernels(summary: str, clean: bool) -> None:
    assert parse("initcheck", 2 * PROBE + CLEAN.replace("0 errors", summary)).clean == clean


@pytest.mark.parametrize("summary", ["1 error", "4 errors"])
def test_what_a_kernel_does_is_an_error_beside_failed_calls(summary: str) -> None:
    """Whether the summary counts failed calls or not."""
    log = 3 * PROBE + OUT_OF_BOUNDS.replace("1 error\n", f"{summary}\n")
    assert parse("memcheck", log).errors == 1


@pytest.mark.parametrize("errors", [2, 153])
def test_errors_that_are_not_printed_are_not_counted_twice(errors: int) -> None:
    more = "========= ERROR SUMMARY: 100 errors were not printed. Use --print-limit option to adjust\n"
    log = CLEAN.replace("0 errors", f"{errors} errors")
    assert parse("initcheck", log + more).errors == errors


def test_hazards_of_both_severities() -> None:
    report = parse("racecheck", RACE)
    assert (report.errors, report.warnings, report.clean) == (1, 1, False)
    specimens = {"paddle_as_published", "tree_unrolled_as_published", "ft_as_published"}
    assert report.names(specimens) == specimens - {"ft_as_published"}


def test_a_warning_alone_is_not_clean() -> None:
    log = CLEAN_RACE.replace("0 hazards displayed (0 errors, 0 warnings)", "1 hazard displayed (0 errors, 1 warning)")
    report = parse("racecheck", log)
    assert (report.errors, report.warnings, report.clean) == (0, 1, False)


def test_a_hazard_without_severity_is_not_clean() -> None:
    assert not parse("racecheck", CLEAN_RACE.replace("0 hazards", "3 hazards")).clean


@pytest.mark.parametrize(
    ("tool", "log"),
    [
        ("memcheck", "========= COMPUTE-SANITIZER\n"),
        ("memcheck", CLEAN_RACE),
        ("racecheck", CLEAN),
        ("synccheck", "ERROR SUMMARY: 0 errors\n"),  # the program's own words
        ("initcheck", ""),
    ],
)
def test_without_its_summary_nothing_is_known(tool: str, log: str) -> None:
    with pytest.raises(NoSummary, match=f"{tool} ended without its summary"):
        parse(tool, log)


@pytest.mark.parametrize("tool", sanitizer.TOOLS)
def test_a_device_that_the_tool_does_not_know(tool: str) -> None:
    with pytest.raises(Refused, match="Device not supported"):
        parse(tool, REFUSED)


FAKE = """\
#!{python}
import subprocess, sys
arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("NVIDIA (R) Compute Sanitizer\\nVersion 2025.3.1.0 (build 36398880) (public-release)")
    sys.exit()
log = arguments[arguments.index("--log-file") + 1]
open(log, "w").write({log!r})
sys.exit(subprocess.run(arguments[arguments.index("--") + 1:]).returncode)
"""


def fake(folder: Path, log: str) -> Path:
    path = folder / "compute-sanitizer"
    path.write_text(FAKE.format(python=sys.executable, log=log))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def ends_with(code: int) -> list[str]:
    return ["--", sys.executable, "-c", f"print('the last words'); raise SystemExit({code})"]


def test_a_program_that_ends_well(tmp_path: Path) -> None:
    program = fake(tmp_path, CLEAN)
    report = sanitizer.run(program, "memcheck", ends_with(0), tmp_path / "log", 60)
    assert report.clean
    assert report.seconds > 0
    assert report.said == "the last words\n"
    assert sanitizer.version(program) == "2025.3.1.0"


def test_a_clean_report_of_a_program_that_failed_is_none(tmp_path: Path) -> None:
    with pytest.raises(NoSummary, match=r"(?s)the program ended with 3.*the last words"):
        sanitizer.run(fake(tmp_path, CLEAN), "memcheck", ends_with(3), tmp_path / "log", 60)


SAID = """\
built/module.py:3: UserWarning: slow
softmax ft shape=2x3x33x33 axis=-1 dtype=float16
relu packed shape=4160 axis=-1 dtype=float32
Traceback (most recent call last):
  File "sanitizer_script.py", line 178, in main
cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorIllegalAddress: an illegal memory access was encountered

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "sanitizer_script.py", line 178, in main
kernelbench.core.errors.DeviceLost: illegal address
Exception ignored in: 'cupy.cuda.function.Module.__dealloc__'
cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_ILLEGAL_ADDRESS
"""
FLOOD = (
    200 * "Exception ignored in: 'cupy.cuda.function.Module.__dealloc__'\nCUDADriverError: CUDA_ERROR_ILLEGAL_ADDRESS\n"
)
PLACE = "relu packed shape=4160 axis=-1 dtype=float32: memcheck: the program ended with 1\n"


def test_the_launch_comes_first_then_its_error_and_the_first_report(tmp_path: Path) -> None:
    second = OUT_OF_BOUNDS.replace("63,0,0", "64,0,0")
    words = ["--", sys.executable, "-c", f"print({SAID + FLOOD!r}); raise SystemExit(1)"]
    with pytest.raises(NoSummary) as ended:
        sanitizer.run(fake(tmp_path, PROBE + OUT_OF_BOUNDS + second), "memcheck", words, tmp_path / "log", 60)
    told = str(ended.value)
    error, report = told.removeprefix(PLACE).split("Invalid __global__ write of size 4 bytes\n")
    assert told.startswith(PLACE)
    assert [line.strip() for line in error.splitlines()] == [line.strip() for line in SAID.splitlines()[3:6]]
    assert "by thread (63,0,0)" in report
    assert report.splitlines()[-1].endswith("allocation at 0x7f21e2a00200 of size 252 bytes")


def test_a_launch_that_says_no_error_is_named_with_what_follows_it() -> None:
    launches = "".join(SAID.splitlines(keepends=True)[1:3])
    assert sanitizer.where_it_ended("memcheck took more than 9 s", f"{launches}words\n", "") == (
        "relu packed shape=4160 axis=-1 dtype=float32: memcheck took more than 9 s\nwords"
    )
    assert sanitizer.where_it_ended("x", "no plan\n", CLEAN_RACE) == "before the first launch: x\nno plan"


def test_without_a_summary_the_launch_is_named_too(tmp_path: Path) -> None:
    words = ["--", sys.executable, "-c", f"print({SAID!r})"]
    with pytest.raises(NoSummary, match=r"^relu packed .*: initcheck ended without its summary\nTraceback"):
        sanitizer.run(fake(tmp_path, "========= COMPUTE-SANITIZER\n"), "initcheck", words, tmp_path / "log", 60)


SCRIPT = """\
import atexit
from types import SimpleNamespace as Some
from tests.gpu import sanitizer_script as script

class Device:
    properties = Some(architecture="sm_90")
    def launch(self, job, binary):
        if job.case.key.startswith("shape=2 "):
            raise RuntimeError("illegal address")

def job(size):
    names = Some(operation="relu", key=f"shape={{size}} axis=-1 dtype=float32")
    return Some(case=names, implementation=Some(name="packed"), request=str, plan=Some(launches=[1], host=None))

atexit.register(print, "unloaded")
script.exact_device, script.built = Device, lambda chosen, architecture: {{"sm_90": None}}
script.jobs = lambda what, properties: [job(size) for size in (1, 2, 3)]
script.main({what!r}, "counts.json")
"""


@pytest.mark.parametrize(("what", "unloads"), [("kernels", False), ("memcheck", True)])
def test_kernels_end_at_the_first_launch_that_fails(
    what: str, unloads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    words = ["--", sys.executable, "-c", SCRIPT.format(what=what)]
    with pytest.raises(NoSummary, match=r"^relu packed shape=2 axis=-1 dtype=float32: .* ended with 1\nTraceback"):
        sanitizer.run(fake(tmp_path, CLEAN), "memcheck", words, tmp_path / "log", 60)
    said = sanitizer.run(fake(tmp_path, CLEAN), "memcheck", words, tmp_path / "log", 60, False).said
    assert "RuntimeError: illegal address" in said
    assert ("unloaded" in said) == unloads
    assert "shape=3" not in said


def test_a_fault_may_end_the_program(tmp_path: Path) -> None:
    report = sanitizer.run(fake(tmp_path, OUT_OF_BOUNDS), "memcheck", ends_with(3), tmp_path / "log", 60, False)
    assert report.errors == 1


def test_too_long(tmp_path: Path) -> None:
    command = ["--", sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(NoSummary, match=r"took more than 0\.5 s"):
        sanitizer.run(fake(tmp_path, CLEAN), "initcheck", command, tmp_path / "log", 0.5)


def test_beside_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    compiler = tmp_path / "nvcc"
    compiler.touch()
    assert sanitizer.find(compiler) is None
    assert sanitizer.find(fake(tmp_path, CLEAN).with_name("nvcc")) == tmp_path / "compute-sanitizer"
