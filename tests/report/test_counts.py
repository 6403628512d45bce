"""What a run of the simulator shows: tables of 100 columns, charts of what was counted, a page without times."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernelbench.compare import compare_within
from kernelbench.report import charts, console, counts
from kernelbench.report.html_page import write_report
from kernelbench.runs.results import Run, Store, read_run
from tests.report.printed import printed

SIZES = (16, 64, 1024)
NAMES = ("ft", "oneflow", "softmax_of_a_very_long_name")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Three implementations on three cases; only ft uses shared memory, and the largest case was sampled."""
    rows = []
    for size in SIZES:
        for factor, name in enumerate(NAMES, start=1):
            sectors = size * size * 256
            row = {
                "suite": "softmax", "case": f"seq={size} shape=32x64x{size}x{size} axis=-1 dtype=float32",
                "operation": "softmax", "shape": f"32x64x{size}x{size}", "axis": -1, "dtype": "float32",
                "axes": f"seq={size}", "implementation": name, "role": "kernel", "status": "ok", "check": "passed",
                "reason": "not timed: simulated", "bytes_moved": 64 * sectors, "launches": "k<<<100, 128>>>",
                "sampled": "64 of 262144 blocks" if size == 1024 else "", "warp_instructions": 100 * sectors * factor,
                "lanes_per_instruction": 32 / factor, "global_load_requests": sectors // 4,
                "global_load_sectors": factor * sectors, "global_load_ideal_sectors": sectors,
                "global_store_requests": sectors // 4, "global_store_sectors": sectors,
                "global_store_ideal_sectors": sectors, "read_once_bytes": 32 * sectors,
                "written_once_bytes": 32 * sectors,
            }  # fmt: skip
            if name == "ft":
                row |= {"shared_load_requests": 100, "shared_load_wavefronts": 333, "shared_load_ideal_wavefronts": 100}
            rows.append(row)
        rows.append({**row, "implementation": "torch", "status": "skipped", "reason": "a library call"})
        for name in ("warp_instructions", "sampled", "global_load_requests"):
            rows[-1][name] = ""
    store = Store(tmp_path / "run")
    store.append(rows, [])
    device = {"name": "simulated (H200 properties)", "simulator": {"threads": 2}}
    store.write_environment({"suite": "softmax", "baseline": "ft", "title": "Softmax", "device": device})
    return read_run(tmp_path / "run")


def test_tables_fit_and_have_every_count(run: Run) -> None:
    text = printed(console.results_table(run))
    lines = {line.split()[0]: line.split()[1:] for line in text.split("Wavefronts")[0].splitlines() if line.split()}
    assert lines["oneflow"] == ["1.50"] * 3
    assert lines["softmax_of_a_very_long_name"] == ["2.00"] * 3
    assert "3.33" in text
    assert "3 of 9 rows ran a sample of their blocks" in " ".join(text.split())
    assert "a library call" in text
    assert "Median" not in text


def test_a_dash_is_explained_only_where_there_is_one(run: Run) -> None:
    assert "-: no such access" not in counts.note(run)
    of_oneflow = next(row for row in run.rows if row.implementation == "oneflow")
    others = tuple(row for row in run.rows if row is not of_oneflow)
    assert "-: no such access" in counts.note(replace(run, rows=others))


def test_only_what_was_counted_gets_a_chart(run: Run) -> None:
    drawn = charts.all_charts(run, compare_within(run, "ft", {}))
    assert [chart.name for chart in drawn] == ["traffic", "wavefronts", "instructions", "lanes"]
    wavefronts = drawn[1].svg
    assert ">3.33<" in wavefronts
    assert ">oneflow<" not in wavefronts, "it has no shared memory"
    assert ">torch<" not in drawn[0].svg


def test_a_sample_of_blocks_is_told_where_it_may_be_too_low(run: Run) -> None:
    remark = "scaled up from a sample of blocks, and may come out a little below 1."
    assert [remark in chart.caption for chart in counts.charts(run)] == [True, False, False, False]
    full = replace(run, rows=tuple(replace(row, sampled="") for row in run.rows))
    assert not any(remark in chart.caption for chart in counts.charts(full))


def test_colours_grow_with_the_distance_from_the_ideal() -> None:
    traffic, lanes = counts.SHOWN[0], counts.SHOWN[3]
    assert counts._strength(1.0, traffic) == 0
    assert 0 < counts._strength(1.5, traffic) < counts._strength(3.0, traffic) < 1
    assert counts._strength(1000.0, traffic) == 1
    assert counts._strength(32.0, lanes) == 0
    assert 0 < counts._strength(24.0, lanes) < counts._strength(10.0, lanes) <= 1


def test_the_page_has_counts_instead_of_times(run: Run, tmp_path: Path) -> None:
    comparison = compare_within(run, "ft", {})
    page = write_report(run, comparison, [], tmp_path / "page.html", drawn=charts.all_charts(run, comparison))
    text = page.read_text()
    for words in ("All counts", "Without counts", "64 of 262144 blocks", "executed and counted, not timed"):
        assert words in text
    for words in ("All times", "Without a time", "Ceiling", "nan"):
        assert words not in text


def test_a_comparison_shows_ratios_of_counts(run: Run) -> None:
    text = printed(console.comparison_table(compare_within(run, "oneflow", {}), run))
    assert "Counts over those of oneflow" in text
    assert "1.33x" in text
    assert "the simulator has no times" in text
    assert console.limits_line(run).endswith("the simulator has no times")
