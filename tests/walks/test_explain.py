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
from kernelbench.core.errors import DeviceError, NoCounters
from kernelbench.core.hardware_counters import ProfiledLaunch
from kernelbench.explain.findings import CaseExplanation
from kernelbench.measure.profiling import reports
from kernelbench.measure.profiling.passes import Profiled
from kernelbench.report.explanation import run_explanations
from kernelbench.runs.results import read_run, without_twins
from kernelbench.walks import explain as walk
from kernelbench.walks.explain import explain as explain_walk
from kernelbench.walks.report import report
from kernelbench.walks.request import Request
from kernelbench.walks.run import run as run_walk
from tests.conftest import Command, Project
from tests.endings import ended
from tests.fake_gpu import raising
from tests.fake_simulator import FakeSimulator


def explain(suite: Path, **options: Any) -> list[CaseExplanation]:
    shown = {name: options.pop(name) for name in ("lines", "measured") if name in options}
    return list(explain_walk(Request((str(suite),), **options), None, ConsoleProgress(), **shown))


def test_every_case_is_counted_and_explained(project: Project, simulator: FakeSimulator) -> None:
    found = explain(project.suite("compiled, good"))
    assert [one.case.split()[0] for one in found] == ["columns=8", "columns=16", "columns=32"]
    first, _, last = found
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
    assert found[0].missing["compiled"] == reason


def test_samples_say_so_and_full_runs_all(project: Project, simulator: FakeSimulator) -> None:
    simulator.ranges = np.zeros((0, 2), np.int64)
    (found, *_) = explain(project.suite("compiled, good"), full=True)
    assert simulator.full
    assert found.counted["compiled"].sampled == "sampled 8 of 100 blocks"


def test_source_lines_only_where_asked_for(
    project: Project, simulator: FakeSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(project.root / "kernels" / "softmax" / "compiled.cu")
    launch = LaunchCounters("k", Counters(warp_instructions=5), {(source, 2): Counters(warp_instructions=5)}, 1, 1)
    monkeypatch.setattr(simulator, "counts", lambda executable: (launch,))
    suite = project.suite("compiled, good")
    assert explain(suite)[0].listings == ()
    (listing,) = explain(suite, lines=True)[0].listings
    assert [(line.number, line.text) for line in listing.lines] == [(2, "// fine")]


def test_explain_on_the_command_line(project: Project, simulator: FakeSimulator, command: Command) -> None:
    suite = project.suite("compiled, good")
    out, _ = ended(0, command("explain", suite, "--filter", "columns=16"))
    assert "10 sectors per load request where 4 would do" in out
    assert "good: not counted" in out
    assert "takes at least" in out
    assert max(map(len, out.splitlines())) <= 100
    out, _ = ended(0, command("explain", suite, "--filter", "columns=16", "--format", "json"))
    assert json.loads(out)[0]["implementations"]["compiled"]["metrics"]["load_sectors"] == 10
    out, said = ended(1, command("explain", suite, "--filter", "columns=16", "--only", "good"))
    assert "no counter differs" not in out
    assert "Nothing was counted; the reasons are above." in said


def test_unknown_gpu_is_named(project: Project, simulator: FakeSimulator, command: Command) -> None:
    _, error = ended(2, command("explain", project.suite("compiled, good"), "--gpu", "h999"))
    assert "unknown GPU" in error


def test_a_simulated_run_is_explained_by_its_own_counters(project: Project, simulator: FakeSimulator) -> None:
    (answer,) = run_walk(Request((str(project.suite("compiled, good")),)), ConsoleProgress())
    cases, source = run_explanations(answer.run, answer.ledger)
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
    cases, source = run_explanations(answer.run, answer.ledger)
    assert source == "the recorded simulator run of this suite"
    assert [case.case.split()[0] for case in cases] == ["columns=8"]
    empty = replace(answer.run, environment={**answer.run.environment, "suite": "another"})
    assert run_explanations(empty, answer.ledger) == ([], "")


RECORDED = [path for path in places.RECORDED.glob("h200/*") if (places.RECORDED / "simulated" / path.name).is_dir()]


@pytest.mark.skipif(not RECORDED, reason="no recorded run of the simulator beside one of an H200")
@pytest.mark.parametrize("folder", RECORDED, ids=lambda path: path.name)
def test_no_measured_time_is_below_its_bound(folder: Path) -> None:
    run = without_twins(read_run(folder))
    cases, _ = run_explanations(run, read_ledger(places.LEDGER))
    shortest: dict[tuple[str, str], float] = {}
    for row in run.rows:
        if row.cache == "cold" and row.status == "ok" and row.min_s is not None:
            key = row.case, row.implementation
            shortest[key] = min(row.min_s, shortest.get(key, row.min_s))
    bounds = {(case.case, name): limit for case in cases for name, limit in case.bounds.items()}
    both = set(bounds) & set(shortest)
    assert both
    assert {key: str(bounds[key]) for key in both if bounds[key].seconds > shortest[key]} == {}


# ---- Hardware counters ----


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, simulator: FakeSimulator) -> dict[str, Any]:
    """A GPU that is like the one planned for; `why` says why it gives no counters."""
    found: dict[str, Any] = {"why": "", "asked": []}

    def gpu_to_profile(gpu: str | None) -> tuple[str, dict[str, str]]:
        found["asked"].append(gpu)
        if found["why"]:
            raise NoCounters(found["why"])
        return "h100", {"name": "NVIDIA H100 80GB HBM3"}

    def profiled(plans: Any, request: Any, progress: Any) -> Profiled:
        values = {"global_load_sectors": 90.0}
        launch = ProfiledLaunch("k", "k", (1, 1, 1), (32, 1, 1), values, stalls={"barrier": 3.0})
        names = [(plan.case.key, one.implementation.name) for plan in plans for one in plan.planned]
        return Profiled(dict.fromkeys(names, (launch,)), 1.0)

    monkeypatch.setattr(walk, "gpu_to_profile", gpu_to_profile)
    monkeypatch.setattr(walk, "profile_plans", profiled)
    return found


