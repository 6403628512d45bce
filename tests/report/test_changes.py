"""Two runs against each other as table, CSV, JSON and Markdown, each to the letter."""

import csv
import json
from dataclasses import asdict, replace

import pytest

from kernelbench.compare.changes import Changes
from kernelbench.report import view
from kernelbench.report.changes_table import changes_table, counts_text, percent_text, regression_lines
from kernelbench.report.changes_text import as_csv, as_json, as_markdown
from tests.report.changed_rows import lone, timed
from tests.report.printed import printed


@pytest.fixture
def changes() -> Changes:
    rows = [
        timed(64, "ft", 1.02, "SLOWER"),
        timed(64, "oneflow", 0.95, "FASTER", code="other code"),
        timed(128, "ft", 1.001, "SAME"),
        timed(128, "a_b|c", 1.007, "UNSURE", more_samples=240, reason="second run: throttled (power cap)"),
        lone(128, "gone", second_status="", first_s=1e-6, reason="not in the second run: it has no such row"),
        lone(128, "breaks", second_status="wrong", reason="second run: wrong (<b>3 of 4</b>)"),
    ]
    return Changes("before: H200", "after: H200", False, ["seed: 1, then 2"], ["Noise floor: 0.5 %."], rows)


def shown(changes: Changes, width: int = 100) -> list[str]:
    return [line.rstrip() for line in printed(changes_table(changes), width=width).splitlines()]


TABLE = """\
Second run against the first, cold; a positive change is slower

 case, implementation      by     first    second  change %   95 % interval  band %  verdict
 ───────────────────────────────────────────────────────────────────────────────────────────────
 n=64
   ft                  events  50.00 µs  51.00 µs     +2.00  +1.80 .. +2.30   ±0.80  SLOWER
   oneflow             events  50.00 µs  47.50 µs     -5.00  -5.20 .. -4.70   ±0.80  FASTER

 n=128
   ft                  events  50.00 µs  50.05 µs     +0.10  -0.10 .. +0.40   ±0.80  SAME
   a_b|c               events  50.00 µs  50.35 µs     +0.70  +0.50 .. +1.00   ±0.80  UNSURE +240

UNSURE +N: about N more samples of the row in each run would decide.
Not compared

 not compared  cases  why
 ──────────────────────────────────────────────────────────────
 gone          n=128  not in the second run: it has no such row
 breaks        n=128  second run: wrong (<b>3 of 4</b>)

Remarks

 remark                             rows
 ──────────────────────────────────────────────
 second run: throttled (power cap)  a_b|c n=128

"""

MARKDOWN = """\
**1 SLOWER, 1 FASTER, 1 UNSURE, 1 SAME; 2 rows not compared**

- REGRESSION: ft, n=64, cold, by events: +2.00 % (+1.80 .. +2.30)
- REGRESSION: breaks, n=128: second run: wrong (&lt;b&gt;3 of 4&lt;/b&gt;)

- first: before: H200
- second: after: H200
- differs: seed: 1, then 2

| case | implementation | cache | by | first | second | change % | 95 % interval | band % | verdict | remark |
|---|---|---|---|--:|--:|--:|--:|--:|---|---|
| n=64 | ft | cold | events | 50.00 µs | 51.00 µs | +2.00 | +1.80 .. +2.30 | ±0.80 | SLOWER |  |
| n=64 | oneflow | cold | events | 50.00 µs | 47.50 µs | -5.00 | -5.20 .. -4.70 | ±0.80 | FASTER |  |
| n=128 | a\\_b\\|c | cold | events | 50.00 µs | 50.35 µs | +0.70 | +0.50 .. +1.00 | ±0.80 | UNSURE +240 | \
second run: throttled (power cap) |

<details><summary>1 SAME</summary>

| case | implementation | cache | by | first | second | change % | 95 % interval | band % | verdict |
|---|---|---|---|--:|--:|--:|--:|--:|---|
| n=128 | ft | cold | events | 50.00 µs | 50.05 µs | +0.10 | -0.10 .. +0.40 | ±0.80 | SAME |

</details>

<details><summary>2 not compared</summary>

| implementation | case | why |
|---|---|---|
| gone | n=128 | not in the second run: it has no such row |
| breaks | n=128 | second run: wrong (&lt;b&gt;3 of 4&lt;/b&gt;) |

</details>

<details><summary>How it was judged</summary>

- A positive change is slower.
- Noise floor: 0.5 %.

</details>"""

CSV = """\
case,implementation,cache,method,first_s,second_s,first_share,second_share,ratio,ratio_low,ratio_high,band,verdict,\
more_samples,first_samples,second_samples,code,first_status,second_status,reason
n=64 dtype=float32,ft,cold,events,5e-05,5.1e-05,0.9,0.882352941,1.02,1.018,1.023,0.008,SLOWER,,33,40,same,ok,ok,
n=128 dtype=float32,a_b|c,cold,events,5e-05,5.035e-05,0.9,0.893743793,1.007,1.005,1.01,0.008,UNSURE,240,33,40,same,ok,\
ok,second run: throttled (power cap)
n=128 dtype=float32,breaks,,,,,,,,,,,,,,,,ok,wrong,second run: wrong (<b>3 of 4</b>)"""


