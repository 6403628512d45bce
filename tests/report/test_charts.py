"""Charts: all of them written, the same bytes each time, every implementation named."""

import dataclasses
import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from kernelbench.compare.answer import judge_run
from kernelbench.compare.verdicts import CaseVerdict, ClaimPart, ClaimVerdict
from kernelbench.core import places
from kernelbench.core.errors import RunWarning
from kernelbench.report import charts, line_charts, style, view
from kernelbench.report.claim_chart import LEGEND, claim_figure
from kernelbench.report.speedups import TICKS, speedup_figure
from kernelbench.runs.results import Run, read_run

PHONE = 358  # pixels for a chart where the screen has 390
EXPECTED = {"time-cold", "time-warm", "speedup-cold", "speedup-warm", "ceiling"}


@pytest.fixture(scope="module")
def written(example, tmp_path_factory):
    folder = tmp_path_factory.mktemp("charts")
    charts.write_charts(charts.all_charts(example.run, example.comparison), folder)
    return folder


def test_every_chart_as_png_and_svg(written):
    assert {path.name for path in written.iterdir()} == {
        f"{name}.{kind}" for name in EXPECTED for kind in ("png", "svg")
    }
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written.glob("*.png"))


def test_svg_is_the_same_each_time_and_has_no_date(example, written):
    again = {chart.name: style.svg(chart.figure()) for chart in charts.all_charts(example.run, example.comparison)}
    assert set(again) == EXPECTED
    for name, text in again.items():
        assert text == (written / f"{name}.svg").read_text()
        assert not re.search(r'id="\w*[0-9a-f]{10}"', text)  # a hash of coordinates, which depends on the processor
        assert "dc:date" not in text


def test_a_text_that_looks_like_an_id_stays():
    figure = Figure()
    figure.subplots().set_title('"a0123456789" #b0123456789')
    text = style.svg(figure)
    assert "a0123456789" in text
    assert "b0123456789" in text


def test_text_stays_text_and_every_implementation_is_named(synthetic_run, written):
    root = ET.parse(written / "time-cold.svg")
    texts = {node.text for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert set(view.implementation_names(synthetic_run)) <= texts
    assert {"16", "1024", "10 µs", "1 ms", "empty kernel, by events", "empty kernel, by graph"} <= texts


def test_published_speedups_stand_beside_measured_ones(written):
    text = (written / "speedup-cold.svg").read_text()
    assert "published, A100-PCIE-40GB" in text
    assert "2.74" in text


def test_inline_svg_uses_variables_and_unique_ids(example):
    made = [
        style.inline_svg(chart.svg, chart.name, 'a "label" <b>')
        for chart in charts.all_charts(example.run, example.comparison)
    ]
    ids = [name for text in made for name in re.findall(r'\bid="([^"]+)"', text)]
    assert ids
    assert len(ids) == len(set(ids))
    for text in made:
        assert text.startswith("<svg viewBox=")
        assert 'aria-label="a &quot;label&quot; &lt;b&gt;"' in text
        assert "var(--ink)" in text
        whole = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
        assert f"M 0 {whole[2]}\nL {whole[1]} {whole[2]}" not in text, "it hides the shade of a narrow screen"
        assert not [colour for colour in style.VARIABLES if colour in text]
        references = set(re.findall(r'(?:href="#|url\(#)([\w-]+)', text))
        assert references <= set(re.findall(r'\bid="([^"]+)"', text))


def test_one_panel_a_dtype_and_groups_where_two_axes_vary(make_example):
    example = make_example(("float32", "float16"), (8, 32))
    figure = line_charts.time_figure(example.run, example.comparison, "cold")
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["float32, cold", "float16, cold"]
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"seq\nbatch=8", "seq\nbatch=32"} <= texts


def test_names_are_spread_without_overlap_and_in_order():
    places = line_charts.spaced([5.0, 5.0, 5.1, 90.0], step=10.0, low=0.0, high=100.0)
    assert places == sorted(places)
    assert all(later - earlier >= 10.0 for earlier, later in itertools.pairwise(places))
    crowded = line_charts.spaced([50.0] * 30, step=10.0, low=0.0, high=100.0)
    assert min(crowded) >= -1e-9
    assert max(crowded) <= 100.0 + 1e-9


def test_a_run_without_comparison_or_times_has_the_charts_it_can_have(example):
    assert {chart.name for chart in charts.all_charts(example.run, ())} == {"time-cold", "time-warm", "ceiling"}
    refused = Run(example.run.folder, {}, tuple(row for row in example.run.rows if row.status != "ok"))
    assert charts.all_charts(refused, ()) == []


def test_callers_matplotlib_settings_are_left_alone(example):
    import matplotlib

    before = matplotlib.rcParams["font.size"]
    with style.house_style():
        assert matplotlib.rcParams["font.size"] != before
    assert matplotlib.rcParams["font.size"] == before


@pytest.mark.parametrize(
    ("column", "count", "said"),
    [
        ("implementation", 201, "it has 201 implementations, charts show at most 200"),
        ("case", 301, "it has 301 cases, charts show at most 300"),
        ("axes", 2001, "it has 2001 rows, charts show at most 2000"),
    ],
)
def test_a_run_of_very_many_has_no_charts_and_that_is_told(example, column: str, count: int, said: str) -> None:
    """5,000 implementations took two minutes and 2.4 GB."""
    rows = tuple(dataclasses.replace(example.run.rows[0], **{column: f"n{number}"}) for number in range(count))
    run = dataclasses.replace(example.run, rows=rows)
    with pytest.warns(RunWarning, match=f"no charts: {said}"):
        assert charts.all_charts(run, example.comparison) == []
    few = dataclasses.replace(run, rows=rows[:10])
    assert charts.all_charts(few, example.comparison)


