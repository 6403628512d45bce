"""Tables of the terminal: at most 100 columns, nothing cut, nothing said by colour alone."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from kernelbench.core.records import Check, Tolerance
from kernelbench.core.units import time_column, time_text
from kernelbench.report import console, tables, view
from tests.report.printed import printed


def test_results_fit_100_columns_with_every_implementation_and_time(synthetic_run):
    text = printed(console.results_table(synthetic_run))
    assert "…" not in text
    squeezed = "".join(text.split())
    for name in view.implementation_names(synthetic_run):
        assert name.split("_")[-1] in squeezed
    rows = view.shown_rows(synthetic_run)
    assert len(rows) > 200
    for row in rows:
        assert time_column([0.0])(row.median_s) in text


def test_results_list_reasons(synthetic_run):
    text = printed(console.results_table(synthetic_run))
    assert "columns must be at most 1000, got 1024" in text
    assert "wrong" in text
    assert "unsupported" in text
    assert "misaligned address" in text


def test_wide_intervals_are_marked(synthetic_run):
    row = replace(synthetic_run.rows[0], median_s=1e-5, low_s=0.98e-5, high_s=1.02e-5, floor_limited="")
    assert console._time_cell(row, time_text) == "10.00 µs\n±2.0 %"
    assert console._time_cell(replace(row, low_s=0.999e-5, high_s=1.001e-5), time_text) == "10.00 µs"


def test_times_near_the_floor_and_disturbed_ones_are_marked_and_told(synthetic_run):
    rows = [replace(row, floor_limited="") for row in synthetic_run.rows]
    plain = printed(console.results_table(replace(synthetic_run, rows=tuple(rows))))
    assert not {"°", "!"} & set(plain)
    assert "Disturbed" not in plain
    at = [
        number
        for number, row in enumerate(rows)
        if (row.implementation, row.status, row.cache) == ("oneflow", "ok", "cold")
    ]
    for number in at:
        near = "yes" if number in at[:2] else ""
        rows[number] = replace(rows[number], disturbed="12 of 40 samples beside another process", floor_limited=near)
    text = printed(console.results_table(replace(synthetic_run, rows=tuple(rows))))
    assert " µs°!" in text
    assert " µs!" in text
    assert "°: floor-limited" in text
    told = text[text.index("Disturbed") :]
    assert "cold: 12 of 40 samples beside another process" in " ".join(told.split())
    assert "oneflow" in told


def test_comparison_fits_100_columns_with_every_row(example):
    text = printed(console.comparison_table(example.comparison, example.run))
    assert "…" not in text
    for row in example.comparison:
        line = [line for line in text.splitlines() if line.split()[:1] == [row.implementation]]
        assert any(time_column([0.0])(row.median_s) in one for one in line), row
    assert "2.74x" in text
    assert "published: on A100-PCIE-40GB" in text
    assert text.count("baseline") == 10  # 5 sizes, cold and warm
    assert "seq=1024: ft: columns must be at most 1000, got 1024" in text


def test_reasons_of_one_implementation_that_differ_in_numbers_are_one_line(example):
    first = next(row for row in example.comparison if not row.is_baseline)
    cases = list(dict.fromkeys(row.case for row in example.comparison))
    rows = [
        replace(first, implementation=name, case=case, reason=f"{name}: wrong ({9 + place} of 99 wrong, got {place}.5)")
        for place, case in enumerate(cases)
        for name in ("tree_v1", "tree_v2")
    ]
    text = " ".join(printed(console.comparison_table(rows, example.run)).split())
    assert "seq=16: tree_v1: wrong (9 of 99 wrong, got 0.5); alike on seq=32, seq=64, seq=128 and" in text
    assert text.count("tree_v1: wrong") == text.count("tree_v2: wrong") == 1


def test_a_comparison_says_why_published_cells_are_empty(example):
    note = "published: empty where nothing was published."
    assert note in printed(console.comparison_table(example.comparison, example.run))
    filled = [row for row in example.comparison if row.published_speedup or row.implementation == row.baseline]
    assert note not in printed(console.comparison_table(filled, example.run))
    nowhere = [replace(row, published_speedup=None) for row in example.comparison]
    assert note not in printed(console.comparison_table(nowhere, example.run))


def test_unsure_rows_say_on_screen_how_many_samples_would_decide(example):
    unsure = {"verdict": "UNSURE", "more_samples": 240, "reason": "about 240 more samples of each would .."}
    rows = [replace(row, **unsure) if row.implementation == "naive" else row for row in example.comparison]
    text = printed(console.comparison_table(rows, example.run))
    assert text.count("UNSURE +240") == sum(row.implementation == "naive" for row in rows) > 0
    assert text.count("UNSURE +N: about N more samples of each would decide.") == 2  # cold and warm
    assert "about 240 more" not in text, "once is enough"
    assert "UNSURE +N" not in printed(console.comparison_table(example.comparison, example.run))


def test_comparison_names_methods_and_devices_where_they_differ(example):
    rows = [
        replace(
            row,
            method="graph" if row.implementation == "naive" else row.method,
            published_device="Other GPU" if "seq=32 " in row.case and row.claim else row.published_device,
        )
        for row in example.comparison
    ]
    text = printed(console.comparison_table(rows, example.run))
    line = next(line for line in text.splitlines() if line.split()[:1] == ["naive"])
    assert line.split()[1] == "graph"
    assert "Other" in text


def test_a_narrow_table_names_the_columns_it_leaves_out_and_does_not_explain_them(example):
    explained = "95 %: half width of the interval"
    wide, narrow = (
        " ".join(printed(console.comparison_table(example.comparison, example.run), width=at).split())
        for at in (100, 60)
    )
    assert explained in wide
    assert "Not shown" not in wide
    assert explained not in narrow
    assert "Not shown at 60 characters per line: 95 %; a wider terminal shows them." in narrow


def test_a_narrow_check_keeps_the_share_of_what_is_allowed():
    check = Check(True, 7, 100, 0, 2e-3, 1.0, Tolerance(1e-5, 4e-3), "", share_of_tolerance=0.0832)
    entries = [("inputs=uniform", "oneflow", "unsupported", check), ("inputs=masked", "ft", "ok", None)]
    for width, others in ((60, []), (80, ["2.0e-03", "1.0e+00"]), (100, ["2.0e-03", "4.0e-03", "1.0e+00", "1.0e-05"])):
        text = printed(tables.check_table(entries), width=width)
        row = next(line for line in text.splitlines() if "oneflow" in line)
        assert row.split() == ["inputs=uniform", "oneflow", "unsupported", "8.32", "%", *others]
        said = " ".join(text.split())
        assert "an error may exceed either of the two" in said
        assert ("allowed abs., allowed rel.; a wider" in said or "abs. error, allowed abs." in said) == (width < 100)


def test_comparison_with_published_times_names_the_gpu_and_its_share(example):
    rows = [
        replace(row, baseline="published", published_speedup=None, speedup=row.speedup if row.claim else None)
        for row in example.comparison
    ]
    text = printed(console.comparison_table(rows, example.run))
    line = next(line for line in text.splitlines() if line.split()[:1] == ["oneflow"])
    assert "28 %" in line
    assert "published: on A100-PCIE-40GB" in text


def test_a_baseline_without_a_time_is_not_called_one(example):
    rows = [
        replace(row, median_s=None, speedup=None) if row.implementation == "ft" else row for row in example.comparison
    ]
    text = printed(console.comparison_table(rows, example.run))
    assert not [line for line in text.splitlines() if line.split()[:1] == ["ft"] and "baseline" in line]


def test_comparison_of_nothing(example):
    assert printed(console.comparison_table((), example.run)).strip() == ""


def test_claims_table_says_verdicts_in_words(example):
    text = printed(console.claims_table(example.verdicts))
    for verdict in example.verdicts:
        assert verdict.id in text
        assert verdict.verdict in text
    assert re.search(r"direction +yes +OneFlow is faster \(stated: “faster", text)
    assert re.search(r"size +in part +at most 1.05 times \(set here: a reason\)", text)


def test_limits_line(synthetic_run):
    line = console.limits_line(synthetic_run)
    assert line == (
        "Fake GPU: an empty kernel takes 2.100 µs (floor, by graph 0.7000 µs); "
        "the best copy reaches 1.80 TB/s (ceiling, 16 bytes a thread, block 256)"
    )


@pytest.mark.parametrize("limits", [None, {}])
def test_limits_line_without_limits(synthetic_run, limits):
    run = replace(synthetic_run, environment={"limits": limits})
    assert console.limits_line(run) == "an unknown GPU: floor and ceiling are not known"


def test_build_table_flags_inputs_never_read():
    lines = [
        tables.BuildLine("ft_as_published", "seq=16..512", 32, 128, 0, {"x": 0}),
        tables.BuildLine("naive", "float32", 30, 0, 16, {"x": 3}, "cached"),
    ]
    first, second = [line for line in printed(tables.build_table(lines)).splitlines() if "x=" in line]
    assert "never reads x" in first
    assert "never" not in second
    assert "cached" in second


def test_plan_check_and_list_tables_show_all_text_as_it_is():
    plan = tables.plan_table(
        [("seq=16", "ft", ["a<<<(1,1,1), (32,1,1), 0>>>", "b<<<(2,1,1), (32,1,1), 0>>>"], ["[why]"])]
    )
    assert "b<<<(2,1,1), (32,1,1), 0>>>" in printed(plan)
    assert "[why]" in printed(plan)
    check = Check(False, 7, 100, 3, None, 0.5, Tolerance(1e-5, 0.0), "y[0, 17]: got nan, expected 0.0021")
    text = printed(tables.check_table([("seq=16", "ft", "wrong", check), ("seq=16", "torch", "skipped", None)]))
    assert "5.0e-01" in text
    assert "allowed: abs. + rel. times the expected value" in text
    passed = Check(True, 7, 100, 0, 2e-3, 1.0, Tolerance(1e-5, 4e-3), "")
    row = next(
        line for line in printed(tables.check_table([("n=1", "own", "ok", passed)])).splitlines() if "own" in line
    )
    assert row.split() == ["n=1", "own", "ok", "2.0e-03", "4.0e-03", "1.0e+00", "1.0e-05"]
    assert "[red]x[/red]" in printed(tables.list_table(("name", "n"), [("[red]x[/red]", 3)]))


def test_nothing_is_lost_without_colour(example):
    def with_colours(system):
        terminal = Console(width=100, record=True, file=io.StringIO(), color_system=system, force_terminal=True)
        terminal.print(console.comparison_table(example.comparison, example.run))
        return terminal.export_text(styles=False)

    assert with_colours("truecolor") == with_colours(None)
