"""The planted faults of tests/measure, done for real: library calls on the GPU that go wrong in the ways
kernels do. None may keep a time."""

from collections.abc import Callable
from typing import Any

import pytest

from kernelbench.core.records import Arrays, Case, Implementation, Origin, Result
from kernelbench.measure.case_run import Settings
from kernelbench.measure.tracks import Precision
from tests.gpu.conftest import RunCase, planned_calls

pytestmark = pytest.mark.gpu

CASE = Case("softmax", (64, 16, 96), -1, "float32")
FAST = Precision(least_samples=5, most_samples=10, seconds_per_case=0.5)
Body = Callable[[Arrays], Any]


def softmax(x: Any, axis: int = -1) -> Any:
    import cupy

    powers = cupy.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def right(arrays: Arrays) -> None:
    arrays["y"][...] = softmax(arrays["x"])


def skipped_launch(arrays: Arrays) -> None:
    pass


class StaleOutput:
    """Works while it is verified and skips its launch later."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, arrays: Arrays) -> None:
        self.runs += 1
        if self.runs <= 3:
            right(arrays)


class PreviousSeed:
    """Computes once and hands out that result for ever."""

    def __init__(self) -> None:
        self.first: Any = None

    def __call__(self, arrays: Arrays) -> None:
        if self.first is None:
            self.first = softmax(arrays["x"])
        arrays["y"][...] = self.first


def wrong_axis(arrays: Arrays) -> None:
    arrays["y"][...] = softmax(arrays["x"], axis=1)


def last_row_not_written(arrays: Arrays) -> None:
    y = arrays["y"].reshape(-1, 96)
    y[:-1] = softmax(arrays["x"]).reshape(-1, 96)[:-1]


def one_nan(arrays: Arrays) -> None:
    right(arrays)
    arrays["y"][63, 15, 95] = float("nan")


def all_zeros(arrays: Arrays) -> None:
    arrays["y"].fill(0)


def wrong_shape(arrays: Arrays) -> Arrays:
    return {"y": softmax(arrays["x"])[:-1]}


FAULTS: dict[str, Callable[[], Body]] = {
    "skipped launch": lambda: skipped_launch,
    "stale output": StaleOutput,
    "result of the previous seed": PreviousSeed,
    "wrong axis": lambda: wrong_axis,
    "last row not written": lambda: last_row_not_written,
    "NaN": lambda: one_nan,
    "all zeros": lambda: all_zeros,
    "wrong shape": lambda: wrong_shape,
}


def call_of(body: Body, name: str = "one") -> Implementation:
    return Implementation(
        name, name, Origin("test"), prepare=lambda case, arrays, stream: lambda: body(arrays), role="peer"
    )


@pytest.fixture
def measured(run_case: RunCase) -> RunCase:
    """Implementations by name, verified and measured together."""

    def measure(**bodies: Body) -> dict[str, Result]:
        calls = [call_of(body, name) for name, body in bodies.items()]
        return run_case(planned_calls(CASE, *calls), Settings(seed=7, precision=FAST))

    return measure


def test_a_right_call_is_timed(measured: RunCase) -> None:
    result = measured(one=right)["one"]
    assert result.status == "ok", result.reason
    assert {one.cache for one in result.measurements} == {"cold", "warm"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught_and_costs_the_others_nothing(fault: str, measured: RunCase) -> None:
    results = measured(faulty=FAULTS[fault](), good=right)
    faulty, good = results["faulty"], results["good"]
    assert faulty.status == "wrong", faulty.reason
    assert faulty.measurements == ()
    assert "y[" in faulty.reason or "shape" in faulty.reason
    assert good.status == "ok", good.reason


def test_a_call_that_raises_costs_its_row(measured: RunCase) -> None:
    def raising(arrays: Arrays) -> None:
        raise RuntimeError("the library's own words")

    results = measured(faulty=raising, good=right)
    assert results["faulty"].status == "failed"
    assert "RuntimeError while launching faulty: the library's own words" in results["faulty"].reason
    assert results["good"].status == "ok"


def test_outputs_that_a_call_allocates_are_checked_in_the_arrays_place(
    measured: RunCase,
) -> None:
    results = measured(good=lambda arrays: {"y": softmax(arrays["x"])}, zero=lambda arrays: {"y": arrays["y"] * 0})
    assert results["good"].status == "ok", results["good"].reason
    assert results["zero"].status == "wrong"
