"""What the runs of several GPUs say together, on recorded runs."""

import csv
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernelbench.compare import read_ledger
from kernelbench.core import places
from kernelbench.report.fleet_page import write_fleet_page
from kernelbench.report.fleet_page_times import SuiteAnswer, mean_lines
from kernelbench.report.fleet_page_view import FleetView, fleet_view
from kernelbench.runs.results import Run, read_run
from kernelbench.runs.row_records import Row
from kernelbench.walks.compare import judge_run
from tests.conftest import Command
from tests.endings import printed, refused
from tests.two_runs import slowed, with_samples

LEDGER = read_ledger(places.LEDGER)


@pytest.fixture(scope="module")
def recorded() -> Run:
    return read_run(places.RECORDED / "h200" / "softmax")


def member(label: str, run: Run) -> SuiteAnswer:
    found = judge_run(run)
    return SuiteAnswer(**vars(found), label=label)


def on(run: Run, name: str) -> Run:
    device = {**run.environment["device"], "name": name}
    return with_samples(replace(run, environment={**run.environment, "device": device}), run.samples)


def view(*members: SuiteAnswer) -> FleetView:
    return fleet_view(members, LEDGER)


def test_equal_gpus_agree_on_all(recorded: Run) -> None:
    shown = view(member("h200-0", recorded), member("h200-1", recorded))
    assert shown.sentences == ["4 of 4 published claims are decided on 2 GPUs; all GPUs agree."]
    (spread,) = shown.spreads
    assert spread.mean == 1
    assert (spread.verdicts["SLOWER"], spread.verdicts["FASTER"], list(spread.named)) == (0, 0, [])
    assert shown.differing == []
    assert {line.rows for line in shown.means if line.implementation in ("ft", "oneflow")} == {6}


def test_a_claim_that_two_suites_judge_is_one_claim() -> None:
    steps = [member("h200", read_run(places.RECORDED / "h200" / name)) for name in ("bert_base_step", "resnet50_step")]
    assert view(*steps).sentences[0] == "The published claim holds on h200."


def test_one_gpu_is_answered_by_how_many_claims_hold(recorded: Run) -> None:
    shown = view(member("2 x H200", recorded))
    assert shown.sentences[0] == "2 of 4 published claims hold on 2 x H200; 2 hold in part."


def test_a_flipped_verdict_and_an_outlier_are_named(recorded: Run, tmp_path: Path) -> None:
    """OneFlow is made slower than FasterTransformer on one GPU of three."""
    odd = slowed(recorded, 8.0, lambda row: row.implementation == "oneflow")
    shown = view(member("h200-0", recorded), member("h200-1", odd), member("h200-2", recorded))
    flips = {line.claim.id: line.flip for line in shown.claims if line.flip}
    assert flips["softmax-ft-oneflow"] == "holds in part on h200-0, h200-2; does not hold on h200-1."
    assert [f"softmax, {claim}: {flip}" for claim, flip in flips.items()] == shown.sentences[1 : 1 + len(flips)]
    (one,) = [spread for spread in shown.spreads if spread.label == "h200-1"]
    assert one.against != "h200-1"
    assert one.named
    assert all(named.startswith("oneflow on ") for named in one.named)
    assert all(7 < float(named.rpartition("(")[2].removesuffix("x)")) < 9 for named in one.named)
    assert any(
        "h200-1 differs from" in sentence and "most on oneflow on seq=" in sentence for sentence in shown.sentences
    )
    page = write_fleet_page(shown, {}, ["<b>note</b>"], tmp_path / "report.html").read_text()
    assert page.index("Published on<th>") < page.index("<th>h200-0")
    assert "does not hold on h200-1" in page
    shown_claims = re.findall(r"<small>softmax, ([\w-]+)</small>", page)
    assert shown_claims[: len(flips)] == list(flips), "first the claims that GPUs disagree on"
    assert shown_claims != [line.claim.id for line in shown.claims]
    assert "&lt;b&gt;note" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_means_are_over_rows_that_every_gpu_has(recorded: Run) -> None:
    def but(run: Run, gone: Callable[[Row], bool]) -> Run:
        return with_samples(replace(run, rows=tuple(row for row in run.rows if not gone(row))), run.samples)

    less = but(recorded, lambda row: row.words["seq"] in ("16", "32") or row.implementation == "torch")
    of = {"h200": member("h200", recorded), "a100": member("a100", on(less, "NVIDIA A100"))}
    found = {line.implementation: line for line in mean_lines("softmax", of)}
    assert "torch" not in found
    assert found["oneflow"].rows == 4
    assert found["oneflow"].shares["h200"] == pytest.approx(found["oneflow"].shares["a100"])
    everything = {line.implementation: line for line in mean_lines("softmax", {"h200": of["h200"]})}
    assert everything["oneflow"].rows == 6
    assert everything["oneflow"].shares["h200"] != pytest.approx(found["oneflow"].shares["h200"])
    shown = view(*of.values())
    assert shown.spreads == [], "never between kinds"


