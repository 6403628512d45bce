"""Speed-ups within a run: values, verdicts, methods, empty cells and published numbers."""

from dataclasses import fields

import pandas
import pytest

from kernelbench.compare import ComparedRow, compare_within, write_comparison
from kernelbench.compare.comparison import COMPARISON
from kernelbench.core import columns
from kernelbench.core.errors import InputError, ResultsError


def cell(comparison, name, column, cache="cold", case=None):
    (row,) = (
        row
        for row in comparison
        if row.implementation == name and row.cache == cache and (case is None or row.case == case.key)
    )
    return getattr(row, column)


@pytest.mark.parametrize(
    ("median_us", "spread", "verdict"),
    [
        (50, 0.001, "FASTER"),
        (200, 0.001, "SLOWER"),
        (100, 0.001, "SAME"),
        (99, 0.001, "FASTER"),
        (101, 0.001, "SLOWER"),
        (99.9, 0.004, "SAME"),
        (99.5, 0.02, "UNSURE"),
        (100, 0.3, "UNSURE"),
    ],
)
def test_verdict_follows_from_the_interval(build, ledger, published_case, median_us, spread, verdict):
    case = published_case(64)
    build.time(case, "ft", 100)
    build.time(case, "oneflow", median_us, spread)
    table = compare_within(build.write(), "ft", ledger)
    assert cell(table, "oneflow", "verdict") == verdict
    assert cell(table, "oneflow", "speedup") == pytest.approx(100 / median_us)
    low, high = cell(table, "oneflow", "speedup_low"), cell(table, "oneflow", "speedup_high")
    assert low <= 100 / median_us <= high


def test_an_unsure_row_says_how_many_samples_would_decide(build, ledger, published_case):
    case = published_case(64)
    build.time(case, "ft", 100, 0.004, method="events")
    build.time(case, "oneflow", 99, 0.02, method="events")
    build.time(case, "naive", 100 / 1.00502, 0.02, method="events")  # on the edge of the band
    table = compare_within(build.write(), "ft", ledger)
    more, low, high = (cell(table, "oneflow", name) for name in ("more_samples", "speedup_low", "speedup_high"))
    assert cell(table, "oneflow", "verdict") == "UNSURE"
    assert low < 1.005 < high
    assert cell(table, "oneflow", "reason") == f"about {more:.0f} more samples of each would decide"
    factor = ((25 + more) / 25) ** 0.5  # the interval is then that many times as narrow
    assert 100 / 99 / (1 + (100 / 99 / low - 1) / factor) > 1.005
    assert cell(table, "naive", "more_samples") is None
    assert cell(table, "naive", "reason").startswith("on the edge of its band: over 10000 more samples")
    assert cell(table, "ft", "reason") == "the baseline itself"


def test_ratios_are_paired_by_the_rounds_that_both_have(build, ledger, published_case):
    """Two rows that a throttled clock met in the same rounds; and again, each in rounds of its own."""
    shared, apart, few = published_case(16), published_case(32), published_case(64)
    for case in (shared, apart, few):
        build.time(case, "ft", 100, 0.1)
        build.time(case, "oneflow", 50, 0.1)
    order = {}
    for place, (key, name, cache, method, number, seconds) in enumerate(build.samples):
        taken, moved = seconds, 0
        if key != shared.key and name == "oneflow":
            moved = 13 if key == apart.key else 14
        if key == shared.key:  # both alike in every round
            median = 100e-6 if name == "ft" else 50e-6
            taken = repr(order.setdefault(number, float(seconds) / median) * median)
        build.samples[place] = (key, name, cache, method, number + moved, taken)
    table = compare_within(build.write(), "ft", ledger)
    assert cell(table, "oneflow", "shared_rounds", case=shared) == 25
    assert cell(table, "oneflow", "shared_rounds", case=apart) == 12
    assert cell(table, "oneflow", "shared_rounds", case=few) is None
    found = {case.key: cell(table, "oneflow", "speedup_high", case=case) for case in (shared, apart, few)}
    assert found[shared.key] == pytest.approx(2)
    assert found[apart.key] > 2.03
    assert found[few.key] > 2.03
    assert "not paired by round: fewer than 12 rounds" in cell(table, "oneflow", "reason", case=few)


