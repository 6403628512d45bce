"""Self-tests, from the command line to the page: what they measure, keep and say, and what they leave as it was."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kernelbench import devices
from kernelbench.cli.progress import ConsoleProgress
from kernelbench.compare import noise
from kernelbench.compare.answer import judge_run
from kernelbench.compare.pairing import side_of
from kernelbench.core.errors import InputError, ResultsError
from kernelbench.core.records import Case
from kernelbench.measure.case_run import Settings
from kernelbench.measure.gpu_process import WorkerBench
from kernelbench.measure.tracks import Precision
from kernelbench.planning.case_plans import CasePlan, Planned
from kernelbench.planning.catalog import load_catalog
from kernelbench.planning.twins import find_implementation
from kernelbench.runs.results import Run, read_run, without_twins
from kernelbench.walks.request import Request
from kernelbench.walks.run import run as run_walk
from tests.conftest import CALLS, Command, Project
from tests.endings import ended
from tests.self_test_devices import SECONDS, NoisyDevice, noisy

COLUMNS = "[8, 16, 64, 256, 1024]"  # 10 µs to 6.4 ms


@pytest.fixture
def self_test(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """self_test(seed=1, twin_factor=1.0): the run as it is on disk."""
    folders = (project.root / f"self_test_{number}" for number in count())

    def make(names: str = "good, other, third", columns: str = COLUMNS, **noise: Any) -> Run:
        monkeypatch.setattr(devices, "open_device", lambda name: NoisyDevice(SECONDS, **noise))
        request = Request((str(project.suite(names, columns)),), caches=("cold",), self_test=True, out=next(folders))
        (found,) = run_walk(request, ConsoleProgress())
        return read_run(found.run.folder)

    return make


def test_every_implementation_is_timed_beside_a_twin_in_the_same_rounds(self_test: Callable[..., Run]) -> None:
    run = self_test(columns="[8, 64]")
    assert {row.implementation for row in run.rows} == {f"{name}{end}" for name in SECONDS for end in ("", ".again")}
    assert all(row.status == "ok" for row in run.rows)
    assert run.environment["self_test"]["twins"] == {f"{name}.again": name for name in SECONDS}
    rounds = run.samples.groupby(["case", "implementation", "method"])["round"].agg(set)
    for (case, name, method), own in rounds.items():
        if not name.endswith(".again"):
            assert len(own & rounds[case, f"{name}.again", method]) >= 20


def test_its_figures_are_kept_and_few_rows_are_told_apart(self_test: Callable[..., Run]) -> None:
    run = self_test()
    test = json.loads((run.folder / "environment.json").read_text())["self_test"]
    originals = [row for row in run.rows if not row.implementation.endswith(".again")]
    assert test["rows"] == len(originals) == test["same"] + test["unsure"] + test["false_verdicts"]
    assert test["false_verdicts"] == 0
    assert 0 < test["drift"] < 0.003
    assert [one["rows"] > 0 for one in test["lengths"]] == [False, True, True, True, True]
    for one in test["lengths"][1:]:
        assert 0 < one["within"] < one["detectable"] < 0.03
    assert test["lengths"][1]["detectable"] > test["lengths"][4]["detectable"], "the clock has steps"


def test_a_twin_that_is_slower_is_a_false_verdict_and_is_named(self_test: Callable[..., Run]) -> None:
    test = self_test(columns="[64]", twin_factor=1.02).environment["self_test"]
    assert test["false_verdicts"] == test["rows"] == 3
    assert test["false_rows"][0].startswith(
        "good on columns=64 shape=4x64 axis=-1 dtype=float32, cold, by events: SLOWER"
    )


def test_what_it_says_is_on_screen_and_on_the_page(
    project: Project, self_test: Callable[..., Run], command: Command
) -> None:
    folder = self_test(columns="[8, 64]").folder
    code, out, err = command("run", "suites/small.yaml", "--self-test", "--cache", "cold", "--out", "again")
    assert (code, "Median time" in out, "Published claims" in out) == (0, False, False), err
    assert "rows, each beside a twin of itself, are falsely told apart (0.00 %)" in out
    assert "Drift from the first half of the rounds to the second: 0." in out
    assert "5 µs to 20 µs" in out
    page = (project.root / "again" / "report.html").read_text()
    assert '<section id="self-test">' in page
    assert "falsely told apart" in page
    assert ".again" not in page, "no twin stands among those that were compared"
    out, _ = ended(0, command("compare", folder))
    assert "This run is a self-test, compared here without its twins." in out
    assert ".again" not in out + command("list", "kernels")[1]


def test_comparison_and_claims_are_those_of_a_run_without_twins(self_test: Callable[..., Run]) -> None:
    run = self_test(columns="[8, 64]")
    found = judge_run(run)
    names = {row.implementation for row in found.run.rows}
    assert {row.implementation for row in found.comparison} == names == set(SECONDS)
    assert set(found.run.samples["implementation"]) == set(SECONDS)
    assert without_twins(found.run).rows == found.run.rows


def test_two_runs_are_compared_by_the_noise_of_their_twins(self_test: Callable[..., Run], command: Command) -> None:
    first, second = self_test(seed=1), self_test(seed=2)
    side = side_of(first)
    assert "pairs of twins of its self-test" in side.floor.source
    assert not [name for _, name in side.rows if name.endswith(".again")]
    assert side.floor.at(("", "", "", ""), 50e-6) >= noise.LEAST
    code, out, _ = command("compare", first.folder, second.folder, "--fail-on", "2%")
    assert (code, ".again" in out) == (0, False)
    assert "pairs of twins of its self-test" in " ".join(out.split())


def test_a_worker_finds_a_twin_by_the_name_of_its_original(tmp_path: Path) -> None:
    (tmp_path / "softmax").mkdir()
    (tmp_path / "softmax" / "calls.py").write_text(CALLS.format(names=("good", "other"), role="kernel"))
    found = load_catalog(specimens=True, own=[tmp_path]).implementations["softmax"]
    twin = find_implementation(found, "good.again")
    assert (twin.name, twin.prepare) == ("good.again", found["good"].prepare)
    worker = WorkerBench(noisy, [tmp_path], 60)
    try:
        plan = CasePlan(Case("softmax", (4, 8), -1, "float32"), (Planned(found["good"]), Planned(twin)), ("x",))
        settings = Settings(1, ("cold",), Precision(least_samples=20, most_samples=20))
        results = worker.run(plan, settings, lambda share: None)
    finally:
        worker.close()
    assert [(one.implementation.name, one.status) for one in results] == [("good", "ok"), ("good.again", "ok")]
    first, second = (one.measurements[0].samples_s for one in results)
    assert first != second


def test_specimens_have_no_twin(project: Project) -> None:
    request = Request(
        (str(project.suite("good", "[8]")),), quick=True, caches=("cold",), self_test=True, specimens=True
    )
    (found,) = run_walk(request, ConsoleProgress())
    assert "zeros.again" not in {row.implementation for row in read_run(found.run.folder).rows}


def test_a_self_test_is_gone_on_with_as_one(self_test: Callable[..., Run], project: Project) -> None:
    run = self_test(columns="[8, 64]")
    suite = str(project.root / "suites" / "small.yaml")
    again = Request((suite,), caches=("cold",), self_test=True, resume=True, out=run.folder)
    (found,) = run_walk(again, ConsoleProgress())
    assert found.run.environment["self_test"] == run.environment["self_test"]
    with pytest.raises(ResultsError, match="self-test"):
        list(run_walk(Request((suite,), caches=("cold",), resume=True, out=run.folder), ConsoleProgress()))


@pytest.mark.usefixtures("simulator")
def test_the_simulator_times_nothing_that_could_be_tested(project: Project) -> None:
    with pytest.raises(InputError, match=r"--self-test: .* needs a GPU"):
        list(run_walk(Request((str(project.suite("good")),), self_test=True), ConsoleProgress()))


@pytest.mark.parametrize(
    "wrong", ['{"rows": -1}', '{"drift": "x"}', '{"lengths": [{"rows": "many"}]}', '{"twins": [1]}']
)
def test_figures_that_no_self_test_wrote_are_refused(self_test: Callable[..., Run], wrong: str) -> None:
    run = self_test(columns="[8]")
    path = run.folder / "environment.json"
    kept = json.loads(path.read_text())
    kept["self_test"] |= json.loads(wrong)
    path.write_text(json.dumps(kept))
    with pytest.raises(ResultsError, match="'self_test' must be"):
        read_run(run.folder)
