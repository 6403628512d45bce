"""The pass under Nsight Compute, with a program in its place and reports made of plain objects."""

import io
import json
import math
import os
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernelbench.core import libraries, places
from kernelbench.core.errors import MissingLibrary, NoCounters, ResultsError
from kernelbench.core.hardware_counters import HARDWARE_METRICS, STALL_METRICS, ProfiledLaunch
from kernelbench.core.progress import Advance
from kernelbench.core.records import Case
from kernelbench.measure.profiling import probe, profiler, reports
from kernelbench.measure.profiling.ncu_target import Item, ProfileJob, launch_all
from kernelbench.measure.profiling.probe import HostProbe
from tests.conftest import Project
from tests.fake_gpu import FakeDevice, raising
from tests.simt.hardware import agreement

CASES = [Case("softmax", (4, columns), -1, "float32") for columns in (8, 16)]

RECORDED = places.ROOT / "results" / "h200" / "simulator"
WAVEFRONTS = {f"shared {one} wavefronts": f"shared_{one}_wavefronts" for one in ("load", "store")}

# ---- A report of plain objects ----


class Action:
    """As ncu-report has them: metrics by name, and NVTX ranges by domain."""

    NameBase_FUNCTION, NameBase_MANGLED, WorkloadType_KERNEL = 0, 1, 0

    def __init__(self, metrics: Mapping[str, Any], ranges: tuple[str, ...] = (), kind: int = 0) -> None:
        self.metrics, self.ranges, self.kind = dict(metrics), ranges, kind

    def name(self, base: int) -> str:
        return ("k", "_Z1kv")[base]

    def workload_type(self) -> int:
        return self.kind

    def metric_by_name(self, name: str) -> Any:
        if name not in self.metrics:
            return None
        return SimpleNamespace(value=lambda: self.metrics[name], as_string=lambda: str(self.metrics[name]))

    def nvtx_state(self) -> Any:
        domain = SimpleNamespace(push_pop_ranges=lambda: self.ranges)
        return SimpleNamespace(domains=lambda: (0,), domain_by_id=lambda _: domain) if self.ranges else None


FULL = {source: 2.0 for one in HARDWARE_METRICS.values() for source in one.sources}
FULL |= dict.fromkeys(STALL_METRICS.values(), 0.5)
FULL |= {f"launch__{which}_dim_{axis}": 3 for which in ("grid", "block") for axis in "xyz"}


def test_a_launch_has_sums_factors_and_extents() -> None:
    one = reports.launch_of(Action(FULL, ("outer", "17")))
    assert (one.kernel, one.symbol, one.grid, one.block) == ("k", "_Z1kv", (3, 3, 3), (3, 3, 3))
    assert one.values["global_load_sectors"] == 4, "loads and cp.async"
    assert one.values["l2_bytes"] == 64
    assert one.values["achieved_occupancy"] == pytest.approx(0.02)
    assert one.range_names == ("outer", "17")
    assert one.missing == {}
    assert set(one.stalls.values()) == {0.5}


def test_a_number_that_is_none_is_missing_with_the_reason() -> None:
    metrics = {**FULL, "dram__bytes_read.sum": math.nan, "launch__grid_size": 9}
    for name in ("smsp__inst_executed.sum", "launch__grid_dim_x"):
        del metrics[name]
    one = reports.launch_of(Action(metrics))
    assert one.missing == {"dram_read_bytes": reports.NOT_A_NUMBER, "warp_instructions": reports.ABSENT}
    assert not one.missing.keys() & one.values.keys()
    assert one.grid == (9, 1, 1)


def test_a_gpu_without_one_of_the_sources_has_the_sum_of_the_others() -> None:
    metrics = {name: value for name, value in FULL.items() if "ldgsts" not in name}
    assert reports.launch_of(Action(metrics)).values["global_load_sectors"] == 2


