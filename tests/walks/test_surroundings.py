"""What the user's folders, variables and limits may be like."""

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from kernelbench.build import find_compiler
from kernelbench.cli import doctor
from kernelbench.cli.invoking import invoke
from kernelbench.core import places
from kernelbench.core.errors import DeviceError, InputError, ResultsError
from kernelbench.simt import device_memory, native
from tests.endings import ended
from tests.fake_gpu import raising
from tests.processes import python

DRAWN = """
from kernelbench.report import style
style.load_matplotlib()
import matplotlib
from matplotlib.figure import Figure
assert style.png(Figure()).startswith(b"\\x89PNG")
print(matplotlib.get_backend(), matplotlib.rcParams["font.size"])
"""


def test_charts_are_drawn_whatever_matplotlib_is_told(tmp_path: Path) -> None:
    """By the current folder, by the user's own folder, and by a notebook."""
    (tmp_path / "own").mkdir()
    for folder in (tmp_path, tmp_path / "own"):
        (folder / "matplotlibrc").write_bytes(b"font.size: 30\n\xff\xfe\n")
    told = {"MPLBACKEND": "module://nobody.backend", "MPLCONFIGDIR": str(tmp_path / "own")}
    done = python("-c", DRAWN, cwd=tmp_path, **told)
    assert (done.returncode, done.stdout.lower()) == (0, "agg 10.0\n"), done.stderr


def test_libraries_keep_what_they_make_in_our_cache_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELBENCH_CACHE", str(tmp_path))
    monkeypatch.setenv("MPLCONFIGDIR", "/mine")
    monkeypatch.delenv("CUPY_CACHE_DIR", raising=False)
    places.share_cache()
    assert os.environ["CUPY_CACHE_DIR"] == str(tmp_path / "cupy")
    assert os.environ["MPLCONFIGDIR"] == "/mine"


def limit_addresses(monkeypatch: pytest.MonkeyPatch, fits: int) -> list[int]:
    """As under `ulimit -v`; the sizes that are asked for."""
    real, asked = mmap.mmap, []

    def limited(number: int, size: int, **options: Any) -> mmap.mmap:
        asked.append(size)
        if size > fits:
            raise OSError(12, "Cannot allocate memory")
        return real(number, size, **options)

    monkeypatch.setattr(device_memory.mmap, "mmap", limited)
    return asked


@pytest.mark.parametrize("fits", [1 << 33, 1 << 31, 1 << 29])
def test_the_simulator_leaves_addresses_to_others(fits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = limit_addresses(monkeypatch, fits)
    _, size = device_memory._reserve()
    assert size == asked[-1] == fits // 2, "half of the largest power of two that fits"


def test_a_limit_that_is_too_low_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_addresses(monkeypatch, 0)
    with pytest.raises(DeviceError, match=r"cannot reserve 256 MiB of addresses; .*ulimit -v"):
        device_memory._reserve()


def test_a_compiler_may_say_its_version_in_any_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, said in (("nvcc", "\\377 release 13.0, V13.0.88"), ("cxx", "12.2 \\377")):
        (tmp_path / name).write_text(f"#!/bin/sh\nprintf '{said}\\n'\n")
        (tmp_path / name).chmod(0o755)
    assert find_compiler(tmp_path / "nvcc").version == "13.0.88"
    monkeypatch.setenv("CXX", str(tmp_path / "cxx"))
    assert native.compiler_text().startswith("cxx 12.2")


def test_doctor_goes_on_where_there_is_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "cache", raising(InputError("no home folder")))
    (found,) = [one for one in doctor.diagnose() if one.what == "build cache"]
    assert (found.fine, found.text) == (False, "no home folder")


def test_a_page_that_cannot_be_written_keeps_no_suite_from_being_run(
    project: Any, command: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = ResultsError("page.html: cannot write (No space left on device)")
    monkeypatch.setattr("kernelbench.walks.report.report", raising(full))
    suites = [project.suite("good, other", name=name) for name in ("first", "second")]
    out, err = ended(2, command("run", *suites, "--device", "cuda", "--quick", "--filter", "columns=8"))
    assert err.count("page.html: cannot write") == 2
    assert [run.name.rpartition("-")[2] for run in project.runs] == ["first", "second"]
    assert out.count("results.csv") == 2


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")])
def test_what_a_low_limit_ends_is_told(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    group = click.Group(callback=raising(error), commands={"go": click.Command("go", callback=lambda: None)})
    assert invoke(group, ["go"]) == 2
    assert f"{error or 'out of memory'}: raise the limit on memory" in capsys.readouterr().err
