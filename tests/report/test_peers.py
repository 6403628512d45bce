"""Ours beside peers: who counts as ours, whom it is held against, and what the curves show."""

import dataclasses
from collections.abc import Callable

import pytest

from kernelbench.report import (
    charts,
    copies,
    html_page,
    line_charts,
    origins,
    page_sections,
    peer_texts,
    peers,
    shares,
    view,
)
from kernelbench.report.origins import Published
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row
from tests.report.printed import printed

ORIGINS = {"ours": "written here", "ours_too": "written here", "theirs": "somebody"}
ROLES = {
    "torch": "peer", "cudnn": "peer", "copy": "yardstick", "copy_1": "yardstick", "copy_streamed": "yardstick",
}  # fmt: skip
SECONDS = {"ours": 2.0, "ours_too": 3.0, "theirs": 1.0, "torch": 4.0, "cudnn": 3.0, "copy": 1.8}


def rows_of(example_run: Run, sizes, seconds=SECONDS) -> tuple[Row, ...]:
    """A row for each size and implementation; the values are times of 10 µs."""
    template = next(row for row in example_run.rows if row.status == "ok")
    return tuple(
        dataclasses.replace(
            template, case=f"columns={size} shape=9x{size} axis=-1 dtype=float32", implementation=name,
            role=ROLES.get(name, "kernel"), cache="cold", method="events", median_s=1e-5 * value,
            arithmetic="fast" if name == "cudnn" else "accurate", max_absolute_error=1e-8 * value,
        )
        for size in sizes
        for name, value in seconds.items()
    )  # fmt: skip


def without(run: Run, left_out: Callable[[Row], bool]) -> Run:
    return dataclasses.replace(run, rows=tuple(row for row in run.rows if not left_out(row)))


def slowed(run: Run, column: str, factor: float, *names: str) -> Run:
    """`names` take so many times as long on the case of one size."""
    rows = (
        dataclasses.replace(row, median_s=factor * row.median_s)
        if row.case.startswith(f"columns={column} ") and row.implementation in names
        else row
        for row in run.rows
    )
    return dataclasses.replace(run, rows=tuple(rows))


@pytest.fixture
def make(synthetic_run):
    def made(sizes=(1, 2, 3), baseline="torch", seconds=SECONDS) -> Run:
        known = {name: {"origin": {"project": ORIGINS.get(name, "a library")}} for name in seconds}
        environment = {**synthetic_run.environment, "baseline": baseline, "claims": [], "implementations": known}
        return dataclasses.replace(synthetic_run, rows=rows_of(synthetic_run, sizes, seconds), environment=environment)

    return made


def test_the_fastest_of_ours_is_held_against_the_fastest_peer(make):
    pair, *_ = found = peers.peer_cases(make())
    assert len(found) == 3
    assert (pair.ours.name, pair.best.name) == ("ours", "cudnn")
    assert pair.ahead == pytest.approx(1.5)
    assert pair.share == pytest.approx(0.9)


def test_two_sides_are_held_against_each_other_by_the_best_method_that_both_have(make):
    def with_graphs(run: Run, *names: str, of: float = 0.5) -> Run:
        graphs = (
            dataclasses.replace(row, method="graph", median_s=of * row.median_s)
            for row in run.rows
            if row.implementation in names
        )
        return dataclasses.replace(run, rows=(*run.rows, *graphs))

    every = with_graphs(make(sizes=(1,)), *SECONDS)
    (pair,) = peers.peer_cases(with_graphs(make(sizes=(1,)), *(name for name in SECONDS if name != "torch")))
    assert (pair.ours.seconds, pair.best.name) == (1e-5, "cudnn"), "torch holds nobody back"
    assert pair.best.seconds == pytest.approx(1.5e-5)
    assert {side.name: side.ratio for side in pair.peers} == pytest.approx({"torch": 2.0, "cudnn": 1.5})
    (pair,) = peers.peer_cases(with_graphs(make(sizes=(1,)), "ours", "ours_too", "torch", "copy", of=0.25))
    assert (pair.ours.seconds, pair.best.name) == (2e-5, "cudnn"), "ours by the method of the best"
    assert pair.share == pytest.approx(0.9)
    (pair,) = peers.peer_cases(with_graphs(make(sizes=(1,)), "ours_too", "cudnn", of=0.1))
    assert (pair.ours.name, pair.ours.seconds, pair.ahead) == ("ours", 2e-5, pytest.approx(1.5)), "one has no graph"
    (pair,) = peers.peer_cases(every)
    assert pair.share == pytest.approx(0.9)
    no_common = without(every, lambda row: (row.implementation == "ours") != (row.method == "graph"))
    assert peers.peer_cases(no_common) == [], "nothing that ours have"