@pytest.mark.parametrize(
    ("pipe", "by_address", "taken"),
    [
        (101, 100, 100),
        (4, 6, 4),
        (4, None, 4),
        (None, 6, 6),
        (4, math.nan, 4),
        (8, 0, 8),
        (0, 0, 0),
        (None, None, reports.ABSENT),
        (math.nan, None, reports.NOT_A_NUMBER),
    ],
)
def test_of_two_counts_that_err_upwards_the_smaller_is_taken(pipe: Any, by_address: Any, taken: Any) -> None:
    metric = HARDWARE_METRICS["shared_load_wavefronts"]
    given = {metric.sources[0]: pipe, metric.also[0]: by_address}
    metrics = {**FULL, **given}
    one = reports.launch_of(Action({name: value for name, value in metrics.items() if value is not None}))
    assert {**one.values, **one.missing}[metric.name] == taken


def test_the_smaller_count_of_wavefronts_is_the_simulators_in_all_that_an_h200_counted() -> None:
    hardware = {(row["trial"], row["launch"]): row for row in agreement.read(RECORDED / "hardware.csv")}
    recorded = agreement.read(RECORDED / "agreement.csv")
    rows = [row for row in recorded if row["metric"] in WAVEFRONTS and not row["note"]]
    larger = Counter[str]()
    for row in rows:
        metric, of = HARDWARE_METRICS[WAVEFRONTS[row["metric"]]], hardware[row["trial"], row["launch"]]
        counts = [int(of[names[0].removesuffix(".sum")]) for names in (metric.sources, metric.also)]
        assert min(counts) == int(row["simulator"]), row
        larger.update({"by address": counts[1] > counts[0], "pipe": counts[0] > counts[1]})
    assert (len(rows), larger) == (425, {"by address": 4, "pipe": 0}), "the pipe's is larger in large launches only"


def library(report: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_report(path: str) -> Any:
        if isinstance(report, Exception):
            raise report
        return report

    monkeypatch.setattr(reports, "import_library", lambda name: SimpleNamespace(load_report=load_report))


def test_only_launches_of_kernels_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ncu-rep"
    path.touch()
    library([[Action(FULL), Action(FULL, kind=2)], [Action(FULL)]], monkeypatch)
    assert len(reports.read_report(path)) == 2


@pytest.mark.parametrize("report", [[], [[]], [[Action(FULL, kind=2)]], RuntimeError("broken\nfile")])
def test_a_file_without_launches_is_refused(report: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ncu-rep"
    path.touch()
    library(report, monkeypatch)
    with pytest.raises(ResultsError, match=r"a\.ncu-rep: (has no launch|cannot be read \(broken file\))"):
        reports.read_report(path)
    with pytest.raises(ResultsError, match="no such file"):
        reports.read_report(tmp_path / "gone.ncu-rep")


def test_without_the_package_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(module: str) -> Any:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(libraries, "import_module", absent)
    with pytest.raises(MissingLibrary, match=r"ncu_report is not installed; try: pip install .*\[ncu\]"):
        reports.read_report(tmp_path / "a.ncu-rep")


# ---- Whether it can be done here ----


def machine(tmp_path: Path, *, parameters: str = "", root: bool = False, ncu: bool = True) -> HostProbe:
    (tmp_path / "bin").mkdir(exist_ok=True)
    if ncu:
        program = tmp_path / "bin" / "ncu"
        program.touch()
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return HostProbe({"PATH": str(tmp_path / "bin")}, parameters, root)


RESTRICTED = "RmMsg: \nRmProfilingAdminOnly: 1\n"


def test_the_probe_finds_the_profiler_or_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "find_spec", lambda name: object())
    with pytest.raises(NoCounters, match="is not installed; install"):
        probe.find_profiler(machine(tmp_path, ncu=False))
    with pytest.raises(NoCounters, match=r"RmProfilingAdminOnly: 1\); run as root"):
        probe.find_profiler(machine(tmp_path, parameters=RESTRICTED))
    found = tmp_path / "bin" / "ncu"
    assert probe.find_profiler(machine(tmp_path, parameters=RESTRICTED, root=True)) == found
    assert probe.find_profiler(machine(tmp_path, parameters=RESTRICTED.replace(": 1", ": 0"))) == found
    monkeypatch.setattr(probe, "find_spec", lambda name: None)
    with pytest.raises(NoCounters, match="ncu-report is not installed; try"):
        probe.find_profiler(machine(tmp_path))


def test_a_profiler_outside_of_path_is_found_newest_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "find_spec", lambda name: object())
    installed = tuple(Path(f"/opt/nvidia/nsight-compute/{version}/ncu") for version in ("2025.3.1", "2025.10.0"))
    assert max(installed[::-1], key=probe._version) == installed[-1]
    assert probe.find_profiler(HostProbe({"PATH": str(tmp_path)}, "", False, installed)) == installed[-1]


