"""Races on shared memory: none in correct kernels, notes where programs rely on them, errors elsewhere."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernelbench.build import BuildRequest
from kernelbench.simt.launch_counters import launch_counters
from kernelbench.simt.machine import LaunchReport
from tests.build.binaries import only_built
from tests.simt.planted_runs import Values, launched, marked_lines

pytestmark = pytest.mark.nvcc

SOURCE = Path(__file__).parent / "planted" / "races.cu"


@pytest.fixture(scope="module")
def ptx() -> str:
    return only_built(BuildRequest(SOURCE, (), "sm_90")).ptx_path.read_text()


def strictly(ptx: str, entry: str, threads: int = 64) -> tuple[Values, Values, LaunchReport]:
    return launched(SOURCE, ptx, entry, threads, strict=True, shared_bytes=4 * threads)


def late(x: Values) -> Values:
    return np.where(np.arange(x.size) >= 32, x[0], 0)


CORRECT: dict[str, tuple[int, Callable[[Values], Values]]] = {
    "bitonic_sort": (256, np.sort),
    "odd_even_sort": (128, np.sort),
    "odd_even_sort_of_a_warp": (32, np.sort),
    "read_by_all": (128, lambda x: np.full_like(x, x.sum())),
    "halves": (64, lambda x: x[np.arange(64) ^ 2]),
    "acquire_and_release": (64, late),
    "two_of_three_warps": (96, lambda x: np.full_like(x, x[:64].sum())),
    "sums_of_warps": (64, np.ones_like),
    "ends_before_the_barrier": (64, lambda x: np.concatenate([x[32:], 0 * x[32:]])),
}


@pytest.mark.parametrize("entry", CORRECT)
def test_correct_kernels_have_neither_errors_nor_notes(ptx: str, entry: str) -> None:
    threads, expected = CORRECT[entry]
    x, y, report = strictly(ptx, entry, threads)
    assert [str(fault) for fault in (*report.faults, *report.notes)] == []
    np.testing.assert_array_equal(y, expected(x))


NOTED: dict[str, tuple[str, Callable[[Values], Values]]] = {
    "compare_and_swap_loop": ("checked_race", lambda x: np.full_like(x, x.sum())),
    "volatile_flag": ("volatile_race", late),
    "one_value": ("same_value_race", np.ones_like),
}


@pytest.mark.parametrize("entry", NOTED)
def test_what_programs_rely_on_is_a_note(ptx: str, entry: str) -> None:
    kind, expected = NOTED[entry]
    x, y, report = strictly(ptx, entry)
    assert [str(fault) for fault in report.faults] == []
    assert {note.kind for note in report.notes} == {kind}
    lines = {note.instruction.source.line for note in report.notes if note.instruction.source}
    assert lines <= set(marked_lines(SOURCE, entry))
    assert ": note: " in launch_counters(report).notes[0]
    np.testing.assert_array_equal(y, expected(x))


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ("two_values", "shared_race"),
        ("sum_without_a_barrier", "shared_race"),
        ("histogram_without_a_barrier", "shared_race"),
        ("flag_without_a_fence", "shared_race"),
        ("swaps_without_a_barrier", "warp_race"),
    ],
)
def test_errors_stay_errors(ptx: str, entry: str, kind: str) -> None:
    _, _, report = strictly(ptx, entry)
    found = {(fault.kind, fault.instruction.source.line) for fault in report.faults if fault.instruction.source}
    assert found & {(kind, line) for line in marked_lines(SOURCE, entry)}, found
