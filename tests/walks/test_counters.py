"""`run --counters`: a pass after the timing, which changes no row."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kernelbench import devices
from kernelbench.cli.progress import ConsoleProgress
from kernelbench.core.errors import NoCounters, NoDevice
from kernelbench.core.hardware_counters import ProfiledLaunch
from kernelbench.measure.bench import InProcessBench
from kernelbench.measure.profiling import passes
from kernelbench.measure.profiling.profiler import Profile
from kernelbench.planning.catalog import load_catalog
from kernelbench.runs.hardware_counters import read_counters
from kernelbench.runs.results import Run
from kernelbench.walks import counters
from kernelbench.walks.request import Request
from kernelbench.walks.run import run as run_walk
from tests.conftest import Command, Project
from tests.fake_gpu import softmax
from tests.fake_simulator import FakeSimulator

VALUES = {"global_load_requests": 10.0, "global_load_sectors": 100.0, "dram_read_bytes": 1280.0}


@pytest.fixture
def gpu(project: Project, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A GPU whose launches Nsight Compute records; the jobs that it got. `unavailable` says that it cannot."""
    simulator = FakeSimulator({"compiled": (softmax, 0.0, 0.0)})
    seen: dict[str, Any] = {"jobs": [], "unavailable": "", "values": dict(VALUES)}

    def profile(job: Any, ncu: Any, folder: Any, patience_s: float, advance: Any) -> Profile:
        seen["jobs"].append(job)
        launch = ProfiledLaunch("k", "k", (1, 1, 1), (32, 1, 1), seen["values"], stalls={"wait": 1.0})
        failed = {item.number: "no room" for item in job.items if item.name == "other"}
        return Profile({item.number: (launch,) for item in job.items if item.number not in failed}, failed)

    def profiler(machine: Any) -> str:
        if seen["unavailable"]:
            raise NoCounters(seen["unavailable"])
        return "ncu"

    monkeypatch.setattr(passes, "profile_items", profile)
    monkeypatch.setattr(passes, "find_profiler", profiler)
    monkeypatch.setattr(counters, "simulator_for", lambda bench, catalog: InProcessBench(simulator, load_catalog()))
    return seen


def measured(project: Project, **options: Any) -> Run:
    suite = project.suite("good, other, compiled", "[8, 32]")
    (answer,) = run_walk(Request((str(suite),), quick=True, **options), ConsoleProgress())
    return answer.run


def test_every_correct_row_is_profiled_once_and_no_time_changes(project: Project, gpu: dict[str, Any]) -> None:
    plain, run = measured(project), measured(project, counters=True)
    (job,) = gpu["jobs"]
    # `compiled` takes at most 16 columns; two caches and two methods are one item.
    assert [(item.case.shape[-1], item.name) for item in job.items] == [
        (8, "good"), (8, "other"), (8, "compiled"), (32, "good"), (32, "other"),
    ]  # fmt: skip
    assert [(row.case, row.implementation, row.cache, row.median_s) for row in run.rows] == [
        (row.case, row.implementation, row.cache, row.median_s) for row in plain.rows
    ]
    assert read_counters(plain.folder) == ()
    launches = {(one.case.split()[0], one.implementation): one for one in read_counters(run.folder)}
    assert launches["columns=8", "compiled"].agreement == "equal"
    assert launches["columns=8", "good"].reason == ("simulator: a library call, whose kernels are not available as PTX")
    assert launches["columns=8", "other"].reason.startswith("hardware: no room; simulator: ")
    assert json.loads((run.folder / "environment.json").read_text())["counters"]["seconds"] >= 0


def test_without_the_hardware_the_simulators_counts_stand_alone(project: Project, gpu: dict[str, Any]) -> None:
    gpu["unavailable"] = "the driver says no"
    run = measured(project, counters=True)
    assert run.environment["counters"] == {"unavailable": "the driver says no"}
    (compiled,) = [one for one in read_counters(run.folder) if one.implementation == "compiled"]
    assert (compiled.hardware, compiled.simulated["global_load_sectors"]) == ({}, 100)
    assert compiled.reason == "hardware: the driver says no"


def test_a_resumed_run_profiles_all_of_its_rows(project: Project, gpu: dict[str, Any]) -> None:
    run = measured(project)
    measured(project, counters=True, resume=True, out=run.folder)
    assert len(gpu["jobs"][0].items) == 5


def test_on_the_simulator_no_profiler_is_asked(
    project: Project, gpu: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    device = FakeSimulator(dict.fromkeys(("good", "other", "compiled"), (softmax, 0.0, 0.0)))
    monkeypatch.setattr(devices, "open_device", lambda name: device)
    run = measured(project, counters=True, device="simulated")
    assert gpu["jobs"] == []
    assert run.environment["counters"] == {"unavailable": passes.NO_GPU}


def test_the_screen_says_how_far_both_agree(project: Project, gpu: dict[str, Any], command: Command) -> None:
    suite = project.suite("good, compiled", "[8]")
    code, out, _ = command("run", suite, "--counters", "--quick", "--no-report")
    assert code == 0
    assert "Hardware and simulator agree on 2 of 2 counters of 1 launch." in out
    assert "Counters that differ" not in out
    gpu["values"]["global_load_sectors"] = 50.0
    _, out, _ = command("run", suite, "--counters", "--quick", "--no-report")
    assert "agree on 1 of 2 counters of 1 launch. The others: 1 unexplained." in out
    assert "Counters that differ" in out
    assert "50 / 100" in out
    gpu["unavailable"] = "there is no ncu; install it"
    _, out, _ = command("run", suite, "--counters", "--quick", "--no-report")
    assert "Hardware counters were not read: there is no ncu; install it." in out


def test_the_gpu_here_must_be_the_one_that_plans_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeSimulator({})
    monkeypatch.setattr(devices, "open_device", lambda name: device)
    key, about = passes.gpu_to_profile(None)
    assert (key, about["name"]) == ("h200", device.name)
    assert passes.gpu_to_profile("H200")[0] == "h200"
    with pytest.raises(NoCounters, match="the GPU here, NVIDIA H200, is not the one that plans are for, a100"):
        passes.gpu_to_profile("a100")
    device.properties = replace(device.properties, name="NVIDIA GeForce RTX 4060")
    with pytest.raises(NoCounters, match="RTX 4060, is not the one"):
        passes.gpu_to_profile(None)


def test_without_a_gpu_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise NoDevice("none")

    monkeypatch.setattr(devices, "open_device", absent)
    with pytest.raises(NoCounters, match="no GPU here"):
        passes.gpu_to_profile(None)
