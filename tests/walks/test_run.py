"""The whole walk on a GPU with a set clock: what is on disk when, what a failure costs, how a run goes on."""

import json
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kernelbench.cli.progress import ConsoleProgress
from kernelbench.core.errors import DeviceError, DeviceLost, MissingLibrary, ResultsError, Unsupported
from kernelbench.core.records import Arrays
from kernelbench.measure.bench import InProcessBench
from kernelbench.runs.results import Run, read_run
from kernelbench.runs.row_records import Row
from kernelbench.walks.compare import changes_between
from kernelbench.walks.report import report, report_changes
from kernelbench.walks.request import Request
from kernelbench.walks.run import run as run_walk
from tests.conftest import LIMITS, Command, Project, softmax
from tests.endings import ended


def run_suite(suite: Path, **options: Any) -> Run:
    (answer,) = run_walk(Request((str(suite),), quick=True, **options), ConsoleProgress())
    return answer.run


def rows(run: Run, **wanted: str) -> list[Row]:
    return [row for row in run.rows if all(getattr(row, name) == value for name, value in wanted.items())]


def columns_of(row: Row) -> int:
    return int(row.axes.removeprefix("columns="))


class Failing:
    """Computes rightly, but raises `error` from its `after`-th run on rows of `columns` on."""

    def __init__(self, error: BaseException, columns: int, after: int = 0) -> None:
        self.error, self.columns, self.after = error, columns, after
        self.seen: list[int] = []

    def __call__(self, arrays: Arrays) -> None:
        self.seen.append(arrays["x"].shape[-1])
        if self.seen.count(self.columns) > self.after:
            raise self.error
        softmax(arrays)


def let(project: Project, name: str, kernel: Callable[[Arrays], Any]) -> None:
    project.device.kernels[name] = (kernel, 50e-6, 5e-6)


def test_a_run_has_a_row_for_each_case_implementation_and_cache(project: Project) -> None:
    run = run_suite(project.suite("good, other"))
    assert [(columns_of(row), row.implementation, row.cache) for row in run.rows] == [
        (columns, name, cache) for columns in (8, 16, 32) for name in ("good", "other") for cache in ("cold", "warm")
    ]
    for row in run.rows:
        assert (row.status, row.check, row.stopped) == ("ok", "passed", "precise")
        assert row.median_s == pytest.approx(51e-6)
        assert row.suite == "small"
    assert len(run.samples) == sum(row.samples for row in run.rows)