def test_a_run_whose_baseline_is_no_peer_has_no_such_table(make, synthetic_run):
    assert peers.own_kernels(make()) == ["ours", "ours_too"], "not what is somebody's"
    assert peers.peer_cases(make(baseline="theirs")) == []
    assert peer_texts.table(make(baseline="theirs")) is None
    assert peer_texts.section(synthetic_run) is None


def test_a_case_without_ours_or_a_peer_is_left_out(make):
    run = make()
    no_peer = without(run, lambda row: row.case == run.rows[0].case and row.role == "peer")
    assert len(peers.peer_cases(no_peer)) == 2
    no_copy = without(run, lambda row: row.role == "yardstick")
    assert {pair.share for pair in peers.peer_cases(no_copy)} == {None}


def test_lines_give_errors_beside_times_and_mark_fast_arithmetic(make):
    run = make()
    found, labels = peers.peer_cases(run), view.case_labels(view.words_by_case(run))
    assert peer_texts.case_lines(found, labels)[0] == (
        "columns=1", "ours", "20.00 µs", "2e-08", "cudnn", "30.00 µs", "3e-08~", "1.50x", "0.90",
    )  # fmt: skip
    assert peer_texts.peer_lines(run, found) == [
        ("ours (ours)", "3", "", "", "", "2e-08", ""),
        ("cudnn", "3", "3", "1.50x", "1.50x", "3e-08~", "version not recorded"),
        ("torch", "3", "0", "2.00x", "2.00x", "4e-08", "version not recorded"),
    ]
    first, second = peer_texts.peer_sentences(run, found, labels)
    assert first.startswith("The best peer takes 1.50x our time over 3 cases (geometric mean), and 1.50x at the lowest")
    assert second == "Ours is at least 0.90 times as fast as the copy (columns=1); the yardstick is one copy kernel."


def test_a_graded_library_has_its_error_in_ulp_beside_its_time(make):
    run = make()
    first = run.rows[0].case
    rows = (
        dataclasses.replace(
            row,
            max_error_ulp=1.13 if row.implementation == "cudnn" else 0.5,
            check="graded" if row.case == first and row.implementation == "cudnn" else "passed",
        )
        for row in run.rows
    )
    run = dataclasses.replace(run, rows=tuple(rows))
    found, labels = peers.peer_cases(run), view.case_labels(view.words_by_case(run))
    assert [line[6] for line in peer_texts.case_lines(found, labels)] == ["3e-08~ 1.1 ulp", "3e-08~", "3e-08~"]
    assert peer_texts.peer_lines(run, found)[1][5] == "3e-08~ 1.1 ulp"
    said = (
        "cudnn rounds beyond the tolerance on 1 of its 3 cases: there it is off by up to 1.1 ulp, and ours by up to "
        "0.5 ulp."
    )
    assert peer_texts.peer_sentences(run, found, labels)[-1] == said
    assert "1.1 ulp" in printed(peer_texts.table(run))
    assert said in html_page.render(run, (), (), Published())