def test_a_claim_whose_direction_is_met_and_size_is_not_has_a_sign_of_its_own():
    part = ClaimPart("faster", "set here", "why", "yes")
    cases = (
        CaseVerdict("a", "a", 3.0, "", direction=True, size=False, required=(1.6, 2.5)),
        CaseVerdict("b", "b", 2.0, "", direction=True, size=True, required=(1.6, 2.5)),
        CaseVerdict("c", "c", 0.9, "", direction=False, size=False, required=(1.6, 2.5)),
    )
    verdict = ClaimVerdict("id", "title", "holds in part", "", cases, part, part)
    (legend,) = claim_figure("faster", verdict).legends
    assert [text.get_text() for text in legend.get_texts()] == ["met", "direction met, size not", "not met", "required"]


def test_what_is_required_is_drawn_whole_where_its_nearer_end_is_near():
    part = ClaimPart("2 times", "stated", "twice", "no")
    case = CaseVerdict("a", "a", 1.1, "", size=False, required=(1.6, 2.5))
    (axis,) = claim_figure("faster", ClaimVerdict("id", "title", "does not hold", "", (case,), None, part)).axes
    assert axis.get_xlim()[1] > 2.5


def test_a_claims_chart_is_readable_on_a_telephone():
    """All of it, however long its labels are, and with every sign in the legend."""
    part = ClaimPart("faster", "set here", "why", "yes")
    outcomes = ((3.0, True, False, False), (2.0, True, True, False), (0.9, False, False, False),
                (1.0, None, None, False), (1.04, True, True, True))  # fmt: skip
    cases = tuple(
        CaseVerdict(
            str(number), f"n=16777216 dtype=bfloat16 side=store offset={number}", measured, "", direction=direction,
            size=size, required=(1.6, 2.5), published=2.0, below_floor=short,
        )
        for number, (measured, direction, size, short) in enumerate(outcomes)
    )  # fmt: skip
    figure = claim_figure("bandwidth_share", ClaimVerdict("id", "title", "holds in part", "", cases, part, part))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(LEGEND)
    box = figure.get_tightbbox()
    assert 0 <= box.x0 <= box.x1 <= figure.get_figwidth()
    assert 0 <= box.y0 <= box.y1 <= figure.get_figheight()
    sizes = {text.get_fontsize() for text in figure.findobj(Text) if text.get_text()}
    assert min(sizes) * PHONE / (72 * figure.get_figwidth()) >= 9
    assert figure.axes[0].get_position().width >= 0.4, "long labels leave room for the plot"
    lowest = figure.axes[0].xaxis.label.get_window_extent().y0
    assert figure.legends[0].get_window_extent().y1 <= lowest, "the legend lies below what the axis says"


def test_low_panels_have_few_ticks():
    relu = judge_run(read_run(places.RECORDED / "h200" / "relu"))
    figure = speedup_figure(relu.run, relu.comparison, "cold")
    assert len(figure.axes) == 3, "a panel per dtype, each of them low"
    for axis in figure.axes:
        low, high = axis.get_ylim()
        shown = [tick for tick in axis.get_yticks() if low <= tick <= high]
        assert 2 <= len(shown) <= TICKS[2] + 1, shown


def test_the_title_of_the_speedups_stands_beside_the_panels():
    reduce_sum = judge_run(read_run(places.RECORDED / "h200" / "peers" / "peers_reduce_sum"))
    figure = speedup_figure(reduce_sum.run, reduce_sum.comparison, "cold")
    (axis,) = figure.axes
    box = axis.get_position()
    assert figure._supylabel.get_position()[1] == pytest.approx((box.y0 + box.y1) / 2)


def test_published_figures_are_explained_where_there_are_some():
    def caption(*folder: str) -> str:
        found = judge_run(read_run(places.RECORDED.joinpath(*folder)))
        made = charts.all_charts(found.run, found.comparison)
        return next(chart.caption for chart in made if chart.name == "speedup-cold")

    assert "published" in caption("h200", "softmax")
    assert "published" not in caption("h100", "peers", "peers_log_softmax"), "none of a kernel that is drawn"


@pytest.mark.parametrize(("x", "times", "at"), [(0.9, 1.2, "left"), (0.1, 1.2, "right"), (0.9, 2.5, "left")])
def test_the_name_of_a_floor_covers_no_points(example, x, times, at):
    """A name is higher, as a factor, where the panel shows times that are far apart."""
    axis = Figure().subplots()
    axis.set_xlim(0, 1)
    floor = example.run.environment["limits"]["floor_s"]
    rows = view.shown_rows(example.run)
    marks = [(x, times), (0.5, 1e5)]
    places = [
        line_charts.PlottedPoint(where, line_charts.Mark("a", "ours", factor * floor), None) for where, factor in marks
    ]
    line_charts._floor_lines(axis, example.run, rows, places)
    (name,) = [text for text in axis.texts if text.get_text() == "empty kernel, by events"]
    assert name.get_horizontalalignment() == at


def test_long_names_of_cases_leave_each_panel_its_height_and_ticks():
    shown = judge_run(read_run(places.RECORDED / "h100" / "peers" / "draw_axis_unseen"))
    figure = speedup_figure(shown.run, shown.comparison, "cold")
    for axis in figure.axes:
        low, high = axis.get_ylim()
        assert axis.get_position().height * figure.get_figheight() >= 0.89
        assert sum(low <= tick <= high for tick in axis.get_yticks()) >= 3
