"""The walk of `explain` on a device that counts what it is told to count."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench import devices
from kernelbench.cli.progress import ConsoleProgress
from kernelbench.compare import read_ledger
from kernelbench.core import places
from kernelbench.core.counters import Counters, LaunchCounters
from kernelbench.core.errors import DeviceError
from kernelbench.report.explanation import explanations
from kernelbench.runs.results import read_run, without_twins
from kernelbench.walks.explain import Explained
from kernelbench.walks.explain import explain as explain_walk
from kernelbench.walks.report import report
from kernelbench.walks.request import Request
from kernelbench.walks.run import run as run_walk
from tests.conftest import Command, Project
from tests.endings import ended
from tests.fake_gpu import raising
from tests.fake_simulator import FakeSimulator


def explain(suite: Path, **options: Any) -> list[Explained]:
    lines = options.pop("lines", False)
    return list(explain_walk(Request((str(suite),), **options), None, ConsoleProgress(), lines=lines))


def test_every_case_is_counted_and_explained(project: Project, simulator: FakeSimulator) -> None:
    found = explain(project.suite("compiled, good"))
    assert [one.explanation.case.split()[0] for one in found] == ["columns=8", "columns=16", "columns=32"]
    first, _, last = (one.explanation for one in found)
    counted = first.counted["compiled"]
    assert counted.counters.warp_instructions == 100
    assert counted.least_bytes == 2 * 4 * 8 * 4
    assert counted.gpu.name == "NVIDIA H200"
    (shape,) = counted.shapes
    assert (shape.entry, shape.blocks, shape.threads, shape.array_bytes) == ("k", 1, 32, 2 * 4 * 8 * 4)
    assert {one.rule for one in first.sentences} >= {"uncoalesced loads"}
    assert first.missing == {"good": "a library call, whose kernels are not available as PTX"}
    assert last.missing["compiled"] == "columns must be at most 16, got 32"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DeviceError("k.cu:12: read outside every array"), "k.cu:12: read outside every array"),
        (MemoryError("16 GiB"), "out of memory: 16 GiB"),
        (ValueError("bad"), "ValueError: bad"),
    ],
)
def test_what_fails_is_named_and_the_rest_goes_on(
    error: Exception, reason: str, project: Project, simulator: FakeSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulator, "counts", raising(error))
    found = explain(project.suite("compiled, good"))
    assert len(found) == 3
    assert found[0].explanation.missing["compiled"] == reason


def test_samples_say_so_and_full_runs_all(project: Project, simulator: FakeSimulator) -> None:
    simulator.ranges = np.zeros((0, 2), np.int64)
    (found, *_) = explain(project.suite("compiled, good"), full=True)
    assert simulator.full
    assert found.explanation.counted["compiled"].sampled == "sampled 8 of 100 blocks"


def test_source_lines_only_where_asked_for(
    project: Project, simulator: FakeSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(project.root / "kernels" / "softmax" / "compiled.cu")
    launch = LaunchCounters("k", Counters(warp_instructions=5), {(source, 2): Counters(warp_instructions=5)}, 1, 1)
    monkeypatch.setattr(simulator, "counts", lambda executable: (launch,))
    suite = project.suite("compiled, good")
    assert explain(suite)[0].explanation.listings == ()
    (listing,) = explain(suite, lines=True)[0].explanation.listings
    assert [(line.number, line.text) for line in listing.lines] == [(2, "// fine")]


def test_explain_on_the_command_line(project: Project, simulator: FakeSimulator, command: Command) -> None:
    suite = project.suite("compiled, good")
    out, _ = ended(0, command("explain", suite, "--filter", "columns=16"))
    assert "10 sectors per load request where 4 would do" in out
    assert "good: not counted" in out
    assert "cannot be faster than" in out
    assert max(map(len, out.splitlines())) <= 100
    out, _ = ended(0, command("explain", suite, "--filter", "columns=16", "--format", "json"))
    assert json.loads(out)[0]["implementations"]["compiled"]["metrics"]["load_sectors"] == 10


def test_unknown_gpu_is_named(project: Project, simulator: FakeSimulator, command: Command) -> None:
    _, error = ended(2, command("explain", project.suite("compiled, good"), "--gpu", "h999"))
    assert "unknown GPU" in error


def test_a_simulated_run_is_explained_by_its_own_counters(project: Project, simulator: FakeSimulator) -> None:
    (answer,) = run_walk(Request((str(project.suite("compiled, good")),)), ConsoleProgress())
    cases, source = explanations(answer.run, answer.ledger)
    assert source == "this run's own counters"
    assert [list(case.counted) for case in cases] == [["compiled", "good"]] * 2 + [["good"]]
    page = report(answer, answer.run.folder / "report.html")
    assert "this run&#39;s own counters" in page.read_text()


def test_a_timed_run_is_explained_by_the_recorded_simulator_run(
    project: Project, simulator: FakeSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = places.RECORDED / "simulated" / "small"
    suite = str(project.suite("compiled, good"))
    list(run_walk(Request((suite,), out=recorded), ConsoleProgress()))
    monkeypatch.setattr(devices, "open_device", lambda name: project.device)
    (answer,) = run_walk(Request((suite,), filters=("columns=8",), quick=True), ConsoleProgress())
    cases, source = explanations(answer.run, answer.ledger)
    assert source == "the recorded simulator run of this suite"
    assert [case.case.split()[0] for case in cases] == ["columns=8"]
    empty = replace(answer.run, environment={**answer.run.environment, "suite": "another"})
    assert explanations(empty, answer.ledger) == ([], "")


RECORDED = [path for path in places.RECORDED.glob("h200/*") if (places.RECORDED / "simulated" / path.name).is_dir()]


@pytest.mark.skipif(not RECORDED, reason="no recorded run of the simulator beside one of an H200")
@pytest.mark.parametrize("folder", RECORDED, ids=lambda path: path.name)
def test_no_measured_time_is_below_its_bound(folder: Path) -> None:
    run = without_twins(read_run(folder))
    cases, _ = explanations(run, read_ledger(places.LEDGER))
    shortest: dict[tuple[str, str], float] = {}
    for row in run.rows:
        if row.cache == "cold" and row.status == "ok" and row.min_s is not None:
            key = row.case, row.implementation
            shortest[key] = min(row.min_s, shortest.get(key, row.min_s))
    bounds = {(case.case, name): limit for case in cases for name, limit in case.bounds.items()}
    both = set(bounds) & set(shortest)
    assert both
    assert {key: str(bounds[key]) for key in both if bounds[key].seconds > shortest[key]} == {}