def test_a_peer_has_its_version_where_the_run_states_it(make):
    run = make()
    versions = {"torch": "2.11.0", "nvidia-cudnn-cu13": "9.21.0.82"}
    stated = dataclasses.replace(run, environment={**run.environment, "versions": versions})
    assert [line[6] for line in peer_texts.peer_lines(stated, peers.peer_cases(stated))] == [
        "", "nvidia-cudnn-cu13 9.21.0.82", "torch 2.11.0",
    ]  # fmt: skip
    shown = {one["name"]: one["version"] for one in origins.implementation_origins(stated)}
    assert (shown["torch"], shown["ours"], shown["copy"]) == ("torch 2.11.0", "", "")
    assert "torch 2.11.0" in html_page.render(stated, (), (), Published())
    skipped = dataclasses.replace(stated, rows=tuple(dataclasses.replace(row, status="skipped") for row in stated.rows))
    assert {one["version"] for one in origins.implementation_origins(skipped)} == {""}, (
        "what did not run has no version"
    )
    assert origins.version(run, "softmax/quack") == origins.NOT_RECORDED, "of a step"
    assert origins.version(run, "somebodys_own") == ""


def test_the_mean_is_geometric(make):
    run = slowed(make(sizes=(1, 2)), "1", 4, "ours")  # ours_too is faster there, at 3
    assert peer_texts.peer_sentences(run, peers.peer_cases(run), view.case_labels(view.words_by_case(run)))[
        0
    ].startswith("The best peer takes 1.22x our time over 2 cases (geometric mean), and 1.00x at the lowest")


def test_the_terminal_says_whose_times_these_are(make):
    text = printed(peer_texts.table(make()))
    assert "Ours beside the best peer, cold: ours" in text
    assert "Each peer beside ours, cold" in text


def test_the_page_has_the_section_for_such_a_run_alone(make, example):
    text = html_page.render(make(), (), (), Published())
    assert 'id="peers"' in text
    assert ">Mean time / ours<" in text, "as the heads of other tables"
    assert "3e-08~" in text
    assert 'id="peers"' not in html_page.render(example.run, example.comparison, (), Published())
    assert page_sections.header(make(), (), ())["measured"] == 18


# ---- curves --------------------------------------------------------------------------------------


def test_curves_follow_the_one_size_of_a_case(make):
    run = make(sizes=(1, 2, 4, 8, 16, 17))
    ((along, (curve,)),) = peers.curves(run).items()
    assert (along, list(curve.points)) == ("columns", [1, 2, 4, 8, 16, 17])
    assert curve.title == "float32"
    assert peers.curves(make(sizes=(1, 2))) == {}, "too few points"
    assert peers.curves(make(sizes=(1, 2, 4, 8, 16, 17), baseline="theirs")) == {}


SEVERAL = {**SECONDS, "copy_1": 1.6, "copy_streamed": 1.9}


def test_the_yardstick_is_the_best_of_several_copies(make):
    run = slowed(make(seconds=SEVERAL), "2", 2, "copy_1")
    found, labels = peers.peer_cases(run), view.case_labels(view.words_by_case(run))
    assert [pair.share for pair in found] == pytest.approx([0.8, 0.9, 0.8]), "case by case"
    said = (
        "Ours is at least 0.80 times as fast as the copy (columns=1); "
        "the yardstick is the best of copy, copy_1, copy_streamed."
    )
    assert peer_texts.peer_sentences(run, found, labels)[1] == said
    assert {row.implementation for row in copies.best_copy_rows(run.rows).values()} == {"copy", "copy_1"}
    faster = (dataclasses.replace(row, cache="warm", median_s=row.median_s / 9) for row in run.rows)
    graphs = (dataclasses.replace(row, method="graph", median_s=row.median_s / 9) for row in run.rows)
    more = dataclasses.replace(run, rows=(*run.rows, *faster, *(row for row in graphs if row.role == "yardstick")))
    assert [pair.share for pair in peers.peer_cases(more)] == pytest.approx([0.8, 0.9, 0.8]), (
        "in its cache and method alone"
    )


def test_a_copy_without_a_time_is_no_yardstick(make):
    run = make(seconds=SEVERAL)
    rows = (
        dataclasses.replace(row, status="skipped", median_s=None) if row.implementation == "copy_1" else row
        for row in run.rows
    )
    run = dataclasses.replace(run, rows=tuple(rows))
    assert [pair.share for pair in peers.peer_cases(run)] == pytest.approx(3 * [0.9])
    assert copies.note(run) == "the best of copy, copy_streamed"