# ---- The program that is profiled ----


def job_of(project: Project, *names: str) -> ProfileJob:
    pairs = [(case, name) for case in CASES for name in names]
    items = tuple(Item(number, case, name, None, None) for number, (case, name) in enumerate(pairs))
    return ProfileJob(lambda: project.device, (), 7, items)


def run_job(job: ProfileJob) -> tuple[list[str], dict[int, str]]:
    """What happened inside and outside of ranges, in order; and the outcomes."""
    log, told = job.opener().clock.log, io.StringIO()

    @contextmanager
    def profiled(name: str) -> Iterator[None]:
        log.append(f"<{name}")
        yield
        log.append(">")

    launch_all(job, profiled, told)
    outcomes = [json.loads(line) for line in told.getvalue().splitlines()]
    return log, {one["number"]: one["reason"] for one in outcomes}


def test_each_item_runs_first_outside_and_then_once_inside_its_range(project: Project) -> None:
    log, outcomes = run_job(job_of(project, "good", "other"))
    once = lambda name, number: [name, "wait", f"<{number}", name, "wait", ">"]  # noqa: E731
    cases = [*once("good", 0), *once("other", 1), "release", *once("good", 2), *once("other", 3), "release"]
    assert log == cases
    assert outcomes == dict.fromkeys(range(4), "")
    assert project.device.fills == [7, 7], "each case has its inputs"


def test_what_fails_has_its_reason_and_the_others_run(project: Project) -> None:
    project.device.kernels["good"] = (raising(ValueError("no")), 0.0, 0.0)
    log, outcomes = run_job(job_of(project, "good", "other"))
    assert outcomes == {0: "ValueError: no", 1: "", 2: "ValueError: no", 3: ""}
    assert [one for one in log if one.startswith("<")] == ["<1", "<3"]


# ---- The parent ----


def launch(*ranges: str) -> ProfiledLaunch:
    return ProfiledLaunch("k", "k", (1, 1, 1), (32, 1, 1), {}, range_names=ranges)


def test_launches_are_sorted_by_their_range(project: Project) -> None:
    job = job_of(project, "good", "other")
    told = "".join(json.dumps({"number": n, "reason": why}) + "\n" for n, why in ((0, ""), (1, "no room"), (2, "")))
    found = [launch("0"), launch("0"), launch("1"), launch("torch", "2"), launch("other"), launch()]
    sorted_out = profiler.sorted_out(job, found, told, "ncu ended with exit code 9: gone")
    assert {number: len(own) for number, own in sorted_out.launches.items()} == {0: 2, 2: 1}
    assert sorted_out.reasons == {
        1: "no room",
        3: "the profiled process ended before this one: ncu ended with exit code 9: gone",
    }
    silent = profiler.sorted_out(
        job, [launch("0")], "".join(f'{{"number": {n}, "reason": ""}}\n' for n in range(4)), ""
    )
    assert silent.reasons == dict.fromkeys((1, 2, 3), "ncu recorded no launch of it")