def test_measured_counters_stand_beside_the_simulators(
    project: Project, here: dict[str, Any], command: Command
) -> None:
    suite = project.suite("compiled, good", "[8]")
    code, out, _ = command("explain", suite, "--measured")
    assert code == 0
    assert "90 (100)" in out
    assert "compiled: warps wait for a barrier of its block in 3.0 of 3.0 cycles per instruction." in out
    assert "agree on 0 of 1 counters of 1 launch. The others: 1 unexplained." in out
    (line,) = [line for line in out.splitlines() if line.startswith("  ncu ") and "--only compiled" in line]
    assert line.endswith("--in-process --quick --cache cold --no-report")
    found = json.loads(command("explain", suite, "--measured", "--format", "json")[1])
    assert [one["agreement"] for one in found[0]["hardware"]] == ["", "unexplained"]
    assert "hardware" not in json.loads(command("explain", suite, "--format", "json")[1])[0]


def test_plans_are_those_of_the_gpu_that_is_here(project: Project, here: dict[str, Any]) -> None:
    assert explain(project.suite("compiled, good", "[8]"), measured=True)[0].launches
    assert here["asked"] == [None]


def test_without_hardware_counters_the_explanation_goes_on(
    project: Project, here: dict[str, Any], command: Command
) -> None:
    here["why"] = "there is no ncu; install it"
    code, out, _ = command("explain", project.suite("compiled, good", "[8]"), "--measured")
    assert code == 0
    assert "Hardware counters were not read: there is no ncu; install it." in out
    assert "Counters of the simulator, in brackets" in out
    assert "(100)" in out


def test_a_report_or_a_suite_is_explained(project: Project, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in ((), (project.suite("compiled, good"), "--ncu-rep", "a.ncu-rep")):
        code, _, err = command("explain", *words)
        assert (code, "name a suite, or a report with --ncu-rep" in err) == (2, True)
    launch = ProfiledLaunch("k", "k", (1, 1, 1), (32, 1, 1), {"l2_bytes": 64.0}, {"local_load_sectors": "no"})
    monkeypatch.setattr(reports, "read_report", lambda path: (launch,))
    code, out, _ = command("explain", "--ncu-rep", "a.ncu-rep")
    assert (code, "a.ncu-rep: 1 kernel" in out, "64.0 B" in out) == (0, True, True)
    assert "Not in this report: local load sectors." in out
    assert json.loads(command("explain", "--ncu-rep", "a.ncu-rep", "--format", "json")[1])[0]["case"] == "a.ncu-rep"
    assert command("explain", "--ncu-rep", "a.ncu-rep", "--format", "csv")[1].startswith("report,kernel,grid,block,")