def test_charts_draw_the_best_copy_alone(make):
    run = make(sizes=(1, 2, 4, 8, 16), seconds=SEVERAL)
    (drawn,) = peers.curves(run).values()
    (axis,) = shares.share_figure(run, (), "columns", drawn).axes
    drawn_lines = {str(line.get_label()): list(line.get_ydata()) for line in axis.lines}
    assert drawn_lines["ours"] == pytest.approx(5 * [0.8])
    (chart,) = (one for one in charts.all_charts(run, ()) if one.name == "share-columns")
    assert "(the best of copy, copy_1, copy_streamed)" in chart.caption
    (axis,) = line_charts.time_figure(run, (), "cold").axes
    labels = {str(line.get_label()) for line in axis.lines}
    assert "best copy" in labels
    assert not labels & {"copy", "copy_1", "copy_streamed"}
    one = make(sizes=(1, 2, 4, 8, 16))
    (axis,) = line_charts.time_figure(one, (), "cold").axes
    assert "copy" in {str(line.get_label()) for line in axis.lines}, "of one copy, as before"
    (chart,) = (one for one in charts.all_charts(one, ()) if one.name == "share-columns")
    assert "(one copy kernel)" in chart.caption


def test_a_curve_is_the_copys_time_over_that_of_each(make):
    run = make(sizes=(1, 2, 4, 8, 16))
    (drawn,) = peers.curves(run).values()
    (axis,) = shares.share_figure(run, (), "columns", drawn).axes
    shown = {str(line.get_label()): list(line.get_ydata()) for line in axis.lines}
    assert shown["ours"] == pytest.approx(5 * [0.9])
    assert shown["torch"] == pytest.approx(5 * [0.45])
    assert "copy" not in shown


def test_the_largest_fall_between_neighbours_of_a_sweep_is_named(make):
    run = slowed(make(sizes=range(1, 41)), "17", 1.25, "ours", "ours_too")
    found, labels = peers.peer_cases(run), view.case_labels(view.words_by_case(run))
    assert (
        peer_texts.peer_sentences(run, found, labels)[-1]
        == "From one size to the next it falls by at most 20 % (columns=17)."
    )
    few = make(sizes=(1, 2, 4, 8, 16))
    assert len(peer_texts.peer_sentences(few, peers.peer_cases(few), labels)) == 2, (
        "sizes far from one another are no neighbours"
    )


def test_a_long_sweep_has_curves_in_place_of_bars(make):
    names = {chart.name for chart in charts.all_charts(make(sizes=range(1, 41)), ())}
    assert "share-columns" in names
    assert "time-cold" not in names
    few = {chart.name for chart in charts.all_charts(make(sizes=range(1, 8)), ())}
    assert {"share-columns", "time-cold"} <= few


def test_the_page_opens_with_who_is_ahead(make):
    assert peer_texts.peers_headline(peers.peer_cases(make())) == (
        "Ours is ahead of both peers: the nearest, cudnn, takes 1.50x our time "
        "(geometric mean over 3 cases in common). Case by case, a peer is faster on none of 3."
    )
    behind = slowed(make(sizes=(1, 2)), "1", 2.2, "ours", "ours_too")
    few = without(behind, lambda row: row.implementation == "torch" and row.case.startswith("columns=2 "))
    assert peer_texts.peers_headline(peers.peer_cases(few)) == (
        "Ours is ahead of 1 of 2 peers: the fastest, torch, takes 0.91x our time "
        "(geometric mean over 1 case in common). Case by case, a peer is faster on 1 of 2."
    )
    last = slowed(make(sizes=(1,)), "1", 9, "ours", "ours_too")
    assert peer_texts.peers_headline(peers.peer_cases(last)).startswith(
        "Ours is ahead of none of 2 peers: the fastest, cudnn, takes 0.17x"
    )
    text = html_page.render(make(), (), (), Published(), charts.all_charts(make(), ()))
    assert text.index("Ours is ahead of both peers") < text.index('id="chart-peers"') < text.index('id="charts"')
    assert "3 cases" in next(one for one in charts.all_charts(make(), ()) if one.name == "peers").svg