def test_each_row_of_a_step_has_its_own_baseline() -> None:
    step = read_run(places.RECORDED / "h200" / "bert_base_step")
    found = {line.implementation: line for line in mean_lines(step.suite, {"h200": member("h200", step)})}
    assert (found["oneflow"].baseline, found["packed_16"].baseline) == ("five_kernels_half", "packed_16")


def test_times_of_different_kinds_are_nowhere(recorded: Run, tmp_path: Path) -> None:
    shown = view(member("h200", recorded), member("a100", on(slowed(recorded, 2.0, lambda row: True), "NVIDIA A100")))
    write_fleet_page(shown, {}, [], tmp_path / "report.html")
    report = json.loads((tmp_path / "report.json").read_text())
    assert not any(name.endswith("_s") for table in report.values() for row in table for name in row if row)
    assert not (tmp_path / "spread.csv").exists()
    rows = list(csv.DictReader((tmp_path / "means.csv").open()))
    assert {row["gpu"] for row in rows} == {"h200", "a100"}
    assert all(0 < float(row["share_of_ceiling"]) < 1.1 for row in rows)


def test_versions_that_differ_are_said(recorded: Run) -> None:
    versions = {**recorded.environment["versions"], "nvcc": "12.4"}
    other = with_samples(
        replace(recorded, environment={**recorded.environment, "versions": versions, "git_commit": "abc"}),
        recorded.samples,
    )
    shown = view(member("h200-0", recorded), member("h200-1", other))
    assert shown.differing == ["commit", "nvcc"]
    assert "nvcc differs: 13.0.88 on h200-0; 12.4 on h200-1." in shown.sentences


def test_a_simulated_gpu_whose_rows_all_failed_counts_and_decides_nothing() -> None:
    one = read_run(places.RECORDED / "simulated" / "softmax")
    failed = [replace(row, status="failed", reason="nvcc fatal\n  command: nvcc", counters=None) for row in one.rows]
    shown = view(member("h200", one), member("v100", on(replace(one, rows=tuple(failed)), "simulated (V100)")))
    assert shown.sentences[0].startswith("1 simulated GPU counted what kernels do and timed nothing.")
    assert shown.sentences[1] == "v100 counted nothing: 138 of 138 rows are wrong or failed (nvcc fatal)."
    decided = {line.claim.id: line.verdicts for line in shown.claims}
    assert decided["reduce-tree-counters"]["h200"].verdict == "holds"
    assert {own["v100"].verdict for own in decided.values()} == {"not decided"}
    alone = view(member("v100", on(replace(one, rows=tuple(failed)), "simulated (V100)")))
    assert alone.sentences == ["v100 counted nothing: 138 of 138 rows are wrong or failed (nvcc fatal)."]


def test_bounds_that_are_the_same_do_not_differ() -> None:
    one = read_run(places.RECORDED / "simulated" / "softmax")
    shown = view(member("h200-0", one), member("h200-1", one))
    assert shown.bounds == []
    assert "0 counts and 0 lower bounds differ" in shown.sentences[0]