def test_every_suite_begins_with_a_renewed_device(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(InProcessBench, "renew", lambda bench: order.append("renewed"))
    suites = [str(project.suite("good", columns="[8]", name=name)) for name in ("one", "two")]
    for answer in run_walk(Request(suites, quick=True), ConsoleProgress()):
        order.append(answer.run.suite)
    assert order == ["renewed", "one", "renewed", "two"]
    list(run_walk(Request(suites, quick=True, resume=True), ConsoleProgress()))
    assert order[4:] == [], "nothing is left to measure"


def test_the_environment_tells_how_to_repeat_it(project: Project) -> None:
    suite = project.suite("good, compiled", columns="[8, 16]")
    run = run_suite(suite, seed=11, arguments=("run", str(suite), "--seed", "11"))
    environment = json.loads((run.folder / "environment.json").read_text())
    assert environment["suite"] == "small"
    assert (environment["seed"], environment["baseline"]) == (11, "good")
    assert environment["device"] == {"name": "Fake GPU"}
    assert environment["limits"]["dram_bytes_per_s"] == LIMITS.dram_bytes_per_s
    assert environment["command"].startswith("kernelbench run ")
    assert environment["versions"]["nvcc"] == "13.0.88"
    assert environment["builds"]["binaries"] == environment["builds"]["compiled"] == 1
    assert set(environment["implementations"]) == {"good", "compiled"}
    assert environment["started"] <= environment["finished"]
    assert {row.seed for row in run.rows} == {12}, "the inputs timed are not those verified first"


def test_the_environment_says_where_the_time_went(project: Project) -> None:
    def slow(arrays: Arrays) -> None:
        time.sleep(20e-3)
        softmax(arrays)

    let(project, "good", slow)
    suites = [project.suite("good", columns=columns, name=f"s{columns[1:-1]}") for columns in ("[8]", "[16]")]
    before = time.monotonic()
    found = list(run_walk(Request(tuple(map(str, suites)), quick=True), ConsoleProgress()))
    taken = time.monotonic() - before
    environments = [one.run.environment for one in found]
    first, second = (one["seconds"] for one in environments)
    for seconds, wall_s in zip((first, second), (one["wall_s"] for one in environments), strict=True):
        assert {"filling", "preparing", "verifying", "measuring", "building", "other"} <= set(seconds)
        assert seconds["measuring"] >= 8 * 20e-3, "samples of the one kernel"
        assert seconds["verifying"] < seconds["measuring"]
        assert sum(seconds.values()) > wall_s - 0.1, "every second of a suite counts"
    assert second["starting"] == second["limits"] == second.get("reporting", 0) == 0, "those are of the first"
    assert sum(first.values()) + sum(second.values()) < taken + 0.1, "no second counts twice"


def test_a_run_ends_with_a_line_about_its_time(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run_suite(project.suite("good"))
    (last,) = [line for line in capsys.readouterr().err.splitlines() if "measuring (builds left out)" in line]
    assert "% of them measuring" in last


def test_a_second_run_compiles_nothing(project: Project) -> None:
    suite = project.suite("good, compiled")
    run_suite(suite, out=project.root / "one")
    again = run_suite(suite, out=project.root / "two")
    assert again.environment["builds"]["binaries"] == 1
    assert again.environment["builds"]["compiled"] == 0


def test_every_case_is_on_disk_before_the_next_begins(project: Project) -> None:
    on_disk: dict[int, list[int]] = {}

    def watching(arrays: Arrays) -> None:
        (folder,) = project.runs
        on_disk.setdefault(arrays["x"].shape[-1], [columns_of(row) for row in read_run(folder).rows])
        softmax(arrays)

    let(project, "good", watching)
    run_suite(project.suite("good"))
    assert on_disk == {8: [], 16: [8, 8], 32: [8, 8, 16, 16]}


def test_only_filter_and_cache_choose(project: Project) -> None:
    suite = project.suite("good, other, third")
    chosen = {"only": ("other", "third"), "filters": ("columns>=16",), "caches": ("cold",)}
    (answer,) = run_walk(Request((str(suite),), quick=True, **chosen), ConsoleProgress())
    assert {row.baseline for row in answer.comparison} == {"other"}, "the suite's own baseline was left out"
    assert [(columns_of(row), row.implementation, row.cache) for row in answer.run.rows] == [
        (columns, name, "cold") for columns in (16, 32) for name in ("other", "third")
    ]


def test_progress_reaches_the_end_of_every_stage(project: Project) -> None:
    done: dict[str, tuple[float, float]] = {}

    class Counting(ConsoleProgress):
        @contextmanager
        def stage(self, title: str, total: float) -> Any:
            def advance(amount: float, what: str) -> None:
                assert amount >= 0
                done[title] = (done[title][0] + amount, total)

            done[title] = (0.0, total)
            yield advance

    (answer,) = run_walk(Request((str(project.suite("good, compiled")),), quick=True), Counting())
    report(answer, None, Counting())
    changes_between(str(answer.run.folder), str(answer.run.folder), progress=Counting())
    report_changes(str(answer.run.folder), str(answer.run.folder), None, Counting())
    assert set(done) == {
        "Building kernels", "Measuring small on Fake GPU", "Comparing", "Charts and page", "Comparison and page",
    }  # fmt: skip
    for reached, total in done.values():
        assert reached == pytest.approx(total)


def test_a_kernel_that_does_not_compile_costs_only_its_rows(project: Project) -> None:
    run = run_suite(project.suite("good, broken, misfit"))
    broken = rows(run, implementation="broken")
    assert [row.status for row in broken] == ["failed"] * 3
    assert 'broken.cu:7: error: identifier "REFUSE" is undefined' in broken[0].reason
    assert "nvcc" in broken[0].reason, "with the command that repeats it"
    misfit = rows(run, implementation="misfit")
    assert {row.reason for row in misfit} == {"'k' takes 2 arguments, but the plan gives it 3"}
    assert {row.status for row in rows(run, implementation="good")} == {"ok"}
    assert run.has_failures


@pytest.mark.nvcc
def test_the_real_compiler_refuses_a_kernel_and_the_run_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kernelbench.build import compiler

    nvcc = compiler.find_compiler()
    monkeypatch.setattr("kernelbench.build.find_compiler", lambda path=None: nvcc)
    folder = project.root / "kernels" / "softmax"
    (folder / "compiled.cu").write_text('extern "C" __global__ void k(const float* x, float* y) { *y = *x; }\n')
    (folder / "broken.cu").write_text('extern "C" __global__ void k(const float* x, float* y) {\n  *y = *z;\n}\n')
    run = run_suite(project.suite("good, compiled, broken", columns="[8]"))
    (broken,) = rows(run, implementation="broken")
    assert broken.status == "failed"
    assert 'broken.cu:2: error: identifier "z" is undefined' in broken.reason
    compiled = rows(run, implementation="compiled")
    assert [row.status for row in compiled] == ["ok", "ok"]
    assert [row.input_loads for row in compiled] == [{"x": 1}] * 2


def test_refusals_keep_their_reasons_and_are_no_failures(project: Project) -> None:
    let(project, "other", Failing(MissingLibrary("other is not installed; try: pip install other"), 8))
    let(project, "third", Failing(Unsupported("columns must be odd, got 8"), 8))
    run = run_suite(project.suite("good, other, third, compiled"))
    for name, columns, refused in (
        ("compiled", 32, ("unsupported", "columns must be at most 16, got 32")),
        ("other", 8, ("skipped", "other is not installed; try: pip install other")),
        ("third", 8, ("unsupported", "columns must be odd, got 8")),
    ):
        (row,) = rows(run, implementation=name, axes=f"columns={columns}")
        assert (row.status, row.reason) == refused
    assert not run.has_failures


def test_a_kernel_that_fails_or_is_wrong_costs_only_its_row(project: Project) -> None:
    let(project, "other", Failing(DeviceError("too many resources requested for launch"), 16))
    let(project, "third", lambda arrays: arrays["y"].fill(0.125))
    run = run_suite(project.suite("good, other, third"))
    (other,) = rows(run, implementation="other", axes="columns=16")
    assert (other.status, other.reason) == ("failed", "too many resources requested for launch")
    for row in rows(run, implementation="third"):
        assert row.status == "wrong"
        assert "elements wrong, first y[0, 0]: got 0.125, expected" in row.reason
        assert (row.check, row.cache) == ("failed", "")
    assert {row.status for row in rows(run, implementation="good")} == {"ok"}


def test_a_lost_gpu_ends_the_run_and_keeps_the_rows_of_its_case(project: Project, command: Command) -> None:
    let(project, "other", Failing(DeviceLost("an illegal memory access was encountered"), 16))
    code, _, err = command("run", project.suite("good, other, third"), "--quick", "--no-report")
    assert (code, "an illegal memory access" in err, "Traceback" in err) == (1, True, False)
    (folder,) = project.runs
    found = read_run(folder).rows
    assert [(columns_of(row), row.implementation, row.status) for row in found if columns_of(row) > 8] == [
        (16, "good", "failed"),
        (16, "other", "failed"),
        (16, "third", "failed"),
    ]
    reasons = [row.reason for row in found if columns_of(row) == 16]
    assert reasons[1] == "an illegal memory access was encountered"
    assert all("context was lost in this case" in reasons[place] for place in (0, 2))
    assert {row.status for row in found if columns_of(row) == 8} == {"ok"}
    assert read_run(folder).environment["finished"] is None


def test_memory_that_does_not_suffice_fails_a_case_and_the_next_goes_on(project: Project) -> None:
    allocate = project.device.allocate

    def scarce(specs: Any) -> Arrays:
        if specs[0].shape[-1] == 16:
            raise DeviceError("out of GPU memory while allocating 256 bytes for x")
        return allocate(specs)

    project.device.allocate = scarce  # type: ignore[method-assign]
    run = run_suite(project.suite("good, other"))
    failed = rows(run, axes="columns=16")
    assert [row.status for row in failed] == ["failed", "failed"]
    assert {row.reason for row in failed} == {"out of GPU memory while allocating 256 bytes for x"}
    assert {row.status for row in rows(run, axes="columns=32")} == {"ok"}


def test_ctrl_c_keeps_finished_cases_and_resume_measures_only_the_rest(project: Project) -> None:
    suite = project.suite("good, other")
    let(project, "other", Failing(KeyboardInterrupt(), 16, after=3))
    with pytest.raises(KeyboardInterrupt):
        run_suite(suite)
    (folder,) = project.runs
    stopped = (folder / "results.csv").read_text()
    assert {columns_of(row) for row in read_run(folder).rows} == {8}

    again = Failing(KeyboardInterrupt(), columns=-1)
    let(project, "other", again)
    run = run_suite(suite, resume=True)
    assert run.folder == folder
    assert set(again.seen) == {16, 32}, "the first case is not measured again"
    assert (folder / "results.csv").read_text().startswith(stopped)
    assert [columns_of(row) for row in rows(run, implementation="good", cache="cold")] == [8, 16, 32]
    assert run.environment["finished"]
    assert set(run.samples["case"]) == {row.case for row in run.rows}


def test_resume_of_a_finished_run_measures_nothing(project: Project) -> None:
    suite = project.suite("good")
    folder = run_suite(suite).folder
    before = (folder / "results.csv").read_bytes()
    let(project, "good", Failing(AssertionError("measured again"), 8))
    assert run_suite(suite, resume=True).folder == folder
    assert (folder / "results.csv").read_bytes() == before


def test_resume_goes_on_in_the_folder_of_out(project: Project) -> None:
    suite, out = project.suite("good"), project.root / "mine"
    run_suite(suite, out=out, filters=("columns=8",))
    with pytest.raises(ResultsError, match="already holds a run; add --resume"):
        run_suite(suite, out=out)
    run = run_suite(suite, out=out, resume=True)
    assert run.folder == out
    assert [columns_of(row) for row in rows(run, cache="cold")] == [8, 16, 32]


def test_resume_with_another_seed_is_refused_before_anything_is_measured(project: Project) -> None:
    suite = project.suite("good")
    folder = run_suite(suite).folder
    before = (folder / "results.csv").read_bytes()
    fills = len(project.device.fills)
    with pytest.raises(ResultsError, match=r"its seed is 20260401, now it is 5; start a new run"):
        run_suite(suite, resume=True, seed=5)
    assert (folder / "results.csv").read_bytes() == before
    assert len(project.device.fills) == fills


def test_a_run_stopped_in_its_first_case_has_nothing_to_compare(project: Project, command: Command) -> None:
    let(project, "good", Failing(KeyboardInterrupt(), 8))
    with pytest.raises(KeyboardInterrupt):
        run_suite(project.suite("good"))
    (folder,) = project.runs
    code, _, err = command("compare")
    assert (code, err) == (2, f"{folder}: holds no rows yet; the run was stopped in its first case\n")


def test_a_specimen_is_wrong_as_expected_and_that_is_fine(project: Project, command: Command) -> None:
    suite = project.suite("good")
    out, _ = ended(0, command("check", suite, "--specimens"))
    assert out.startswith("18 of 36 right; 18 wrong, as expected\n")
    assert "3 of 6 right; 3 wrong, as expected\n" in out
    assert command("run", suite, "--specimens", "--quick", "--no-report")[0] == 0
    assert {row.status for row in rows(read_run(project.runs[-1]), implementation="zeros")} == {"wrong"}


def test_a_wrong_suite_ends_with_2_before_the_gpu_is_asked_for(
    project: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelbench.devices.open_device", lambda name: pytest.fail("opened"))
    _, err = ended(2, command("run", project.suite("good, nobody"), "--quick"))
    assert "small.yaml:5: unknown implementation 'nobody'" in err


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(project: Project, command: Command) -> None:
    let(project, "good", Failing(KeyboardInterrupt(), 16))
    code, _, err = command("run", project.suite("good"), "--quick", "--no-report")
    assert code == 130
    assert err.endswith("Stopped. Finished cases are kept; the same command with --resume goes on.\n")


def test_a_run_that_went_well_shows_its_rows_and_writes_its_page_and_comparison(
    project: Project, command: Command
) -> None:
    out, _ = ended(0, command("run", project.suite("good, compiled", columns="[8, 32]"), "--quick"))
    assert "51.00 µs" in out
    assert "columns must be at most 16" in out
    (folder,) = project.runs
    assert f"rows: {folder}/results.csv" in out
    assert f"page: {folder}/report.html" in out
    assert "<html" in (folder / "report.html").read_text()[:2000]
    assert (folder / "comparison.csv").read_text().startswith("suite,case,cache,method,implementation,baseline")
