"""How an error of others becomes the reason of a row, the order of mistakes, and advice on a full disk."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelbench.core.errors import DeviceError, Problem, ProblemsError, full_disk_advice, reason_of, with_cause


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            ValueError("\x1b[91m\x1b[1merror[X]:\x1b[0m failed (1)\n\n   Keep\n   it small."),
            "ValueError: error[X]: failed (1) Keep it small.",
        ),
        (MemoryError("of 3 GB"), "out of memory: of 3 GB"),
        (DeviceError("one:\n  two"), "one:\n  two"),
    ],
)
def test_a_reason_has_no_colours_and_one_line(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason


def test_a_library_error_names_what_it_was_raised_from() -> None:
    bare, same = ValueError("no baseline"), ValueError("lowering: no attribute 'f'")
    root, between = AttributeError("no attribute 'f'"), RuntimeError("lowering")
    between.__cause__, same.__cause__ = root, root
    assert (with_cause(bare), with_cause(same)) == ("no baseline", "lowering: no attribute 'f'")
    bare.__cause__ = between
    assert with_cause(bare) == "no baseline; caused by AttributeError: no attribute 'f'"
    root.__cause__ = between  # as `raise .. from ..` may leave it
    assert with_cause(bare) == "no baseline; caused by AttributeError: no attribute 'f'"


def test_mistakes_are_told_by_line_and_those_of_one_line_as_they_were_found() -> None:
    found = [("b", 1, "x"), ("a", 2, "10 is wrong"), ("a", 1, "y"), ("a", 2, "9 is wrong"), ("a", 2, "1 more")]
    error = ProblemsError([Problem(Path(path), line, text) for path, line, text in found])
    assert str(error).splitlines() == ["a:1: y", "a:2: 10 is wrong", "a:2: 9 is wrong", "a:2: 1 more", "b:1: x"]


@pytest.mark.parametrize(
    ("log", "free", "advised"),
    [
        ("x: fatal error: No space left on device", 2**40, True),
        ("", 0, True),
        ("x.cu(3): warning: declared but never used", 0, True),
        ("collect2: error: ld returned 1 exit status", 2**20, True),
        ("", 2**40, False),
        ("x.cu(3): error: identifier is undefined", 0, False),
        ("nvcc fatal   : unknown option", 0, False),
    ],
)
def test_a_compiler_that_a_full_disk_made_silent_is_told_from_one_that_says_why(
    log: str, free: int, monkeypatch: pytest.MonkeyPatch, *, advised: bool
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    advice = full_disk_advice(log, Path("/cache"))
    assert ("; free disk space, or name another folder in KERNELBENCH" in advice) == advised
    assert ("/cache is full or nearly so" in advice) == (advised and "No space" not in log)
    assert bool(advice) == advised


def test_a_folder_that_is_gone_is_no_full_disk(tmp_path: Path) -> None:
    assert full_disk_advice("", tmp_path / "gone") == ""
