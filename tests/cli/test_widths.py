"""What commands print of recorded runs, in windows of all widths: no line is too long, no word of an answer is cut."""

import io
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from kernelbench.cli import compare, explain, history, progress, run, terminal
from kernelbench.compare.answer import Answer, judge_run
from kernelbench.compare.comparison import ComparedRow
from kernelbench.compare.history import history_of
from kernelbench.compare.ledger import read_ledger
from kernelbench.compare.runs import compare_runs
from kernelbench.compare.step_sums import sum_of
from kernelbench.core import places
from kernelbench.report import explanation, summary, table_widths
from kernelbench.report.explanation import run_explanations
from kernelbench.report.summary import counted_lines
from kernelbench.runs.folders import shipped_runs
from kernelbench.runs.results import read_run
from kernelbench.runs.row_records import Row
from kernelbench.walks.compare import changes_between
from kernelbench.walks.history import Histories
from tests.conftest import Command
from tests.two_runs import slowed

WIDTHS = (60, 80, terminal.WIDTH, 160)  # a pipe has that of terminal.WIDTH
WIDE = 2000
WORDS = re.compile(  # verdicts, ratios and times: the words that answer
    r"(?<!\S)(FASTER|SLOWER|SAME|UNSURE|baseline|holds|wrong|skipped|unsupported|confirmed|yes|[\d.]+x|"
    r"[\d.]+ [µm]s)(?!\S)"
)
QUICK = ("h200/log_softmax_grid", "h200/peers/peers_permute", "h200/bert_base_step", "simulated/log_softmax")
RUNS = [
    pytest.param(folder, id=name, marks=() if name in QUICK else pytest.mark.exhaustive)
    for folder in shipped_runs()
    for name in [str(folder.relative_to(places.RECORDED))]
]
At = Callable[[int, Callable[[], object]], str]
Kind = tuple[str, ...]
Line = TypeVar("Line", Row, ComparedRow)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> At:
    """What `show` prints in a window of that width."""

    def printed(width: int, show: Callable[[], object]) -> str:
        monkeypatch.setattr(terminal, "window_width", lambda stream: width)
        capsys.readouterr()
        show()
        return capsys.readouterr().out

    return printed