@pytest.mark.parametrize("width", [60, 100])
def test_rows_of_two_methods_are_told_apart_at_any_width(width: int) -> None:
    rows = [timed(64, "ft", 1.02, "SLOWER", method=method) for method in ("events", "graph")]
    lines = shown(Changes("before", "after", False, [], [], rows), width)
    assert [line.strip().split("  ")[0] for line in lines if line.endswith("SLOWER")] == ["ft, events", "ft, graph"]


def test_the_table_is_this_one(changes: Changes) -> None:
    assert shown(changes) == TABLE.splitlines()


def test_the_markdown_is_this_one(changes: Changes) -> None:
    assert as_markdown(changes, 0.02) == MARKDOWN


def test_the_csv_is_this_one(changes: Changes) -> None:
    lines = as_csv(changes).splitlines()
    assert [lines[0], lines[1], lines[4], lines[6]] == CSV.splitlines()
    assert [one["implementation"] for one in csv.DictReader(lines)] == [one.implementation for one in changes.rows]


def test_csv_cells_are_no_formulas(changes: Changes) -> None:
    evil = replace(changes, rows=[replace(changes.rows[0], reason="=HYPERLINK(1)")])
    assert as_csv(evil).endswith(",'=HYPERLINK(1)")


def test_the_json_says_all(changes: Changes) -> None:
    found = json.loads(as_json(changes, 0.02))
    assert list(found) == [
        "first", "second", "by_share_of_ceiling", "differences", "noise", "counts", "fail_on", "regressions", "rows",
    ]  # fmt: skip
    assert found["counts"] == {"SLOWER": 1, "FASTER": 1, "UNSURE": 1, "SAME": 1, "not compared": 2}
    assert found["rows"] == [asdict(one) for one in changes.rows]
    assert [one["implementation"] for one in found["regressions"]] == ["ft", "breaks"]
    assert json.loads(as_json(changes, None))["regressions"] == []


def test_shares_stand_where_the_gpus_differ(changes: Changes) -> None:
    lines = shown(replace(changes, by_share=True))
    assert " ".join(lines[:2]) == (
        "Second run against the first, cold; share of each GPU's ceiling. Change: of the time over that at the "
        "ceiling; negative is closer to it"
    )
    assert "90.0 %  88.2 %" in lines[6]
    assert "Two different GPUs, compared as shares of each ceiling" in as_markdown(
        replace(changes, by_share=True), None
    )


def test_wide_tables_keep_to_100_columns(changes: Changes) -> None:
    wide = timed(100000, "an_implementation_of_a_very_long_name_indeed", 1.5, "UNSURE", more_samples=10_000)
    wide = replace(wide, ratio_low=0.2, ratio_high=12.3, first_s=2.345e-3, second_s=1234e-6, band=0.123)
    lines = shown(replace(changes, rows=[wide, *changes.rows]))
    assert any("+1130" in line and "UNSURE +10000" in line for line in lines)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.0196, "+1.96"), (0.99996, "0.00"), (1.0, "0.00"), (0.877, "-12.3"), (12.3, "+1130"), (1.09996, "+10.0")],
)
def test_percent(ratio: float, text: str) -> None:
    assert percent_text(ratio) == text


def test_regressions_are_slower_rows_that_may_reach_the_limit(changes: Changes) -> None:
    assert [one.implementation for one in changes.regressions(0.02)] == ["ft", "breaks"]
    assert [one.implementation for one in changes.regressions(0.03)] == ["breaks"]
    assert regression_lines(replace(changes, rows=changes.rows[1:2]), 0.02) == ["No row is slower by 2 %."]


def test_rows_that_could_hide_a_slowdown_are_counted(changes: Changes) -> None:
    noisy = timed(64, "ft", 1.0, "SAME", band=0.03)
    lines = regression_lines(replace(changes, rows=[noisy, *changes.rows[1:4]]), 0.02)
    assert lines == ["No row is slower by 2 %.", "1 row has a band and interval too wide to show 2 % for certain."]


def test_counts_and_verdicts(changes: Changes) -> None:
    counts = "1 SLOWER, 1 FASTER, 1 UNSURE, 1 SAME; 2 rows not compared"
    assert counts_text(changes) == counts
    two_gpus = replace(changes, by_share=True)
    shares = counts.replace("SLOWER", "FARTHER").replace("FASTER", "CLOSER")
    assert counts_text(two_gpus) == f"By share of each GPU's ceiling, not by time: {shares}"
    for text in (as_csv(two_gpus), as_json(two_gpus, None), as_markdown(two_gpus, None), "\n".join(shown(two_gpus))):
        assert "FASTER" not in text
        assert "CLOSER" in text
    said = [view.verdict_text(one.verdict, one.more_samples) for one in changes.rows[:4]]
    assert said == ["SLOWER", "FASTER", "SAME", "UNSURE +240"]
