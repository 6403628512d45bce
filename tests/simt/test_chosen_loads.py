"""Values that nvcc loads early: who drops one has not read it, who uses one has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelbench.simt.interface import Kind
from tests.simt.harness import Load, Outcome
from tests.simt.planted_runs import Values, marked_lines

pytestmark = pytest.mark.nvcc

SOURCE = Path(__file__).parent / "kernels" / "dropped.cu"
THREADS = np.arange(64)


def launched(load: Load, entry: str, threads: int = 64, n: int = 256) -> tuple[Values, Outcome]:
    kernels, y = load("dropped"), np.zeros(threads, np.int32)
    assert Kind.CHOOSE in {one.kind for one in kernels.program(entry).code}, "nvcc does not load early"
    return y, kernels.run(entry, 1, threads, y, np.int32(n), faulty=True)


def found(outcome: Outcome) -> set[tuple[str, int]]:
    return {(fault.kind, fault.instruction.source.line) for fault in outcome.report.faults if fault.instruction.source}


def carried(n: int) -> Values:
    sums, s = np.zeros(64, np.int32), 0
    for i in range(0, n, 64):
        sums += s
        s = sums[-1] + i + 63
    return sums


CORRECT: dict[str, Callable[[], NDArray[Any]]] = {
    "carried": lambda: carried(256),
    "of_one_warp": lambda: np.where(THREADS < 32, 256, sum(range(256))),
    "looked_at_second": lambda: 3 * THREADS + 64 * 6,
    "of_local_memory": lambda: np.where(THREADS % 2, -1, THREADS // 2),
}


@pytest.mark.parametrize("entry", CORRECT)
def test_dropped_values_are_not_read(load: Load, entry: str) -> None:
    y, outcome = launched(load, entry)
    assert outcome.faults == ()
    np.testing.assert_array_equal(y, CORRECT[entry]())


def test_used_values_are_read(load: Load) -> None:
    for entry, kind in (("carried_without_a_barrier", "shared_race"), ("carried_from_nowhere", "uninitialised_shared")):
        (line,) = marked_lines(SOURCE, entry)
        assert (kind, line) in found(launched(load, entry)[1]), entry


def test_a_read_by_one_lane_races_with_a_later_write(load: Load) -> None:
    read, written = marked_lines(SOURCE, "of_one_warp_read_by_another")
    _, outcome = launched(load, "of_one_warp_read_by_another")
    assert found(outcome) == {("uninitialised_shared", read), ("shared_race", written)}
    assert [fault.lane for fault in outcome.report.faults if fault.kind == "uninitialised_shared"] == [31]


def test_both_of_two_values_are_checked(load: Load) -> None:
    _, outcome = launched(load, "two_values", 32, 128)
    assert found(outcome) == {("warp_race", line) for line in marked_lines(SOURCE, "two_values")}


def test_local_memory_that_is_used(load: Load) -> None:
    (line,) = marked_lines(SOURCE, "of_local_memory_not_written")
    _, outcome = launched(load, "of_local_memory_not_written")
    assert found(outcome) == {("uninitialised_local", line)}
    assert outcome.report.faults[0].count == 32
