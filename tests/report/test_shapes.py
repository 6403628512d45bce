"""Charts that follow from the kinds of claims: curves, ladders, settings."""

from dataclasses import replace

import pytest

from kernelbench.compare import ComparedRow
from kernelbench.core import places
from kernelbench.core.counters import Counters
from kernelbench.core.records import Claim
from kernelbench.explain.counted import Counted
from kernelbench.report import charts, heat, ladders, palette, settings, sweeps, view
from kernelbench.report.origins import Published
from kernelbench.runs.results import Run, read_run
from tests.report.conftest import Example, cases_of

CURVE = {
    "operation": "softmax",
    "claim": {"of": "ft", "along": "seq", "base": 16, "size": {"bands": {64: [0.2, 0.4]}}, "dtypes": ["float32"]},
    "explanation": [{"says": "", "of": "ft", "metric": "load_sectors", "relation": "times", "than": 4}],
}
STEPS = ("tree_modulo", "tree_strided", "tree_sequential", "tree_two_loads")
NONE = ()  # a comparison of nothing


def claim(kind: str, name: str = "c", operation: str = "softmax", **stated: object) -> Claim:
    return Claim(name, "A claim", kind, ("softmax",), {"operation": operation, "claim": stated})


def with_claims(run: Run, *names: str) -> Run:
    return replace(run, environment={**run.environment, "claims": list(names)})


@pytest.fixture
def curve() -> Claim:
    return Claim("c", "A curve", "curve", ("softmax",), CURVE)


def without_shapes(example: Example) -> tuple[Run, tuple[ComparedRow, ...]]:
    """The example as if its cases differed in seq alone."""

    def cut(key: str) -> str:
        return " ".join(word for word in key.split(" ") if not word.startswith("shape="))

    rows = tuple(replace(row, case=cut(row.case)) for row in example.run.rows)
    return replace(example.run, rows=rows), tuple(replace(row, case=cut(row.case)) for row in example.comparison)


def test_a_curve_is_the_cases_that_differ_in_its_parameter_alone(curve):
    keys = [f"n=64 side={side} offset={k} stride=1" for side in ("load", "store") for k in (0, 1, 8)]
    strides = [f"n=64 side=load offset=0 stride={k}" for k in (2, 4)]
    offsets = replace(curve, document={**CURVE, "claim": {**CURVE["claim"], "along": "offset"}})
    (found,) = sweeps.case_sweeps(cases_of([*keys, *strides]), [curve, offsets])
    assert [(one.title, list(one.points)) for one in found.curves] == [
        ("side=load", [0, 1, 8]),
        ("side=store", [0, 1, 8]),
    ]
    assert found.cases == set(keys)
    assert found.metrics == ["load_sectors"]


def test_cases_on_curves_have_curves_in_place_of_times_and_speedups(example, curve):
    run, comparison = without_shapes(example)
    names = [chart.name for chart in charts.all_charts(with_claims(run, "c"), comparison, Published([curve]))]
    assert names == ["bandwidth-seq-cold", "bandwidth-seq-warm", "ceiling"]
    assert "time-cold" in [chart.name for chart in charts.all_charts(run, comparison, Published([curve]))]


def test_a_sweep_has_its_published_range_and_counts_below(example, curve):
    run, _ = without_shapes(example)
    (sweep,) = sweeps.case_sweeps(view.words_by_case(run), [curve])
    cases = [key for size, key in sweep.curves[0].points.items() if size < 100]
    counters = Counters(global_load_requests=1, global_load_sectors=5)
    counted = {case: {"ft": Counted(case, "ft", counters)} for case in cases}
    figure = sweeps.sweep_figure(run, NONE, sweep, "cold", counted)
    rate, count = figure.axes
    assert count.get_ylabel() == "sectors\nper load"
    assert list(count.lines[0].get_ydata()) == [5, 5, 5]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "published range" in labels
    assert {"ft", "copy"} <= set(labels)
    assert rate.get_ylabel() == "bandwidth, TB/s"
    only = sweeps.sweep_figure(run, NONE, sweep, "", counted)
    assert [axis.get_ylabel() for axis in only.axes] == ["sectors\nper load"]


def test_a_sweep_shows_the_best_of_several_copies(example, curve):
    run, _ = without_shapes(example)
    (sweep,) = sweeps.case_sweeps(view.words_by_case(run), [curve])
    faster = (
        replace(row, implementation="copy_1", median_s=row.median_s / 2, bandwidth_bytes_per_s=9e12)
        for row in run.rows
        if row.implementation == "copy" and row.median_s
    )
    several = replace(run, rows=(*run.rows, *faster))
    counters = Counters(global_load_requests=1, global_load_sectors=5)
    cases = sweep.curves[0].points.values()
    counted = {case: {name: Counted(case, name, counters) for name in ("ft", "copy", "copy_1")} for case in cases}
    rate, count = sweeps.sweep_figure(several, NONE, sweep, "cold", counted).axes
    shown = {str(line.get_label()): list(line.get_ydata()) for line in rate.lines}
    assert set(shown["best copy"]) == {9.0}
    assert not {"copy", "copy_1"} & set(shown)
    assert {"ft", "copy"} == {str(line.get_label()) for line in count.lines}, "one copy's counts stand for all"


