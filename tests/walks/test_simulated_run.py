"""The whole walk on a device that counts: rows without times, what of a sample is verified, comparison, page."""

import json
from typing import Any

import numpy as np
import pytest

from kernelbench.core.contracts import CountingDevice
from kernelbench.core.errors import DeviceError, InputError
from kernelbench.runs.results import read_run
from tests.conftest import Command, Project, softmax
from tests.endings import ended
from tests.fake_simulator import FakeSimulator
from tests.walks.conftest import KERNEL
from tests.walks.test_run import rows, run_suite


@pytest.fixture(autouse=True)
def nothing_is_timed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelbench.walks.run.measured_limits", lambda *arguments: pytest.fail("nothing is timed"))


def test_the_fake_keeps_the_contract(simulator: FakeSimulator) -> None:
    assert isinstance(simulator, CountingDevice)


def test_a_row_has_counts_and_a_reason_instead_of_times(project: Project, simulator: FakeSimulator) -> None:
    simulator.price["other"] = 250
    run = run_suite(project.suite("good, other"))
    assert [(row.axes, row.implementation) for row in rows(run)] == [
        (f"columns={columns}", name) for columns in (8, 16, 32) for name in ("good", "other")
    ]
    for row in rows(run):
        assert (row.status, row.check, row.reason) == ("ok", "passed", "not timed: simulated")
        assert (row.cache, row.method, row.sampled) == ("", "", "")
        assert row.median_s is None
        assert row.counters is not None
        assert row.counters.warp_instructions == simulator.price[row.implementation]
        assert row.counters.lanes_per_instruction == 32
    assert run.simulated
    assert not len(run.samples)
    assert simulator.prepared == 1
    assert run.environment["limits"] == {}
    assert run.environment["device"] == {"name": "simulated (H200 properties)", "simulator": {"threads": 2}}


def test_only_what_a_sample_wrote_is_verified(project: Project, simulator: FakeSimulator) -> None:
    def half(arrays: Any) -> None:
        good = np.empty_like(arrays["y"])
        softmax({"x": arrays["x"], "y": good})
        arrays["y"].reshape(-1)[4:20] = good.reshape(-1)[4:20]

    simulator.kernels["good"] = (half, 0.0, 0.0)
    simulator.ranges = np.array([[4, 12], [13, 20]])
    run = run_suite(project.suite("good", columns="[8]"))
    (row,) = run.rows
    assert (row.status, row.sampled) == ("ok", "8 of 100 blocks")
    assert row.reason == "not timed: simulated; sampled 8 of 100 blocks"
    assert simulator.materialised == [(3, 8)], "the inputs of the rows that were written"
    simulator.ranges = np.array([[4, 12], [13, 21]])
    (row,) = rows(run_suite(project.suite("good", columns="[8]"), out=project.root / "again"))
    assert (row.status, row.check) == ("wrong", "failed")
    assert row.reason.startswith("1 of 16 elements wrong, first y[2, 4]: got nan, expected ")


def test_a_sample_that_says_nothing_is_not_called_verified(project: Project, simulator: FakeSimulator) -> None:
    simulator.ranges = np.empty((0, 2), np.int64)
    (row,) = rows(run_suite(project.suite("good", columns="[8]")))
    assert (row.status, row.check) == ("ok", "")
    assert "nothing verified: every output of the sample depends on blocks outside it" in row.reason


def test_faults_wrong_outputs_and_libraries_have_no_counts(project: Project, simulator: FakeSimulator) -> None:
    def faulty(arrays: Any) -> None:
        raise DeviceError("k.cu:3: read of 4 bytes outside every array; block 0 warp 0 lane 1")

    simulator.kernels["other"] = (faulty, 0.0, 0.0)
    simulator.kernels["compiled"] = (lambda arrays: arrays["y"].fill(1), 0.0, 0.0)
    simulator.missing = ("third",)
    run = run_suite(project.suite("good, other, third, compiled", columns="[8]"))
    found = {row.implementation: row for row in run.rows}
    assert {name: row.status for name, row in found.items()} == {
        "good": "ok", "other": "failed", "third": "skipped", "compiled": "wrong",
    }  # fmt: skip
    assert found["other"].reason.startswith("k.cu:3: read of 4 bytes")
    assert all(row.counters is None for name, row in found.items() if name != "good")


def test_ctrl_c_keeps_the_rows_of_finished_cases(project: Project, simulator: FakeSimulator) -> None:
    def stopped(arrays: Any) -> None:
        if arrays["x"].shape[-1] == 16:
            raise KeyboardInterrupt
        softmax(arrays)

    simulator.kernels["other"] = (stopped, 0.0, 0.0)
    suite = project.suite("good, other")
    with pytest.raises(KeyboardInterrupt):
        run_suite(suite)
    (folder,) = project.runs
    assert {row.axes for row in read_run(folder).rows} == {"columns=8"}
    simulator.kernels["other"] = KERNEL
    run = run_suite(suite, resume=True)
    assert len(run.rows) == 6


def test_the_command_shows_counts_charts_and_a_page(
    project: Project, simulator: FakeSimulator, command: Command
) -> None:
    simulator.price["other"] = 250
    out, err = ended(0, command("run", project.suite("good, other")))
    assert "No GPU: simulated (H200 properties) counts what kernels do and times nothing." in err
    assert "Sectors touched, in multiples of the fewest possible" in out
    assert "Median time" not in out
    (folder,) = project.runs
    page = (folder / "report.html").read_text()
    assert "All counts" in page
    assert "All times" not in page
    charts = {path.stem for path in (folder / "charts").iterdir()}
    assert charts == {"traffic", "instructions", "lanes"}, "no chart of what nobody has"
    out, _ = ended(0, command("compare", folder, "--baseline", "good"))
    assert "No times: simulated (H200 properties) counts what kernels do" in out
    out, _ = ended(0, command("compare", folder, "--baseline", "good", "--all"))
    assert "the simulator has no times" in out
    assert "2.50x" in out
    claims = json.loads((folder / "claims.json").read_text())
    assert all(one["verdict"] == "not measured" for one in claims)


def test_how_thorough_to_be_is_told_to_the_device(project: Project, simulator: FakeSimulator, command: Command) -> None:
    assert command("check", project.suite("good"), "--device", "simulated", "--strict")[0] == 0
    assert (simulator.full, simulator.strict) == (False, True)
    assert command("run", project.suite("good"), "--no-report", "--full")[0] == 0
    assert (simulator.full, simulator.strict) == (True, False)


def test_a_gpu_refuses_what_only_the_simulator_can(project: Project) -> None:
    with pytest.raises(InputError, match=r"--full: Fake GPU runs every block"):
        run_suite(project.suite("good"), full=True)


def test_check_shows_what_was_sampled(project: Project, simulator: FakeSimulator, command: Command) -> None:
    simulator.ranges = np.array([[0, 8]])
    code, out, _ = command("check", project.suite("good", columns="[8]"))
    assert (code, "only a sample of the blocks was checked" in out, "not timed" in out) == (0, True, False)
