"""`kernelbench compare RUN RUN` as a person types it: what is printed, and the exit codes."""

import csv
import json
from pathlib import Path

import pytest

from kernelbench.core import places
from kernelbench.runs.results import Run, read_run
from tests.conftest import Command
from tests.endings import ended, printed, refused
from tests.two_runs import World, slowed, synthetic, write_copy

SOFTMAX = places.RECORDED / "h200" / "softmax"
PLANTED = {"oneflow", "tree_shuffle"}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the recorded run in which two implementations take 2 % longer on the largest cases."""
    run = read_run(SOFTMAX)
    slow = slowed(run, 1.02, lambda row: row.implementation in PLANTED and "seq=512" in row.case)
    return write_copy(slow, tmp_path_factory.mktemp("planted") / "run")


def test_a_run_with_itself(command: Command) -> None:
    out = printed(command("compare", str(SOFTMAX), str(SOFTMAX), "--fail-on", "2%"))
    timed = [bool(row.times) for row in read_run(SOFTMAX).rows]
    same, others = sum(timed), len(timed) - sum(timed)
    assert f"0 SLOWER, 0 FASTER, 0 UNSURE, {same} SAME; {others} rows not compared" in out
    assert "No row is slower by 2 %." in out
    assert max(map(len, out.splitlines())) <= 100


def test_a_planted_slowdown_ends_with_3_and_is_named(planted: Path, command: Command) -> None:
    out, _ = ended(3, command("compare", str(SOFTMAX), str(planted), "--fail-on", "2%"))
    named = {line.split(",")[0] for line in out.splitlines() if line.startswith("REGRESSION: ")}
    assert named == {f"REGRESSION: {name}" for name in PLANTED}
    assert "seq=512" in out[out.index("REGRESSION") :]
    assert command("compare", str(SOFTMAX), str(planted))[0] == 0  # nobody asked
    assert command("compare", str(SOFTMAX), str(planted), "--fail-on", "3%")[0] == 0
    assert command("compare", str(planted), str(SOFTMAX), "--fail-on", "2%")[0] == 0  # faster


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_row_is_named_beside_what_programs_read(planted: Path, form: str, command: Command) -> None:
    out, err = ended(3, command("compare", str(SOFTMAX), str(planted), "--fail-on", "2%", "--format", form))
    assert "REGRESSION: oneflow, seq=512, cold, by events: +2.00 %" in err
    rows = list(csv.DictReader(out.splitlines())) if form == "csv" else json.loads(out)["rows"]
    assert {row["implementation"] for row in rows if row["verdict"] == "SLOWER"} == PLANTED
    assert len(rows) == len(read_run(SOFTMAX).rows)


def test_markdown(planted: Path, command: Command) -> None:
    out = printed(command("compare", str(SOFTMAX), str(planted), "--format", "markdown", "--only", "oneflow,ft"))
    assert out.startswith("**1 SLOWER, 0 FASTER, 0 UNSURE, 21 SAME**\n")


def test_noise_alone_ends_with_0(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    """Ten repeats of a run, each with its own drift."""
    made: dict[str, Run] = {
        str(seed): synthetic([3e-6, 20e-6, 60e-6, 200e-6, 1e-3, 5e-3], seed, World()) for seed in range(11)
    }
    monkeypatch.setattr("kernelbench.walks.compare.find_run", lambda name: (name, ""))
    monkeypatch.setattr("kernelbench.walks.compare.read_run", made.__getitem__)
    codes = [command("compare", "0", str(seed), "--fail-on", "2%")[0] for seed in range(1, 11)]
    assert codes == [0] * 10


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("softmax softmax softmax", "compare softmax softmax softmax: expected one run or two, got 3"),
        ("softmax softmax --baseline ft", "--baseline ft: of two runs the first is the baseline"),
        ("softmax softmax --out x", "--out x: is for one run; of two, write what is printed to a file"),
        ("softmax softmax --fail-on much", "--fail-on much: expected per cent of a row's time, as in 2% or 0.5%"),
        ("softmax softmax --fail-on nan%", "--fail-on nan%: expected per cent"),
        ("softmax softmax --fail-on -1%", "--fail-on -1%: expected per cent"),
        ("softmax --fail-on 2%", "--fail-on: is for two runs, as in kernelbench compare RUN RUN; got 1"),
        ("softmax nothere", "no run 'nothere': neither a run's folder nor the name of a run or suite"),
        ("softmax softmax_half", "is a run of suite 'softmax', "),
        ("softmax softmax_half", "of 'softmax_half'; expected two runs of one suite"),
        ("softmax softmax --only oneflow,nix", "--only oneflow,nix: neither run has 'nix'; they have naive"),
    ],
)
def test_mistakes_are_one_message_and_exit_2(
    arguments: str, said: str, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(places, "runs", lambda: tmp_path)
    err = refused(command("compare", *arguments.split()))
    assert said in err


def test_a_run_of_the_simulator_is_refused(command: Command) -> None:
    simulated = str(places.RECORDED / "simulated" / "softmax")
    _, err = ended(2, command("compare", simulated, simulated))
    assert "a run of the simulator, which has no times; expected two runs of a GPU, such as the recorded one in " in err


def test_a_recorded_run_of_the_simulator_is_called_so(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    out = printed(command("compare", "results/simulated/copy", "--all"))
    assert out.startswith("Comparing within the recorded run of copy on the simulator that kernelbench ships")


def test_the_answer_of_a_long_comparison_is_also_its_end(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(command("compare", "results/h200/softmax", "--baseline", "ft")).splitlines()
    assert lines[0].startswith("2 of 4 published claims hold")
    assert lines[-2:] == lines[:2]
    why = "Why: kernelbench report results/h200/softmax, or kernelbench explain softmax"
    assert lines[-4:-2] == [why, ""]
    monkeypatch.setenv("LINES", "1000")
    low = printed(command("compare", "results/h200/softmax", "--baseline", "ft")).splitlines()
    assert low == lines[:-3], "all of it is on the screen"


@pytest.mark.parametrize("form", ["csv", "json", "markdown"])
def test_what_programs_read_has_no_answer_behind_it(form: str, command: Command) -> None:
    out = printed(command("compare", "results/h200/softmax", "--format", form))
    assert "Why: " not in out
    assert "published claims hold on" not in out


def test_a_long_comparison_of_two_runs_ends_with_its_answer(command: Command, planted: Path) -> None:
    lines = ended(3, command("compare", str(SOFTMAX), str(planted), "--fail-on", "2%", "--all"))[0].splitlines()
    assert lines[-1] in lines[:5]
    assert lines[0] in lines[-5:]
    assert "Why: " not in "".join(lines)
