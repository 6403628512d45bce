"""A result as rows: every cell of the table, and which stay empty."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core import columns
from kernelbench.core.counters import Counters, LaunchCounters
from kernelbench.core.records import (
    Binary,
    Case,
    Check,
    EntryFacts,
    Implementation,
    Launch,
    LaunchPlan,
    Limits,
    Measurement,
    Origin,
    Result,
    Tolerance,
)
from kernelbench.runs.row_records import RESULTS
from kernelbench.runs.rows import rows_of, samples_of
from tests.catalog import catalog

OPERATION = catalog().operations["softmax"]
CASE = Case("softmax", (2, 4, 8, 8), -1, "float16", axes=(("seq", 8),), parameters=(("mask", True),))
MOVED = 2 * (512 + 512 + 2 * 64)  # x, y and the mask in float16
LIMITS = Limits(floor_s=3e-6, graph_floor_s=1e-6, dram_bytes_per_s=4e12, dram_copy="copy_4")
PLAN = LaunchPlan(
    launches=(Launch("k1", (7, 1, 1), (256, 1, 1), ("x", "t")), Launch("k2", (4, 2, 1), (32, 4, 1), ("t", "y"), 4096)),
    scratch=(("t", 64),),
)
FACTS = {
    "k1": EntryFacts("k1", 40, 128, 0, 4, 8, (3, 0), (0, 1)),
    "k2": EntryFacts("k2", 24, 512, 0, 0, 0, (1, 0), (0, 1)),
    "not_launched": EntryFacts("not_launched", 255, 9999, 0, 99, 99, (9,), (9,)),
}
BINARY = Binary("0123456789abcdef0123", Path("k.cubin"), Path("k.ptx"), "sm_90", ("nvcc",), FACTS, cached=False)
KERNEL = Implementation("two_kernels", "", Origin("test"), plan=lambda case, device: PLAN, arithmetic="fast")
COUNTED = (
    LaunchCounters(
        "k1",
        Counters(warp_instructions=30, thread_instructions=600, global_load_sectors=7),
        {},
        64,
        8,
        conflicts={("k.cu", 3): (2, 4), ("k.cu", 5): (3, 8)},
    ),
    LaunchCounters("k2", Counters(warp_instructions=10, thread_instructions=320, read_once_bytes=96), {}, 100, 100),
)
CHECK = Check(True, 42, 512, 0, 1e-4, 2e-3, Tolerance(1e-3, 1e-7))


def measured(cache: Any = "cold", method: Any = "events", median: float = 20e-6) -> Measurement:
    samples = tuple(median + (number - 10) * 1e-8 for number in range(21))
    return Measurement(
        cache, method, samples, tuple(range(21)), median, median - 1e-8, median + 1e-8, "precise", 1.98e9
    )


def result(**changes: Any) -> Result:
    fields = {"status": "ok", "plan": PLAN, "binary": BINARY, "check": CHECK, "measurements": (measured(),)}
    return Result(CASE, KERNEL, **{**fields, **changes})


def one_row(**changes: Any) -> dict[str, Any]:
    (row,) = rows_of("a_suite", OPERATION, result(**changes), LIMITS)
    return dict(row)


def test_every_cell_has_a_column_and_every_column_is_filled_somewhere() -> None:
    timed, counted = one_row(), one_row(measurements=(), counters=COUNTED)
    assert set(timed) | set(counted) == set(columns.column_names(RESULTS))
    assert set(counted) - set(timed) == set(columns.column_names(columns.COUNTERS))


def test_the_case_is_told_as_text_and_in_parts() -> None:
    row = one_row()
    assert row["case"] == "seq=8 shape=2x4x8x8 axis=-1 dtype=float16 mask=True"
    assert (row["suite"], row["shape"], row["axis"], row["dtype"], row["axes"]) == (
        "a_suite", "2x4x8x8", -1, "float16", "seq=8",
    )  # fmt: skip
    assert (row["implementation"], row["role"], row["arithmetic"]) == ("two_kernels", "kernel", "fast")


def test_facts_are_the_largest_of_what_is_launched() -> None:
    row = one_row()
    assert row["launches"] == "k1<<<7, 256>>>; k2<<<4x2, 32x4, 4096>>>"
    assert (row["registers"], row["static_shared_bytes"], row["spill_bytes"]) == (40, 512, 12)
    assert row["input_loads"] == "x=3 mask=0"
    assert row["binary"] == "0123456789abcdef"


def test_times_come_with_bandwidth_and_share() -> None:
    row = one_row()
    assert row["bytes_moved"] == MOVED
    assert row["bandwidth_bytes_per_s"] == MOVED / 20e-6
    assert row["share_of_ceiling"] == MOVED / 20e-6 / 4e12
    assert (row["samples"], row["median_s"], row["stopped"]) == (21, 20e-6, "precise")
    assert (row["low_s"], row["high_s"]) == pytest.approx((19.99e-6, 20.01e-6))
    assert (row["min_s"], row["p5_s"], row["p95_s"]) == pytest.approx((19.9e-6, 19.91e-6, 20.09e-6))
    assert (row["sm_clock_hz"], row["power_w"], row["throttle"], row["disturbed"]) == (1.98e9, None, "", "")


def test_errors_come_with_their_largest_in_ulp_and_a_grade() -> None:
    row = one_row(check=replace(CHECK, max_error_ulp=1.1, grade="off by its own rounding"))
    assert (row["check"], row["max_error_ulp"]) == ("graded", 1.1)
    assert (one_row()["check"], one_row()["max_error_ulp"]) == ("passed", None)


def test_a_warm_row_has_no_share_of_the_dram() -> None:
    row = one_row(measurements=(measured("warm"),))
    assert row["share_of_ceiling"] is None
    assert row["bandwidth_bytes_per_s"] == MOVED / 20e-6


@pytest.mark.parametrize(
    ("method", "median", "limited"),
    [("events", 8.9e-6, "yes"), ("events", 9.1e-6, ""), ("graph", 2.9e-6, "yes"), ("graph", 3.1e-6, "")],
)
def test_floor_limited_is_below_three_floors_of_its_own_method(method: str, median: float, limited: str) -> None:
    assert one_row(measurements=(measured("cold", method, median),))["floor_limited"] == limited


def test_a_row_for_each_measurement() -> None:
    found = rows_of("s", OPERATION, result(measurements=(measured("cold"), measured("warm"))), LIMITS)
    assert [row["cache"] for row in found] == ["cold", "warm"]
    assert {row["launches"] for row in found} == {"k1<<<7, 256>>>; k2<<<4x2, 32x4, 4096>>>"}


def test_counts_are_those_of_all_launches_and_the_smallest_sample_is_named() -> None:
    row = one_row(measurements=(), counters=COUNTED)
    assert (row["warp_instructions"], row["global_load_sectors"], row["read_once_bytes"]) == (40, 7, 96)
    assert row["lanes_per_instruction"] == 23
    assert row["sampled"] == "8 of 64 blocks"
    assert (row["least_conflict_ways"], row["most_conflict_ways"]) == (2, 8)
    assert one_row(measurements=(), counters=COUNTED[1:])["sampled"] == ""
    assert one_row(measurements=(), counters=COUNTED[1:])["most_conflict_ways"] is None
    assert "median_s" not in row


def test_a_refusal_is_one_row_with_its_reason_and_no_time() -> None:
    row = one_row(status="unsupported", reason="too long", plan=None, binary=None, check=None, measurements=())
    assert (row["status"], row["reason"]) == ("unsupported", "too long")
    for column in ("cache", "median_s", "check", "launches", "registers", "seed", "bandwidth_bytes_per_s"):
        assert row.get(column) is None, column


def test_a_wrong_output_keeps_its_errors_and_has_no_time() -> None:
    wrong = Check(False, 41, 512, 3, None, None, Tolerance(1e-3, 1e-7), "y[0]: got nan")
    row = one_row(status="wrong", reason=wrong.message, check=wrong, measurements=())
    assert (row["check"], row["seed"], row["reason"]) == ("failed", 41, "y[0]: got nan")
    assert (row["max_absolute_error"], row["max_relative_error"]) == (None, None)
    assert (row["relative_tolerance"], row["absolute_tolerance"]) == (1e-3, 1e-7)
    assert "median_s" not in row


def test_a_library_call_has_neither_launches_nor_facts() -> None:
    row = one_row(plan=None, binary=None)
    assert ("launches" in row, "binary" in row, row["median_s"]) == (False, False, 20e-6)


def test_a_kernel_that_did_not_compile_keeps_its_launches() -> None:
    row = one_row(status="failed", reason="nvcc", binary=None, check=None, measurements=())
    assert row["launches"].startswith("k1<<<")
    assert "registers" not in row


def test_samples_keep_their_round_and_picoseconds() -> None:
    timed = result(measurements=(measured(), measured("warm", median=1.23456789e-3)))
    lines = list(samples_of(timed, rows_of("s", OPERATION, timed, LIMITS)))
    assert len(lines) == 42
    assert lines[0] == (CASE.key, "two_kernels", "cold", "events", 0, "1.99e-05")
    assert lines[20][4:] == (20, "2.01e-05")
    assert lines[31] == (CASE.key, "two_kernels", "warm", "events", 10, "0.00123457")
    assert list(samples_of(timed, rows_of("s", OPERATION, timed, LIMITS)[:1])) == lines[:21], "as there are rows"


def test_the_ceiling_is_that_of_work_with_as_many_reads() -> None:
    measured = Limits(
        3e-6, 1e-6, 4.0e12, "copy_4", write_bytes_per_s=3.6e12, add_bytes_per_s=4.2e12, read_bytes_per_s=4.5e12
    )
    assert [measured.ceiling_bytes_per_s(share) for share in (0, 1 / 2, 2 / 3, 1)] == [3.6e12, 4.0e12, 4.2e12, 4.5e12]
    assert measured.ceiling_bytes_per_s(0.25) == pytest.approx(3.8e12), "between two that were measured"
    assert LIMITS.ceiling_bytes_per_s(1) == LIMITS.dram_bytes_per_s, "of a run that measured copies only"
    assert OPERATION.read_share(Case("softmax", (2, 4, 8, 8), -1, "float16")) == 1 / 2