def test_a_step_of_the_clock_makes_nobody_faster(build, ledger, published_case):
    """Medians of 5 µs that differ by one step of 32 ns, each of them exact."""
    case = published_case(16)
    build.time(case, "ft", 5.024, 0, method="events")
    build.time(case, "oneflow", 4.992, 0, method="events")
    build.resolution_s = 32e-9
    table = compare_within(build.write(), "ft", ledger)
    assert cell(table, "oneflow", "speedup_low") > 1.006
    assert cell(table, "oneflow", "verdict") == "SAME"


def test_published_ratio_device_and_share_stand_beside_and_the_baseline_is_itself(build, ledger, published_case):
    case = published_case(16)
    build.time(case, "ft", 10)
    build.time(case, "oneflow", 4)
    build.time(case, "naive", 40)
    table = compare_within(build.write(), "ft", ledger)
    assert cell(table, "oneflow", "published_speedup") == pytest.approx(26.43 / 9.66)
    assert cell(table, "oneflow", "published_device") == "A100 PCIe 40 GB"
    assert cell(table, "oneflow", "published_share") == pytest.approx(0.279, abs=1e-3)
    assert cell(table, "oneflow", "claim") == "softmax-ft-oneflow"
    assert cell(table, "naive", "published_speedup") is None
    assert cell(table, "naive", "published_device") == ""
    assert cell(table, "ft", "speedup") == 1
    assert cell(table, "ft", "reason") == "the baseline itself"


@pytest.mark.parametrize("claims", [(), ("triton-h100-softmax",)])
def test_of_two_entries_with_a_case_the_runs_own_claim_is_taken(build, ledger, claims):
    case = build.case(4096, 256)
    build.claims = claims
    for name in ("torch", "triton", "naive"):
        build.time(case, name, 10)
    run = build.write()
    table = compare_within(run, "torch", ledger)
    assert cell(table, "triton", "claim") == (claims[0] if claims else "torch-1024-cliff")
    expected = 809.086437 / 840.205157 if claims else 923.042225 / 907.0727
    assert cell(table, "triton", "published_speedup") == pytest.approx(expected)
    alone = compare_within(run, "naive", ledger)
    assert cell(alone, "triton", "published_speedup") is None
    assert cell(alone, "triton", "claim")


def test_graph_is_used_only_where_both_sides_have_it(build, ledger, published_case):
    case = published_case(16)
    for name, graph, events in (("ft", 10, 13), ("oneflow", 5, 8), ("torch", None, 6.5)):
        build.time(case, name, events, method="events")
        if graph:
            build.time(case, name, graph, method="graph")
    build.time(case, "only_graph", 10, method="graph", cache="warm")
    build.time(case, "ft", 10, method="events", cache="warm")
    table = compare_within(build.write(), "ft", ledger)
    assert (cell(table, "oneflow", "method"), cell(table, "torch", "method")) == ("graph", "events")
    assert cell(table, "oneflow", "speedup") == pytest.approx(2)
    assert cell(table, "torch", "speedup") == pytest.approx(2)
    assert cell(table, "torch", "baseline_s") == pytest.approx(13e-6)
    assert cell(table, "only_graph", "speedup", "warm") is None
    reason = cell(table, "only_graph", "reason", "warm")
    assert reason == "no timing method in common: only_graph by graph; ft by events"


def test_caches_are_compared_apart(build, ledger, published_case):
    case = published_case(16)
    for cache, oneflow in (("cold", 5), ("warm", 20)):
        build.time(case, "ft", 10, cache=cache)
        build.time(case, "oneflow", oneflow, cache=cache)
    table = compare_within(build.write(), "ft", ledger)
    assert cell(table, "oneflow", "verdict", "cold") == "FASTER"
    assert cell(table, "oneflow", "verdict", "warm") == "SLOWER"


def test_missing_rows_leave_cells_empty_and_say_why(build, ledger, published_case):
    small, large = published_case(16), build.case(1024, 2048)
    build.time(small, "ft", 10)
    build.refuse(small, "torch", "skipped", "torch is not installed")
    build.refuse(small, "ft_as_published", "wrong", "y[0, 0]: got 0.06, expected 0.1", role="specimen")
    build.refuse(large, "ft", "unsupported", "columns must be at most 1024, got 2048")
    build.time(large, "oneflow", 5)
    table = compare_within(build.write(), "ft", ledger)
    assert cell(table, "torch", "reason", case=small) == "torch: skipped (torch is not installed)"
    assert cell(table, "ft_as_published", "reason", case=small).startswith("ft_as_published: wrong (y[0, 0]")
    assert cell(table, "oneflow", "reason", case=small) == "oneflow: not in this run"
    assert "unsupported (columns must be at most 1024" in cell(table, "oneflow", "reason", case=large)
    assert cell(table, "oneflow", "median_s", case=large) == pytest.approx(5e-6)
    for column in ("speedup", "speedup_low", "speedup_high", "baseline_s"):
        assert cell(table, "oneflow", column, case=large) is None
    assert cell(table, "oneflow", "verdict", case=large) == ""


