"""The page of two runs: what it says, names and counts, that it loads nothing, and that it fits a telephone."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kernelbench.compare.changes import Change, Changes
from kernelbench.compare.claims import ClaimChange
from kernelbench.core import places
from kernelbench.report.change_page import change_sentences, render
from kernelbench.report.change_page_chart import MOST_NAMED, charts, lanes
from kernelbench.runs.results import read_run
from tests.conftest import Command
from tests.endings import refused
from tests.report.changed_rows import lone, timed
from tests.report.test_html_page import LOADING, Page
from tests.two_runs import slowed, write_copy

SOFTMAX = places.RECORDED / "h200" / "softmax"
HOSTILE = "<script>alert(1)</script>"


def changes(*rows: Change, by_share: bool = False) -> Changes:
    return Changes("before: H200", "after: H200", by_share, ["driver: 1, then 2"], ["Noise floor: 0.5 %."], rows)


MIXED = (
    timed(64, "ft", 1.02, "SLOWER"),
    timed(128, "ft", 1.5, "SLOWER", code="other code"),
    timed(64, "oneflow", 0.95, "FASTER"),
    timed(64, "copy", 1.0, "SAME"),
    timed(128, "copy", 1.007, "UNSURE", more_samples=240),
    lone(64, "gone", second_status="", reason="not in the second run: it has no such row"),
    lone(64, "breaks", second_status="wrong", reason="second run: wrong (3 of 4)"),
    lone(64, "never", first_status="failed", second_status="failed", reason="failed, in both runs"),
)


def test_the_answer_comes_first() -> None:
    assert change_sentences(changes(*MIXED)) == [
        "1 row worked in the first run and is wrong or failed in the second.",
        "2 of 5 rows are slower: the largest is ft, n=128, with 50.0 % more time.",
        "1 of 5 rows is faster: oneflow, n=64, with 5.00 % less time.",
        "1 the same, 1 undecided.",
    ]
    same = changes(timed(64, "ft", 1.0, "SAME"))
    assert change_sentences(same) == ["No row changed by more than its noise: 1 the same, 0 undecided."]
    (share, _) = change_sentences(changes(timed(64, "ft", 1.25, "SLOWER"), by_share=True))
    assert share.startswith("1 of 1 row is farther from the ceiling: ft")
    assert share.endswith("by 25.0 %.")


BESIDE = (
    timed(64, "cupy", 3.0, "SLOWER"),
    timed(64, "torch", 1.5, "SLOWER"),
    timed(64, "ft", 1.02, "SLOWER"),
    timed(64, "copy", 0.5, "FASTER"),
    timed(128, "cupy", 1.01, "UNSURE"),
    timed(128, "ft", 1.01, "UNSURE"),
)


def beside(*rows: Change) -> Changes:
    return replace(changes(*rows), controls=("cupy", "torch", "copy"), baseline="torch")


def test_kernels_come_before_the_baseline_and_both_before_libraries_and_copies() -> None:
    slower, faster, _ = change_sentences(beside(*BESIDE))
    assert slower == (
        "3 of 6 rows are slower, 1 of them of kernels: the largest of these is ft, n=64, with 2.00 % more time."
    )
    lone = change_sentences(beside(*BESIDE[:2]))[0]
    assert lone.endswith(", none of them of kernels: the largest is cupy, n=64 float32, with 200 % more time.")
    assert faster == "1 of 6 rows is faster, none of them of kernels: copy, n=64, with 50.0 % less time."
    assert [lane.label for lane in lanes(beside(*BESIDE), lambda row: row.implementation)] == [
        "ft", "torch", "cupy", "copy", "2 undecided",
    ]  # fmt: skip
    text = render(beside(*BESIDE), [], "softmax", ("a", "b"))
    tables = [[line[0].split()[0] for line in table[1:]] for table in Page(text).tables if "Change %" in table[0]]
    assert tables == [["ft"], ["torch", "cupy", "copy"], ["ft", "cupy"]]
    assert text.index("<h3>Kernels</h3>") < text.index("<h3>Libraries and copies</h3>")
    assert "<h3>" not in render(changes(*MIXED), [], "softmax", ("a", "b"))


def test_claims_with_another_verdict_are_in_the_answer_and_before_the_rows() -> None:
    claim = ClaimChange("some-claim", "Title", "holds", "does not hold", "It does not hold at n=64.")
    said = change_sentences(changes(*MIXED[:5]), [claim])
    assert said[0] == "1 published claim got another verdict: some-claim (holds, then does not hold)."
    text = render(changes(*MIXED), [claim], "softmax", ("a", "b"))
    assert text.index('id="claims"') < text.index('id="changed"')


def test_a_number_and_its_per_cent_stay_on_one_line() -> None:
    assert "with 50.0\u00a0% more time" in render(changes(*MIXED), [], "softmax", ("a", "b"))


def test_every_row_has_its_place() -> None:
    claim = ClaimChange("some-claim", f"Title {HOSTILE}", "holds", "does not hold", "It does not hold at n=64.")
    text = render(changes(*MIXED), [claim], "softmax", ("before", "my run"))
    page = Page(text)
    changed = page.table("Change %")
    assert [row[0].split()[0] for row in changed] == ["ft", "ft", "oneflow"]
    assert changed[0][1:] == ["50.00 µs", "75.00 µs", "+50.0", "+49.8 .. +50.3", "±0.80"]
    assert "other code" in changed[0][0]
    undecided = [table for table in page.tables if "Change %" in table[0]][1]
    assert [row[0].split()[0] for row in undecided[1:]] == ["copy"]
    assert "about 240 more samples in each run would decide" in undecided[1][0]
    tables = [table[1:] for table in page.tables if "Why" in table[0]]
    assert [[row[0] for row in table] for table in tables] == [["breaks"], ["gone"], ["never"]]
    assert page.table("Claim")[0][1:] == ["holds", "does not hold"]
    assert "<li>driver: 1, then 2" in text
    assert "kernelbench compare before &#39;my run&#39; --all" in text


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    rows = [timed(64, HOSTILE, 1.02, "SLOWER", reason=HOSTILE), lone(64, HOSTILE, second_status="", reason=HOSTILE)]
    told = replace(changes(*rows), first=HOSTILE, differences=[HOSTILE], noise=[HOSTILE])
    page = Page(render(told, [ClaimChange("x", HOSTILE, "holds", "not decided", HOSTILE)], HOSTILE, (HOSTILE, "b")))
    assert page.scripts == []
    policy = next(attrs["content"] for tag, attrs in page.elements if tag == "meta" and "http-equiv" in attrs)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    for tag, attributes in page.elements:
        for name in LOADING & attributes.keys():
            assert attributes[name].startswith(("#", "data:")), (tag, name, attributes[name])


def test_two_gpus_are_shown_by_their_shares() -> None:
    text = render(changes(*MIXED, by_share=True), [], "softmax", ("a", "b"))
    assert Page(text).table("Change %")[0][1:3] == ["90.0 %", "60.0 %"]
    assert "No verdict changed." in text


def test_the_chart_names_what_changed_most_and_counts_the_rest() -> None:
    rows = [timed(n, "ft", 1 + n / 100, "SLOWER") for n in range(1, 21)] + [timed(1, "copy", 1.0, "SAME")] * 3
    found = lanes(changes(*rows), lambda row: row.case.split()[0])
    assert [lane.label for lane in found] == [f"n={n}" for n in range(20, 8, -1)] + ["8 more slower", "3 the same"]
    assert sum(len(lane.rows) for lane in found) == len(rows)
    assert sum(lane.named for lane in found) == MOST_NAMED
    faster = [timed(n, "ft", 1 - n / 100, "FASTER") for n in range(61, 81)]
    both = [lane.label for lane in lanes(changes(*rows, *faster), lambda row: row.case.split()[0])]
    assert both[5:8] == ["n=15", "14 more slower", "n=80"]
    assert sum(label.startswith("n=") for label in both) == MOST_NAMED
    by_share = lanes(changes(*rows, by_share=True), lambda row: row.case.split()[0])
    assert by_share[-2].label == "8 more farther from the ceiling"
    for chart in charts(changes(*rows), lambda row: f"ft, {row.case}"):
        texts = re.findall(r"<text[^>]*>([^<]+)</text>", chart.svg)
        assert {"+20.0", "ft, n=20 dtype=float32", "8 more slower", "0"} <= set(texts), texts


@pytest.mark.parametrize("name", ["ft", "an_implementation_with_a_name_of_more_than_sixty_characters"])
def test_the_title_of_the_axis_is_whole(name: str) -> None:
    for chart in charts(changes(*MIXED, by_share=True), lambda row: name):
        figure = chart.figure()
        (axis,) = figure.axes
        figure.draw_without_rendering()
        box = axis.xaxis.label.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the recorded run in which oneflow takes four times as long, cold."""
    run = slowed(read_run(SOFTMAX), 4, lambda row: row.implementation == "oneflow" and row.cache == "cold")
    return write_copy(run, tmp_path_factory.mktemp("slower") / "run")