def test_an_order_that_begins_another_is_part_of_its_ladder(synthetic_run):
    short, long = claim("order", "short", order=STEPS[:3]), claim("order", "long", order=STEPS)
    (found,) = ladders.published_ladders(synthetic_run, [short, long])
    assert (found.order, [one.id for one in found.claims]) == (STEPS, ["short", "long"])
    assert ladders.published_ladders(synthetic_run, [claim("order", order=STEPS[:2])]) == []
    assert ladders.published_ladders(synthetic_run, [claim("order", order=(*STEPS, "absent"))]) == []


def test_a_ladder_has_the_factor_of_each_step_and_the_published_one(example):
    order = claim("order", order=STEPS)
    figure = {"shape": "not stated", "axis": -1, "dtype": "float32", "us": dict(zip(STEPS, (8, 4, 5, 1), strict=True))}
    order.document.update(device={"name": "a GPU"}, figures=[figure])
    (ladder,) = ladders.published_ladders(example.run, [order])
    shown, cases = ladders.ladder_panels(example.run, NONE, ladder)
    assert [panel.published for panel in shown] == [True] + 6 * [False]
    assert cases == 6
    axis = ladders.ladder_figure(ladder, shown, palette.looks(example.run, NONE)).axes[0]
    texts = [text.get_text() for text in axis.texts]
    assert texts == ["8.000 µs", "4.000 µs", "2.00x", "5.000 µs", "0.80x", "1.000 µs", "5.00x"]
    assert axis.get_title(loc="left") == "published, on a GPU"


def test_a_ladder_keeps_to_the_cases_that_its_claim_is_about(example):
    (ladder,) = ladders.published_ladders(example.run, [claim("order", order=STEPS, from_columns=128)])
    assert [panel.title for panel in ladders.ladder_panels(example.run, NONE, ladder)[0]] == [
        "seq=128", "seq=512", "seq=1024",
    ]  # fmt: skip
    (lent,) = ladders.published_ladders(
        example.run, [claim("order", operation="reduce_sum", order=STEPS, from_columns=128)]
    )
    assert len(ladders.ladder_panels(example.run, NONE, lent)[0]) == 6


def test_a_ladder_times_all_steps_of_a_case_by_one_method():
    """At seq=32 the first step took over 200 µs and so has no time by graph, which the other steps have."""
    run = read_run(places.RECORDED / "h200" / "softmax")
    order = claim("order", order=STEPS)
    (ladder,) = ladders.published_ladders(run, [order])
    shown = {panel.title: panel for panel in ladders.ladder_panels(run, NONE, ladder)[0]}
    events = {
        row.implementation: row.median_s
        for row in run.rows
        if (row.axes, row.method, row.cache) == ("seq=32", "events", "cold") and row.implementation in STEPS
    }
    assert shown["seq=32"].times == events
    figure = ladders.ladder_figure(
        ladder, [replace(shown["seq=32"], times={"tree_modulo": 2e-3, "tree_strided": 1e-4})], palette.looks(run, NONE)
    )
    assert [text.get_text() for text in figure.axes[0].texts] == ["2000 µs", "100.0 µs", "20.0x", "n/a", "n/a"]


def test_numbered_variants_are_a_family_of_settings(synthetic_run):
    names = dict(zip(("tree_modulo", "tree_strided", "tree_sequential"), ("t_8", "t_2", "t_4"), strict=True))
    rows = (
        replace(row, implementation=names.get(row.implementation, row.implementation)) for row in synthetic_run.rows
    )
    run = replace(synthetic_run, rows=tuple(rows))
    best = claim("near_best", dispatched="oneflow", alternatives=["oneflow", *names.values()], size={"within": 0.05})
    (family,) = settings.families(run, [best])
    assert (family.stem, list(family.members), family.against, family.allowed) == ("t", [2, 4, 8], "oneflow", 1.05)
    figure = settings.settings_figure(run, NONE, [family], "cold")
    assert len([line for line in figure.axes[0].lines if len(line.get_xdata()) == 3]) == 6
    alike = claim("level", names=["ft", "t_8", "t_2", "t_4"])
    assert settings.families(run, [alike])[0].against == "ft"
    assert settings.families(run, [claim("level", names=["ft", "oneflow"])]) == []


def test_wide_heat_tables_are_cut_between_stretches():
    cases = [f"side={side} offset={k}" for side in ("load", "store") for k in range(14)]
    panel = heat.HeatPanel("title", cases_of(cases), [heat.Cell(case, "a", "1", 0.5) for case in cases])
    parts = heat._parts(panel)
    assert [len(part.cases) for part in parts] == [14, 14]
    assert [part.title for part in parts] == ["title", "title, continued"]
    assert [len(part.cells) for part in parts] == [14, 14]
