"""A step of two operations through the whole walk, timed and counted: rows, sums, verdict, tables and page."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench import devices
from kernelbench.cli.progress import ConsoleProgress
from kernelbench.cli.run import show
from kernelbench.compare import step_sums
from kernelbench.compare.answer import Answer
from kernelbench.compare.counted_runs import counts_of
from kernelbench.core import places
from kernelbench.core.errors import ResultsError
from kernelbench.core.records import Arrays
from kernelbench.runs.results import read_run
from kernelbench.walks.request import Request
from kernelbench.walks.run import run as run_walk
from tests.conftest import CALLS, Command, Project, softmax
from tests.endings import ended
from tests.fake_simulator import FakeSimulator

SOFTMAX_KEY, RELU_KEY = "part=scores shape=4x8 axis=-1 dtype=float32", "part=relu shape=16 axis=-1 dtype=float32"
RELU = places.KERNELS / "relu" / "operation.py"
SUITE = """\
title: A step
step:
  - part: scores
    operation: softmax
    shape: [4, 8]
    calls: 3 * 4
    unfused: good
    fused: other
  - part: relu
    operation: relu
    shape: [16]
    calls: 5
    unfused: plain
leaves_out: all <else>
caches: cold
"""


def relu(arrays: Arrays) -> None:
    np.maximum(arrays["x"], 0, out=arrays["y"])


@pytest.fixture
def step(project: Project) -> Path:
    """The suite; `relu` has the implementations `plain` and `good`, another one than that of softmax."""
    folder = project.root / "kernels" / "relu"
    folder.mkdir()
    shutil.copy(RELU, folder)
    (folder / "calls.py").write_text(CALLS.format(role="kernel", names=("plain", "good")))
    project.device.kernels |= {
        "good": (softmax, 40e-6, 5e-6), "other": (softmax, 10e-6, 5e-6), "plain": (relu, 20e-6, 5e-6),
    }  # fmt: skip
    path = project.root / "suites" / "small_step.yaml"
    path.write_text(SUITE)
    return path


def run(step: Path, **options: Any) -> Answer:
    (answer,) = run_walk(Request((str(step),), quick=True, **options), ConsoleProgress())
    return answer


def test_every_part_is_run_by_its_own_implementations(step: Path) -> None:
    rows = run(step).run.rows
    found = dict.fromkeys((row.case, row.operation, row.implementation, row.status) for row in rows)
    assert list(found) == [
        (SOFTMAX_KEY, "softmax", "good", "ok"),
        (SOFTMAX_KEY, "softmax", "other", "ok"),
        (RELU_KEY, "relu", "plain", "ok"),
    ]


def test_calls_times_medians_add_up_on_each_side(step: Path) -> None:
    answer = run(step)
    summed = step_sums.sum_of(answer.run)
    rows = sorted(answer.run.rows, key=lambda row: row.method)  # graphs last
    medians = {row.implementation: row.median_s for row in rows if row.cache == "cold"}
    unfused, fused = summed.total("unfused"), summed.total("fused")
    assert unfused.value == pytest.approx(12 * medians["good"] + 5 * medians["plain"])
    assert fused.value == pytest.approx(12 * medians["other"]), "the fused step has no relu of its own"
    assert summed.ratio.value == pytest.approx(unfused.value / fused.value)
    assert [row.baseline for row in answer.comparison] == ["good", "good", "plain"]
    assert answer.comparison[1].speedup == pytest.approx(medians["good"] / medians["other"])


def test_the_environment_keeps_the_step_and_whose_each_name_is(step: Path) -> None:
    environment = run(step).run.environment
    assert [part["calls"] for part in environment["step"]["parts"]] == [12, 5]
    assert list(environment["implementations"]) == ["softmax/good", "softmax/other", "relu/plain"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"calls": 5', '"calls": 0', "'step' must be a mapping with leaves_out and a list of parts"),
        ('"calls": 5', '"kalls": 5', "'step' cannot be read"),
        ('"case": "part=relu', '"case": "part=gelu', "case 'part=relu shape=16 axis=-1 dtype=float32' is of none"),
    ],
)
def test_a_step_that_is_not_of_these_rows_is_refused(step: Path, old: str, new: str, said: str) -> None:
    path = run(step, out=Path("one")).run.folder / "environment.json"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(ResultsError, match=said):
        step_sums.sum_of(read_run(path.parent))


@pytest.mark.parametrize(
    ("options", "sides", "reason"),
    [
        ({"filters": ("part=scores",)}, {"unfused"}, "relu: plain is not in this run"),
        ({"only": ("good",)}, {"unfused", "fused"}, "scores: other is not in this run"),
    ],
)
def test_a_sum_is_whole_or_not_there(
    step: Path, options: dict[str, Any], sides: set[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = run(step, **options)
    summed = step_sums.sum_of(answer.run)
    assert {side for side in step_sums.SIDES if summed.total(side) is None} == sides
    assert summed.ratio is None
    assert reason in [text for side in step_sums.SIDES for text in summed.missing(side)]
    show(answer, None)
    out = " ".join(capsys.readouterr().out.split())
    assert "no sum" in out
    assert reason in out


def test_a_wrong_part_costs_the_sums_that_it_is_in(step: Path, project: Project) -> None:
    project.device.kernels["other"] = (lambda arrays: arrays["y"].fill(0), 10e-6, 5e-6)
    summed = step_sums.sum_of(run(step).run)
    assert summed.total("unfused") is not None
    assert summed.total("fused") is None
    (missing,) = summed.missing("fused")
    assert missing.startswith("scores: other: wrong (32 of 32 elements wrong")


def test_the_terminal_and_the_page_show_the_parts_the_sums_and_what_is_left_out(
    step: Path, command: Command, project: Project
) -> None:
    out, _ = ended(0, command("run", str(step), "--quick", "--out", "one"))
    said = " ".join(out.split())
    for text in ("Time per step", "softmax 4x8 float32", "Left out: all <else>", "Unfused, a step takes "):
        assert text in said
    page = (project.root / "one" / "report.html").read_text()
    for text in ("Time per step", "softmax 4x8 float32", "Left out: all &lt;else&gt;", "relu/plain", 'id="chart-step"'):
        assert text in page
    drawn = {path.name for path in (project.root / "one" / "charts").iterdir()}
    assert drawn == {"step.png", "step.svg"}, "parts of a step are no sizes of one thing"
    out, _ = ended(0, command("compare", "one"))
    assert "Speed-up over good, plain" in out
    _, err = ended(2, command("compare", "one", "--baseline", "good"))
    assert "not in one; expected one of published, unfused, fused" in err


def test_plan_build_check_and_list_take_a_step(step: Path, command: Command) -> None:
    code, out, _ = command("check", str(step), "--inputs", "normal")
    assert (code, out.count("ok")) == (0, 3)
    code, out, _ = command("check", str(step))
    assert (code, out.count("ok")) == (0, 6 * 2 + 5), "relu has no masked inputs"
    code, out, _ = command("plan", str(step))
    assert (code, out.count("library call")) == (0, 3)
    assert command("build", str(step))[0] == 0
    assert command("check", str(step), "--specimens")[0] == 0
    assert "small_step" in command("list", "suites")[1]


def test_the_simulator_adds_up_bytes(step: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeSimulator({"good": (softmax, 0.0, 0.0), "other": (softmax, 0.0, 0.0), "plain": (relu, 0.0, 0.0)})
    monkeypatch.setattr(devices, "open_device", lambda name: device)
    answer = run(step)
    summed = step_sums.sum_of(answer.run)
    assert summed.unit == "B"
    counted = counts_of(answer.run)[0]
    sectors = {name: one.counters.global_sectors for case in counted.values() for name, one in case.items()}
    unfused = summed.total("unfused")
    assert unfused.value == 32 * (12 * sectors["good"] + 5 * sectors["plain"])