def test_the_command(slower: Path, command: Command) -> None:
    before = sorted(path.name for path in SOFTMAX.iterdir())
    code, out, _ = command("report", str(SOFTMAX), str(slower))
    assert code == 0
    lines = out.splitlines()
    timed = sum(bool(row.times) for row in read_run(SOFTMAX).rows)
    assert lines[0].startswith("1 published claim got another verdict: softmax-four-kernels (holds, then "), lines
    assert lines[1].startswith(f"8 of {timed} rows are slower: the largest is oneflow, seq="), lines
    assert lines[1].endswith("with 300 % more time.")
    assert lines[-1] == f"written to {slower / 'changes.html'}"
    assert sorted(path.name for path in SOFTMAX.iterdir()) == before
    page = Page((slower / "changes.html").read_text())
    assert len(page.table("Change %")) == 8
    changed = {row[0].split()[-1]: row[1:] for row in page.table("Claim")}
    assert changed, "oneflow is no longer faster than ft: a verdict must differ"


def test_the_page_of_a_recorded_run_goes_elsewhere(
    slower: Path, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(places, "runs", lambda: tmp_path)
    _, out, _ = command("report", str(slower), str(SOFTMAX))
    assert out.splitlines()[-1] == f"written to {tmp_path / 'h200-softmax' / 'changes.html'}"
    _, out, _ = command("report", str(slower), str(SOFTMAX), "--out", str(tmp_path / "x.html"))
    assert (tmp_path / "x.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "softmax softmax softmax",
            "report softmax softmax softmax: expected one run, two, or folders of runs, got 3 runs",
        ),
        ("softmax softmax --baseline ft", "--baseline ft: of two runs the first is the baseline; leave the option out"),
        ("softmax softmax_half", "of 'softmax_half'; expected two runs of one suite"),
        (
            "simulated/softmax simulated/softmax",
            "a run of the simulator, which has no times; expected two runs of a GPU",
        ),
        ("softmax nothere", "no run 'nothere': neither a run's folder nor the name of a run or suite"),
    ],
)
def test_mistakes_are_one_message_and_exit_2(
    arguments: str, said: str, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(places, "runs", lambda: tmp_path)
    words = [word.replace("simulated/", str(places.RECORDED / "simulated") + "/") for word in arguments.split()]
    assert said in refused(command("report", *words))


MEASURE = """\
<body><iframe id="f" src="{page}" style="border: 0; width: {width}px; height: 900px"></iframe><script>
onload = () => {{
  const page = document.getElementById("f").contentDocument;
  const inner = [...page.querySelectorAll("table, figure, svg")].filter(one => one.getClientRects().length);
  const right = Math.max(...inner.map(one => one.getBoundingClientRect().right));
  const chart = [...page.querySelectorAll("figure svg")].find(one => one.getClientRects().length);
  document.title = JSON.stringify([page.documentElement.scrollWidth, right, chart.getBoundingClientRect().bottom]);
}};
</script></body>
"""


@pytest.mark.skipif(not shutil.which("chromium"), reason="no chromium here")
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_scrolls_sideways_and_the_chart_is_on_the_first_screen(
    slower: Path, width: int, tmp_path: Path
) -> None:
    rows = [timed(n, f"an_implementation_with_a_long_name_{n}", 1 + n / 100, "SLOWER") for n in range(1, 21)]
    page = tmp_path / "page.html"
    page.write_text(render(changes(*rows, *MIXED), [], "softmax", ("a/long/path/of/a/run" * 5, "b")))
    frame = tmp_path / "frame.html"
    frame.write_text(MEASURE.format(page=page.as_uri(), width=width))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"]
    command = ["chromium", *options, "--virtual-time-budget=3000", "--dump-dom", frame.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = re.search(r"<title>(.*?)</title>", done.stdout)
    assert found, done.stdout[:2000]
    scrolled, right, bottom = json.loads(found[1])
    assert scrolled <= width
    assert right <= width
    if width == 1280:
        assert bottom <= 900
