"""Lanes of a warp proceed independently: those that wait for each other end, and what never ends is said in seconds."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernelbench.build import BuildRequest
from tests.build.binaries import only_built
from tests.simt.planted_runs import Values, launched

pytestmark = pytest.mark.nvcc

SOURCE = Path(__file__).parent / "planted" / "progress.cu"
LONGEST_S = 10.0


@pytest.fixture(scope="module")
def ptx() -> str:
    return only_built(BuildRequest(SOURCE, (), "sm_90")).ptx_path.read_text()


def sums(x: Values) -> Values:
    return np.full_like(x, x.sum())


ENDING: dict[str, tuple[int, Callable[[Values], Values] | None]] = {
    "lock_of_all_lanes": (64, sums),
    "global_lock": (64, lambda x: x),
    "tickets": (32, None),
    "producer_and_consumer": (32, sums),
    "lock_inside": (64, sums),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("entry", ENDING)
def test_lanes_that_wait_for_each_other_end(ptx: str, entry: str, strict: bool) -> None:
    threads, expected = ENDING[entry]
    x, y, report = launched(SOURCE, ptx, entry, threads, strict=strict, more=2)
    assert report.ended
    assert [str(fault) for fault in report.faults] == []
    if expected is not None:
        np.testing.assert_array_equal(y[:threads], expected(x))
    if entry == "global_lock":
        assert y[threads] == x.sum()
    if entry == "tickets":  # each lane once, in the order of its ticket
        bits = np.array([int(bit) for bit in f"{np.uint32(y[0]):032b}"])
        np.testing.assert_array_equal(bits, x % 2)


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ("lock_never_released", "deadlock"),
        ("flag_never_set", "deadlock"),
        ("barrier_never_reached", "deadlock"),
        ("stores_for_ever", "endless"),
        ("counts_for_ever", "endless"),
    ],
)
@pytest.mark.parametrize("strict", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_what_never_ends_is_said_within_seconds(ptx: str, entry: str, kind: str, strict: bool) -> None:
    began = time.process_time()
    _, _, report = launched(SOURCE, ptx, entry, 64, strict=strict, more=2)
    assert not report.ended
    assert kind in {fault.kind for fault in report.faults}
    assert time.process_time() - began < LONGEST_S  # of the processor, which other processes may use as well