def test_counts_and_bounds_of_simulated_gpus(tmp_path: Path) -> None:
    one = read_run(places.RECORDED / "simulated" / "softmax")
    rows = [
        replace(row, counters=replace(row.counters, warp_instructions=2 * row.counters.warp_instructions))
        if row.implementation == "ft" and row.counters
        else row
        for row in one.rows
    ]
    other = replace(on(one, "simulated (A100 properties)"), rows=tuple(rows))
    shown = view(member("h200", one), member("a100", other))
    assert {line.implementation for line in shown.counts} == {"ft"}
    assert {line.name for line in shown.counts} >= {"warp instr."}
    bounds = [line for line in shown.bounds if line.implementation == "oneflow"]
    assert all(line.values["a100"] > line.values["h200"] for line in bounds)
    assert shown.means == shown.spreads == []
    assert shown.sentences[0].startswith("2 simulated GPUs counted what kernels do and timed nothing: ")
    assert shown.sentences[1] == "1 of 4 published claims is decided on 2 GPUs; all GPUs agree."
    page = write_fleet_page(replace(shown, suites=["<s>"]), {"x": "<y>"}, [], tmp_path / "report.html").read_text()
    assert "Counts that differ by architecture" in page
    assert "<title>&lt;s&gt; on h200, a100</title>" in page


def a_folder_of_runs(folder: Path, name: str, *suites: str) -> Path:
    """Recorded runs as if another GPU had made them."""
    for suite in suites:
        shutil.copytree(places.RECORDED / "h200" / suite, folder / suite)
        path = folder / suite / "environment.json"
        about = json.loads(path.read_text())
        path.write_text(json.dumps({**about, "device": {**about["device"], "name": name}}))
    return folder


def test_folders_of_runs_are_put_side_by_side(tmp_path: Path, command: Command) -> None:
    one = a_folder_of_runs(tmp_path / "h200", "NVIDIA H200", "softmax", "reduce")
    other = a_folder_of_runs(tmp_path / "h100", "NVIDIA H100 80GB HBM3", "softmax", "multiply")
    page = tmp_path / "page" / "report.html"
    out = printed(command("report", str(one), str(other), "--out", str(page)))
    assert out.startswith("4 of 4 published claims are decided on 2 GPUs; all GPUs agree.")
    rows = list(csv.DictReader((page.parent / "claims.csv").open()))
    assert {(row["suite"], row["gpu"]) for row in rows} == {("softmax", "h200"), ("softmax", "h100")}
    assert not (page.parent / "spread.csv").exists(), "GPUs of different kinds"


@pytest.mark.exhaustive
def test_recorded_gpus_differ_as_the_documents_say(tmp_path: Path, command: Command) -> None:
    folders = [str(tmp_path / gpu) for gpu in ("h200", "h100")]
    for folder in map(Path, folders):  # draws and peers have no claims, and most of the rows
        shutil.copytree(places.RECORDED / folder.name, folder, ignore=shutil.ignore_patterns("draw_*", "peers_*"))
    out = printed(command("report", *folders, "--out", str(tmp_path / "report.html")))
    page, readme = ((places.ROOT / name).read_text() for name in ("docs/many-gpus.md", "README.md"))
    claims, flips = re.match(r"(\d+) of \1 published claims are decided on 2 GPUs; (\d+) verdicts differ", out).groups()
    assert f"All {claims} published claims are decided on both." in page
    assert f"of {claims} published claims hold" in readme
    flipped = re.findall(r"^\w+, ([\w-]+): ", out, re.MULTILINE)
    assert (len(flipped), flips, "except for two" in readme) == (2, "2", True)
    assert all(f"`{one}` holds" in page for one in flipped)


def test_folders_that_cannot_be_compared_are_refused(tmp_path: Path, command: Command) -> None:
    one = a_folder_of_runs(tmp_path / "a" / "h200", "NVIDIA H200", "reduce")
    same = a_folder_of_runs(tmp_path / "b" / "h200", "NVIDIA H200", "reduce")
    apart = a_folder_of_runs(tmp_path / "c", "NVIDIA H200", "multiply")
    simulated = tmp_path / "d"
    shutil.copytree(places.RECORDED / "simulated" / "reduce", simulated / "reduce")
    for other, why in (
        (same, "expected folders of different names"),
        (apart, "have no suite in common"),
        (simulated, "simulated runs have no times"),
    ):
        assert why in refused(command("report", str(one), str(other)))
    third = a_folder_of_runs(tmp_path / "t4", "Tesla T4", "reduce")
    said = refused(command("report", str(one), str(third), str(apart)))
    assert "no suite of c is in another folder; leave it out" in said
    assert "--baseline x: each suite has its own" in refused(command("report", str(one), str(apart), "--baseline", "x"))
