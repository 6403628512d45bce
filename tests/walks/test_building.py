"""What cannot be compiled costs its own rows, with the reason; the rest of the run goes on."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelbench.cli.progress import ConsoleProgress
from kernelbench.runs.results import Run
from kernelbench.walks.request import Request
from kernelbench.walks.run import run as run_walk
from tests.conftest import Project


def measured(project: Project, names: str = "good, broken, compiled", *own: Path) -> Run:
    suite = project.suite(names, "[8]")
    (answer,) = run_walk(Request((str(suite),), quick=True, kernels=own), ConsoleProgress())
    return answer.run


def reasons(run: Run) -> dict[str, set[str]]:
    """Of each implementation; what went well has ''."""
    found: dict[str, set[str]] = {}
    for row in run.rows:
        found.setdefault(row.implementation, set()).add("" if row.status == "ok" else row.reason)
    return found


def no_text(path: Path) -> None:
    path.write_bytes(b"// \xff\xfe REFUSE\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (no_text, "broken.cu:7: error: identifier"),
        (lambda path: path.write_text("KILLED\n"), "nvcc was ended by signal 9; memory may have run out"),
        (lambda path: path.write_text("FULL\n"), "No space left on device; free disk space"),
    ],
)
def test_a_source_that_nvcc_cannot_take_costs_its_rows(
    project: Project, change: Callable[[Path], object], said: str
) -> None:
    change(project.root / "kernels" / "softmax" / "broken.cu")
    found = reasons(measured(project))
    assert found.pop("broken").pop().count(said) == 1
    assert found == {"good": {""}, "compiled": {""}}


def test_a_path_that_nvcc_would_take_apart_costs_its_rows(project: Project) -> None:
    own = project.root / "mine, and $HOME"
    (own / "softmax").mkdir(parents=True)
    for path in (project.root / "kernels" / "softmax").glob("broken.*"):
        shutil.move(path, own / "softmax" / path.name)
    found = reasons(measured(project, "good, compiled", own))
    assert "nvcc cannot be given a path with" in found.pop("broken").pop()
    assert found == {"good": {""}, "compiled": {""}}


def test_a_nvcc_that_vanishes_costs_what_is_compiled(project: Project) -> None:
    project.compiler.path.unlink()
    found = reasons(measured(project))
    assert "nvcc cannot be started: " in found["broken"].pop()
    assert "nvcc cannot be started: " in found["compiled"].pop()
    assert found["good"] == {""}, "a library's call needs no compiler"


def test_what_was_built_before_needs_no_nvcc(project: Project) -> None:
    measured(project)
    project.compiler.path.unlink()
    assert reasons(measured(project))["compiled"] == {""}