def test_case_that_nobody_could_run_still_has_its_rows(build, ledger, published_case):
    build.refuse(published_case(16), "ft", "failed", "out of memory")
    table = compare_within(build.write(), "ft", ledger)
    assert [(row.cache, row.reason) for row in table] == [("", "ft: failed (out of memory)")]


def test_without_raw_samples_the_interval_comes_from_both_medians(build, ledger, published_case):
    case = published_case(16)
    build.time(case, "ft", 100, spread=0.02, raw=False)
    build.time(case, "oneflow", 50, spread=0.02, raw=False)
    table = compare_within(build.write(), "ft", ledger)
    low, high = cell(table, "oneflow", "speedup_low"), cell(table, "oneflow", "speedup_high")
    assert low == pytest.approx(2 * (1 - 0.02 * 5 / 12) / (1 + 0.02 * 5 / 12))
    assert high == pytest.approx(1 / low * 4)


def test_published_baseline_sets_times_and_shares_side_by_side_without_a_verdict(build, ledger, published_case):
    case = published_case(512)
    build.time(case, "oneflow", 1000)
    build.time(case, "naive", 9000)
    build.refuse(case, "ft", "skipped", "left out")
    table = compare_within(build.write(), "published", ledger)
    assert cell(table, "oneflow", "speedup") == pytest.approx(3.1)
    assert cell(table, "oneflow", "baseline_s") == pytest.approx(3100e-6)
    assert cell(table, "oneflow", "published_share") == pytest.approx(0.891, abs=1e-3)
    assert cell(table, "oneflow", "share_of_ceiling") == 0.5
    assert cell(table, "oneflow", "verdict") == ""
    assert "absolute times do not carry over; published 89 % of that GPU's peak" in cell(table, "oneflow", "reason")
    assert cell(table, "naive", "reason") == "naive: nothing published for this case"
    assert cell(table, "ft", "reason") == "ft: skipped (left out)"
    assert cell(table, "ft", "baseline_s") == pytest.approx(6090e-6)


def test_published_baseline_without_any_figures_is_refused(build, ledger):
    build.time(build.case(3, 5), "ft", 10)
    with pytest.raises(InputError, match="nothing is published for the cases of"):
        compare_within(build.write(), "published", ledger)


def test_unknown_baseline_names_the_nearest(build, ledger, published_case):
    build.time(published_case(16), "oneflow_warp", 10)
    build.time(published_case(16), "ft", 10)
    run = build.write()
    with pytest.raises(InputError, match=r"^--baseline oneflow_wrap: not in .*; did you mean 'oneflow_warp'\?$"):
        compare_within(run, "oneflow_wrap", ledger)
    with pytest.raises(InputError, match=r"^--baseline foo: not in .*; expected one of published, oneflow_warp, ft$"):
        compare_within(run, "foo", ledger)


def test_comparison_is_the_same_every_time_and_is_written(build, ledger, published_case, tmp_path):
    case = published_case(16)
    build.time(case, "ft", 100, spread=0.1)
    build.time(case, "oneflow", 97, spread=0.1)
    run = build.write()
    first, second = (tmp_path / out for out in "ab")
    for folder in (first, second):
        write_comparison(compare_within(run, "ft", ledger), (), folder)
    assert (first / "comparison.csv").read_bytes() == (second / "comparison.csv").read_bytes()
    read = pandas.read_csv(first / "comparison.csv")
    assert list(read.columns) == columns.column_names(COMPARISON)
    assert {field.name for field in fields(ComparedRow)} == set(read.columns)
    assert read.speedup.iloc[-1] == pytest.approx(100 / 97)


def test_folder_that_cannot_be_written_is_a_results_error(build, ledger, published_case, tmp_path):
    build.time(published_case(16), "ft", 10)
    run = build.write()
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match="cannot write the comparison"):
        write_comparison(compare_within(run, "ft", ledger), (), tmp_path / "file")
