"""Charts that contradict neither themselves nor each other: colours, floors, empty cells, dots and lines."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

from kernelbench.report import heat, line_charts, palette, shares, speedups, style, view
from kernelbench.report.case_axis import Curve
from kernelbench.runs.results import Run
from tests.report.conftest import FLOOR, SIZES, Example, cases_of

SHAPES = ("3x5", "7x2")


def with_shapes(run: Run) -> Run:
    """Two cases that differ in their shape alone."""
    sizes = dict(zip(("seq=16", "seq=512"), SHAPES, strict=True))
    rows = []
    for row in run.rows:
        if row.axes.split(" ")[-1] in sizes:
            shape = sizes[row.axes.split(" ")[-1]]
            rows.append(replace(row, case=f"shape={shape} axis=-1 dtype=float32"))
    return replace(run, rows=tuple(rows))


def colours_in(figure) -> dict[str, set[str]]:
    """By name: the colours of its lines and markers."""
    found: dict[str, set[str]] = {}
    for axis in figure.axes:
        for line in axis.lines:
            if not str(line.get_label()).startswith("_"):
                found.setdefault(str(line.get_label()), set()).add(to_hex(line.get_color()))
    return found


def test_a_name_has_one_colour_on_every_chart(example: Example) -> None:
    run, comparison = example.run, example.comparison
    sizes = {float(words["seq"]): case for case, words in view.words_by_case(run).items()}
    figures = [
        line_charts.time_figure(run, comparison, "cold"), line_charts.time_figure(run, comparison, "warm"),
        speedups.speedup_figure(run, comparison, "cold"),
        shares.share_figure(run, comparison, "seq", [Curve("float32", sizes)]),
    ]  # fmt: skip
    looks = palette.looks(run, comparison)
    hues = [look.colour for look in looks.values() if look.highlighted]
    assert len(hues) == len(set(hues)) == 6
    assert {look.colour for look in looks.values() if not look.highlighted} == {style.MUTED, style.INK}
    for figure in figures:
        found = colours_in(figure)
        assert "oneflow" in found
        assert found == {name: {looks[name].colour} for name in found}
    assert not {style.GOOD, style.BAD, style.HEAT} & set(style.SERIES)


def test_both_floors_are_drawn_and_no_row_lies_below_its_own(example: Example) -> None:
    (axis,) = line_charts.time_figure(example.run, (), "cold").axes
    floors = {line.get_ydata()[0] for line in axis.lines if line.get_linestyle() == ":"}
    assert floors == {FLOOR, FLOOR / 3}
    assert {"empty kernel, by events", "empty kernel, by graph"} <= {text.get_text() for text in axis.texts}
    floor_of = {"events": FLOOR, "graph": FLOOR / 3}
    assert all(view.median_seconds(row) > floor_of[row.method] for row in view.shown_rows(example.run, (), "cold"))
    without = replace(example.run, environment={"limits": {"floor_s": FLOOR}})
    assert "empty kernel, by graph" not in str(
        [text.get_text() for text in line_charts.time_figure(without, (), "cold").axes[0].texts]
    )


def test_rows_timed_by_graph_are_hollow(example: Example) -> None:
    (axis,) = line_charts.time_figure(example.run, (), "cold").axes
    faces = {
        to_hex(line.get_markerfacecolor())
        for line in axis.lines
        if line.get_label() == "oneflow" and line.get_marker() != "None"
    }
    methods = {row.method for row in view.shown_rows(example.run, (), "cold")}
    assert methods == {"graph"}
    assert faces == {style.PAPER}
    events = replace(example.run, rows=tuple(row for row in example.run.rows if row.method != "graph"))
    (axis,) = line_charts.time_figure(events, (), "cold").axes
    assert style.PAPER not in {
        to_hex(line.get_markerfacecolor()) for line in axis.lines if line.get_label() == "oneflow"
    }


def test_sizes_lie_at_their_true_distances(example: Example) -> None:
    run, comparison = example.run, example.comparison
    for figure in (line_charts.time_figure(run, (), "cold"), speedups.speedup_figure(run, comparison, "cold")):
        (axis,) = figure.axes
        (line,) = (one for one in axis.lines if one.get_label() == "oneflow" and one.get_linestyle() == "None")
        gaps = np.diff(line.get_xdata())
        assert gaps == pytest.approx(np.diff(np.log2(SIZES))[: len(gaps)] * gaps[0])


def test_shapes_without_an_order_are_dots_beside_one_another(example: Example) -> None:
    (axis,) = line_charts.time_figure(with_shapes(example.run), (), "cold").axes
    drawn = [line for line in axis.lines if line.get_label() in ("ft", "oneflow")]
    assert {line.get_linestyle() for line in drawn} == {"None"}
    assert len({round(float(line.get_xdata()[0]), 6) for line in drawn}) == 2
    (axis,) = line_charts.time_figure(example.run, (), "cold").axes
    assert "-" in {line.get_linestyle() for line in axis.lines if line.get_label() == "ft"}, "sizes have an order"


def test_a_cell_without_a_number_is_hatched() -> None:
    cases = ["n=1 dtype=float32", "n=2 dtype=float32"]
    cells = [heat.Cell(cases[0], "a", "1", 0.5), heat.Cell(cases[1], "a", "2", 0.5), heat.Cell(cases[0], "b", "3", 0.5)]
    (axis,) = heat.heat_figure([heat.HeatPanel("title", cases_of(cases), cells)], ["a", "b"]).axes
    assert [patch.get_hatch() for patch in axis.patches] == [None, None, None, "////"]
    assert [text.get_text() for text in axis.texts] == ["1", "2", "3", "n/a"]


@pytest.mark.parametrize("devices", [("A100",), ("A100", "V100")])
def test_each_gpu_of_published_figures_has_its_own_marker(example: Example, devices: tuple[str, ...]) -> None:
    cited = [row for row in example.comparison if row.published_speedup]
    others = [row for row in example.comparison if not row.published_speedup]
    published = [replace(row, published_device=devices[number % len(devices)]) for number, row in enumerate(cited)]
    (axis,) = speedups.speedup_figure(example.run, [*others, *published], "cold").axes
    texts = [text.get_text() for text in axis.texts]
    assert {f"published, {device}" for device in devices} <= set(texts)
    markers = {line.get_marker() for line in axis.lines if line.get_marker() in tuple(speedups.PUBLISHED)}
    assert len(markers) == len(devices)


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("A100 PCIe 40 GB", "published, A100 PCIe 40 GB"),
        ("V100, inferred from a grid of 160 blocks, 2 per multiprocessor", "published, V100"),
        ("not stated for this comparison", "published, GPU not stated"),
        (None, "published, GPU not stated"),
    ],
)
def test_the_name_of_a_published_marker_is_short(device: str | None, said: str, example: Example) -> None:
    row = replace(example.comparison[0], published_device=device)
    assert speedups._published_on(row) == said