@pytest.fixture(autouse=True)
def counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts say is the same in every window, and takes most of the time."""
    kept: dict[tuple[int, tuple[str, ...]], tuple[Answer, list[str]]] = {}

    def lines(found: Answer, *counts: str) -> list[str]:
        key = id(found), counts
        if key not in kept:
            kept[key] = found, counted_lines(found, *counts)
        return kept[key][1]

    monkeypatch.setattr(summary, "counted_lines", lines)


def answers(text: str) -> Counter[str]:
    return Counter(WORDS.findall(" ".join(text.split())))


def check_widths(at: At, show: Callable[[], object]) -> None:
    wide = answers(at(WIDE, show))
    for width in WIDTHS:
        text = at(width, show)
        paths = ("/", "kernelbench compare")  # stay whole, to be copied
        long = [line for line in text.splitlines() if len(line) > width and not any(one in line for one in paths)]
        assert not long, (width, long)
        cut = wide - answers(text)
        assert not cut, (width, cut)
        assert "…" not in text


def kind_of_row(row: Row) -> Kind:
    """What a line of it says, whatever its numbers."""
    return row.implementation, row.status, row.role, re.sub(r"[\d.]+", "0", row.reason)


def kind_of_comparison(one: ComparedRow) -> Kind:
    """The same, but for how long its ratios are."""
    shown = f"{one.speedup or 0:.2f}", f"{one.published_speedup or 0:.2f}"
    texts = one.method, one.verdict, *(str(len(each)) for each in shown), re.sub(r"[\d.]+", "0", one.reason)
    return one.implementation, one.cache, *texts


def first_of_each(rows: Iterable[Line], kind: Callable[[Line], Kind], longest: str) -> list[Line]:
    """Rows of a kind that no row before has, and all of the case with the longest name."""
    seen: set[Kind] = set()
    return [row for row in rows if row.case == longest or not (kind(row) in seen or seen.add(kind(row)))]


def thinned(found: Answer) -> Answer:
    """Without lines as others have, since the longest runs have thousands; a step whole, since its parts add up."""
    if sum_of(found.run):
        return found
    longest = max((row.case for row in found.run.rows), key=len)
    comparison = first_of_each(found.comparison, kind_of_comparison, longest)
    first = {row.case: row for row in reversed(found.run.rows)}
    labels = [first[case] for case in {row.case for row in comparison}]
    kept = {id(row) for row in [*first_of_each(found.run.rows, kind_of_row, longest), *labels]}
    rows = tuple(row for row in found.run.rows if id(row) in kept)
    return replace(found, run=replace(found.run, rows=rows), comparison=comparison)


def shows_of(found: Answer) -> list[Callable[[], object]]:
    shows: list[Callable[[], object]] = [
        lambda: compare._show_one(found, "run x", ("cold", "warm"), ()),
        lambda: run.show(found, None),
    ]
    if found.run.simulated:
        shows.append(lambda: terminal.tell(*summary.counted_lines(found)))
    return shows


@pytest.mark.parametrize("folder", RUNS)
def test_compare_and_run_of_recorded_runs(folder, at: At) -> None:
    for show in shows_of(thinned(judge_run(read_run(folder)))):
        check_widths(at, show)


@pytest.mark.parametrize("folder", [param for param in RUNS if "simulated" in str(param.id)])
def test_explain_of_recorded_runs(folder, at: At) -> None:
    cases, _ = run_explanations(read_run(folder), read_ledger(places.LEDGER))
    assert all(list(explanation.case_parts(case, "title")) for case in cases)
    check_widths(at, lambda: explain._show(cases, "table", nullcontext))


def test_two_runs(at: At) -> None:
    softmax = str(places.RECORDED / "h200" / "softmax")
    changes = changes_between(softmax, softmax)
    for every in (False, True):
        check_widths(at, lambda every=every: compare._show_two(changes, "table", 0.02, every=every))


def test_what_changed_between_two_runs(at: At) -> None:
    run = read_run(places.RECORDED / "h200" / "softmax")
    changes = compare_runs(run, slowed(run, 1.1, lambda row: row.implementation == "oneflow"))
    check_widths(at, lambda: compare._show_two(changes, "table", 0.02, every=False))
    text = at(60, lambda: compare._show_two(changes, "table", None, every=False))
    assert text.startswith(f"11 SLOWER, 0 FASTER, 0 UNSURE, {sum(bool(row.times) for row in run.rows) - 11} SAME")
    assert sum(line.endswith("SLOWER") for line in map(str.rstrip, text.splitlines())) == 11


@pytest.mark.parametrize("name", ["{}-nvidia-h200-after-the-update-of-the-driver", "night{}", "{}" + 90 * "x"])
def test_a_history_of_long_folders(name: str, at: At) -> None:
    """Names of runs are folded where they do not fit; what all share is told once."""
    folder = Path("/shared") / "_".join(30 * ["nightly"])
    recorded = read_run(places.RECORDED / "h200" / "softmax")
    changed = slowed(recorded, 1.1, lambda row: row.implementation == "oneflow")
    runs = [
        replace(
            one, folder=folder / name.format(number), environment={**one.environment, "started": f"2026-11-0{number}"}
        )
        for number, one in enumerate((recorded, changed, changed), 1)
    ]
    found = Histories(folder, [history_of(runs)], [f"{folder / name.format(4)}: a run of the simulator, without times"])
    for width in WIDTHS:
        text = at(width, lambda: history._show(found, every=False))
        assert max(map(len, text.splitlines())) <= width
        letters = "".join(text.split())
        assert letters.count(str(folder)) == 1
        assert all(name.format(number) in letters for number in range(1, 4))
        assert not Counter(f"{name.format(4)}arunofthesimulator,withouttimes") - Counter(
            letters[letters.index("Left") :]
        )


@pytest.mark.parametrize("arguments", ["list", "list kernels", "plan softmax --filter seq=16"])
def test_what_there_is(arguments: str, at: At, command: Command) -> None:
    for width in WIDTHS:
        text = at(width, lambda: print(command(*arguments.split())[1]))
        assert max(map(len, text.splitlines())) <= width
        if arguments == "list":
            assert len(text.splitlines()) <= 25, "one screen"


def test_the_summary_of_a_run_has_at_most_12_lines(at: At) -> None:
    found = judge_run(read_run(places.RECORDED / "h200" / "softmax"))
    lines = at(terminal.WIDTH, lambda: run.show(found, found.run.folder / "report.html")).splitlines()
    (start,) = (number for number, line in enumerate(lines) if line.startswith("NVIDIA H200: an empty kernel"))
    assert len(lines) - start <= 12
    assert "2 of 4 published claims hold on NVIDIA H200; 2 hold in part." in lines[start:]


@pytest.mark.parametrize(
    ("binaries", "compiled", "failed", "said"),
    [
        (1, 0, 0, ["1 binary, all from the build cache"]),
        (1, 1, 0, ["1 of 1 binary compiled in 2.5 s"]),
        (3, 1, 0, ["1 of 3 binaries compiled in 2.5 s"]),
        (3, 0, 3, ["0 of 3 binaries compiled in 2.5 s"]),
        (0, 0, 0, []),
    ],
)
def test_a_run_says_what_it_compiled_if_anything(
    binaries: int, compiled: int, failed: int, said: list[str], at: At
) -> None:
    found = judge_run(read_run(places.RECORDED / "h200" / "log_softmax_grid"))
    builds = {"binaries": binaries, "compiled": compiled, "failed": failed, "seconds": 2.5}
    other = replace(found.run, environment={**found.run.environment, "builds": builds})
    lines = at(terminal.WIDTH, lambda: run.show(replace(found, run=other), None)).splitlines()
    assert [line for line in lines if "binar" in line] == said


def test_the_headline_is_of_a_kernel_not_of_a_library(command: Command) -> None:
    """PyTorch is the fastest of this suite, and no claim is about it."""
    out = command("compare", places.RECORDED / "h200" / "relu")[1].splitlines()
    assert out[1].startswith("packed is 1.12x to 2.67x as fast as naive on 10 cases, 7 too short to count.")


def test_a_run_of_the_simulator_answers_in_four_lines(command: Command) -> None:
    code, out, _ = command("compare", places.RECORDED / "simulated" / "softmax", "--baseline", "ft")
    said = [line for line in out.splitlines() if not line.startswith("  ")]
    assert code == 0
    assert [line.split(":")[0] for line in said] == ["No times", "Recorded on a GPU", "To see it", "Counted here"]
    recorded = judge_run(read_run(places.RECORDED / "h200" / "softmax")).comparison
    found = [row.speedup for row in recorded if row.implementation == "oneflow" and row.cache == "cold" and row.speedup]
    least, most = min(found), max(found)
    assert f"oneflow is {least:.2f}x to {most:.2f}x as fast as ft on 6 cases" in " ".join(out.split())
    assert said[2].endswith("kernelbench compare results/h200/softmax --baseline ft")


def test_without_the_baseline_of_the_suite_the_recorded_run_answers_with_its_own() -> None:
    found = read_run(places.RECORDED / "simulated" / "softmax")
    rows = tuple(row for row in found.rows if row.implementation != "ft")
    said = counted_lines(judge_run(replace(found, rows=rows)))
    assert "oneflow is 2.50x to 5.17x as fast as ft" in said[1]
    assert said[2] == "To see it: kernelbench compare results/h200/softmax"


def test_a_run_of_the_simulator_without_counts_says_why_and_borrows_none() -> None:
    found = read_run(places.RECORDED / "simulated" / "softmax")
    rows = tuple(replace(row, status="failed", reason="nvcc fatal", counters=None) for row in found.rows)
    said = counted_lines(judge_run(replace(found, rows=rows)))
    assert said[0] == "No times and no counts: 138 of 138 rows are wrong or failed (nvcc fatal)."
    assert said[-1] == "Counted here: nothing that a published explanation mentions."
    silent = tuple(replace(row, reason="") for row in rows)
    said = counted_lines(judge_run(replace(found, rows=silent)))
    assert said[0] == "No times and no counts: 138 of 138 rows are wrong or failed."


def test_a_run_of_the_simulator_ends_with_what_it_can_say(at: At) -> None:
    found = judge_run(read_run(places.RECORDED / "simulated" / "softmax"))
    lines = at(terminal.WIDTH, lambda: run.show(found, None)).splitlines()
    (start,) = (number for number, line in enumerate(lines) if line.startswith("No times: "))
    assert lines[start - 2 : start] == [
        "Outputs: 120 of 150 right, 107 of them in a sample of the blocks; 18 skipped; 12 wrong, as expected.",
        "No other block of these is checked; --full checks all.",
    ]
    assert lines[start].endswith("the counts are above.")
    assert len(lines) - start < 12
    assert not any("the simulator has no times" in line for line in lines), "of claims about times"
    others = tuple(replace(row, case=f"{row.case} other") for row in found.run.rows)
    lines = counted_lines(replace(found, run=replace(found.run, rows=others)))
    assert "No recorded run on a GPU has these cases of suite 'softmax'." in lines


# ---- Tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", range(40, 130, 7))
def test_tables_lose_no_letter_but_those_of_spare_columns(width: int, at: At) -> None:
    table = table_widths.Table(
        "", [("name", {}), ("spare", {"spare": 1}), ("said", {}), ("verdict", {"no_wrap": True})]
    )
    table.add("an_implementation_of_a_very_long_name", "12345", "Some words, then others: yes (no).", "UNSURE +240")
    table.add("  ft", "", "OneFlow's", "SAME")
    text = at(width, lambda: terminal.console().print(table))
    assert max(map(len, text.splitlines())) <= width
    assert "UNSURE +240" in text
    letters = Counter("".join(cell for row in table.rows if row for cell, _ in (row[0], *row[2:])).replace(" ", ""))
    assert not letters - Counter(text)


@pytest.mark.parametrize(
    ("what", "done", "total", "width", "line"),
    [
        ("seq=128 oneflow", 41, 132, 80, "[42/132] seq=128 oneflow  31 %  1:13 left"),
        ("seq=128 oneflow", 41, 132, 36, "[42/132] seq=128..  31 %  1:13 left"),
        ("seq=128 oneflow", 0, 132, 80, "[1/132] seq=128 oneflow  0 %  0:33 so far"),
        ("Charts and page", 0, 1, 80, "Charts and page  0:33"),
    ],
)
def test_progress(what: str, done: float, total: float, width: int, line: str) -> None:
    assert progress.progress_line(what, done, total, 33.0, width) == line


class Window(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("columns", "window", "width"),
    [
        ("80", io.StringIO(), 80),
        ("9", io.StringIO(), 40),
        ("999", io.StringIO(), 200),
        ("0", io.StringIO(), terminal.WIDTH),
        ("wide", io.StringIO(), terminal.WIDTH),
        ("", io.StringIO(), terminal.WIDTH),
        ("80", Window(), 80),
    ],
)
def test_the_variable_columns_is_the_width_of_a_pipe_too(
    columns: str, window: io.StringIO, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal.window_width(window) == width


def test_what_is_printed_meanwhile_stands_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "TERMINAL_S", 0.01)
    monkeypatch.setattr("sys.stderr", window := Window())
    shown = progress.ConsoleProgress()
    with shown.stage("Counting", 2):
        deadline = time.monotonic() + 10
        while "[1/2] Counting" not in window.getvalue():
            assert time.monotonic() < deadline
        with shown.printing():
            before = window.getvalue()
            assert before.endswith("\r\x1b[2K")
            time.sleep(0.05)
            assert window.getvalue() == before


@pytest.mark.parametrize(
    ("lasting", "seconds", "left"), [(True, 2, "Comparing: 2 s\n"), (True, 0.5, ""), (False, 2, "")]
)
def test_only_a_long_stage_of_a_walk_leaves_a_line(
    lasting: bool, seconds: float, left: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.ConsoleProgress(lasting=lasting).stage("Comparing", 1):
        later = time.monotonic() + seconds
        monkeypatch.setattr(progress.time, "monotonic", lambda: later)
    assert capsys.readouterr().err == left


def test_walks_that_only_read_tell_their_progress(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "ELSEWHERE_S", 0.01)
    softmax = str(places.RECORDED / "h200" / "softmax")
    for arguments, said in (
        (("compare", softmax), r"Comparing within softmax  0:0\d"),
        (("compare", softmax, softmax), r"\[3/3\] comparing rows  67 %"),
        (("list", "runs"), r"\[\d+/\d+\] h200/\w+  \d+ %"),
    ):
        code, _, err = command(*arguments)
        assert code == 0
        assert re.search(said, err), (arguments, err)


def test_a_pipe_gets_a_line_of_progress_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "ELSEWHERE_S", 0.01)
    with progress.ConsoleProgress().stage("Checking small", 2) as advance:
        advance(1, "seq=8 good")
        deadline = time.monotonic() + 10
        while "[2/2] seq=8 good  50 %" not in (err := capsys.readouterr().err):
            assert time.monotonic() < deadline
    assert "\x1b" not in err