@pytest.fixture
def fake_ncu(tmp_path: Path) -> Callable[[str], Path]:
    """A program in the place of ncu: `body` is Python, in which `report` is the path to write."""

    def make(body: str) -> Path:
        path = tmp_path / "ncu"
        lines = [
            f"#!{sys.executable}", "import pathlib, sys",
            "if '--query-metrics' in sys.argv: print('smsp__inst_executed  text'); sys.exit()",
            "report = pathlib.Path(sys.argv[sys.argv.index('--export') + 1])", body,
        ]  # fmt: skip
        path.write_text("\n".join(lines) + "\n")
        path.chmod(0o755)
        return path

    return make


def profile(
    ncu: Path, folder: Path, project: Project, advance: Advance = lambda amount, what: None
) -> profiler.Profile:
    job = ProfileJob(FakeDevice, (), 7, job_of(project, "good").items)  # what can be pickled
    folder.mkdir(exist_ok=True)
    return profiler.profile_items(job, ncu, folder, 5.0, advance)


def test_the_report_is_read_and_nothing_else_is_left(
    fake_ncu: Callable[[str], Path], project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """report.write_text(' '.join(sys.argv))
pathlib.Path(sys.argv[-1]).write_text('{"number": 0, "reason": ""}\\n{"number": 1, "reason": ""}\\n')"""
    monkeypatch.setattr(profiler, "read_report", lambda path: (launch("0"), launch("1")))
    found = profile(fake_ncu(body), tmp_path / "run", project)
    assert set(found.launches) == {0, 1}
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["counters.ncu-rep"]
    command = (tmp_path / "run" / "counters.ncu-rep").read_text()
    assert "--clock-control none" in command
    assert "--metrics smsp__inst_executed.sum " in command, "only what this GPU has"
    assert f"{sys.executable} -m kernelbench.measure.profiling.ncu_target" in command


def test_progress_names_each_implementation_as_it_ends(
    fake_ncu: Callable[[str], Path], project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """import time
outcomes = pathlib.Path(sys.argv[-1]).open('w')
for number in range(2):
    print('{"number": %d, "reason": ""}' % number, file=outcomes, flush=True)
    time.sleep(0.3)
report.write_text('')"""
    monkeypatch.setattr(profiler, "read_report", lambda path: (launch("0"), launch("1")))
    seen: list[tuple[float, str]] = []
    profile(fake_ncu(body), tmp_path / "run", project, lambda amount, what: seen.append((amount, what)))
    assert [amount for amount, _ in seen] == [1, 1]
    assert [what.split()[-1] for _, what in seen] == ["good", "good"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("print('==ERROR== ERR_NVGPUCTRPERM - no'); sys.exit(1)", "RmProfilingAdminOnly"),
        ("print('==ERROR== Failed'); print('bye'); sys.exit(3)", "ncu ended with exit code 3: ==ERROR== Failed"),
        ("sys.exit(3)", "ncu ended with exit code 3: it said nothing"),
        ("", "ncu wrote no report"),
    ],
)
def test_a_profiler_that_cannot_is_named(
    body: str, reason: str, fake_ncu: Callable[[str], Path], project: Project, tmp_path: Path
) -> None:
    with pytest.raises(NoCounters, match=reason):
        profile(fake_ncu(body), tmp_path / "run", project)
    assert list((tmp_path / "run").iterdir()) == []


def test_a_profiler_that_hangs_is_ended(
    fake_ncu: Callable[[str], Path], project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiler, "STARTING_S", 0.5)
    monkeypatch.setattr(profiler, "PASSES", 0)
    with pytest.raises(NoCounters, match=r"ended after 0 s \(--timeout\)|ended after 1 s"):
        profile(fake_ncu("import time; time.sleep(60)"), tmp_path / "run", project)


def test_the_real_package_refuses_what_is_no_report(tmp_path: Path) -> None:
    pytest.importorskip("ncu_report")
    path = tmp_path / "no.ncu-rep"
    path.write_bytes(os.urandom(64))
    with pytest.raises(ResultsError, match="has no launch of a kernel"):
        reports.read_report(path)
