"""Every planted fault must be caught: at verification, or by the check of the last timed round."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.core import dtypes
from kernelbench.core.records import (
    Arrays,
    Binary,
    Case,
    Check,
    EntryFacts,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
)
from kernelbench.measure import verify
from kernelbench.measure.case_data import CaseData
from kernelbench.measure.case_run import CaseRun, Settings
from kernelbench.measure.tracks import Precision
from kernelbench.measure.verify import run_and_check
from kernelbench.planning.case_plans import CasePlan, Planned
from tests.catalog import catalog
from tests.fake_gpu import FakeDevice, implementation
from tests.fake_simulator import FakeSimulator
from tests.kernels.fakes import softmax

OPERATION = catalog().operations["softmax"]
CASE = Case("softmax", (4, 3, 32), -1, "float32")
FAST = Precision(least_samples=5, most_samples=5)


def right(arrays: Arrays) -> None:
    arrays["y"][...] = softmax(arrays["x"])


class Remembering:
    """Computes once and then hands out the same result: the result of the previous seed."""

    def __init__(self) -> None:
        self.first: Any = None

    def __call__(self, arrays: Arrays) -> None:
        if self.first is None:
            self.first = softmax(arrays["x"])
        arrays["y"][...] = self.first


def right_at_first() -> Callable[[Arrays], None]:
    """Works when it is verified and skips its launch later: the output is stale."""
    runs = count(1)
    return lambda arrays: right(arrays) if next(runs) <= 3 else None


class Probing:
    """Remembers answers by place, and looks at a few elements to tell whether the inputs are still the same."""

    def __init__(self) -> None:
        self.answers: dict[int, tuple[bytes, Any]] = {}

    def __call__(self, arrays: Arrays) -> None:
        probe = arrays["x"].reshape(-1)[:3].tobytes()
        seen, answer = self.answers.get(id(arrays["x"]), (b"", None))
        if seen != probe:
            answer = softmax(arrays["x"])
            self.answers[id(arrays["x"])] = (probe, answer)
        arrays["y"][...] = answer


class EverySecond:
    """Computes in the run that warms the L2, and hands that out in the next."""

    def __init__(self) -> None:
        self.answer: Any = None
        self.verified = False

    def __call__(self, arrays: Arrays) -> None:
        if not self.verified:
            right(arrays)
            self.verified = True
        elif self.answer is None:
            self.answer = softmax(arrays["x"])
            arrays["y"][...] = self.answer
        else:
            arrays["y"][...], self.answer = self.answer, None


def skipping(arrays: Arrays) -> None:
    """Leaves an output alone that looks computed."""
    if np.isnan(arrays["y"]).any():
        right(arrays)


def wrong_axis(arrays: Arrays) -> None:
    arrays["y"][...] = softmax(arrays["x"], axis=1)


def last_row_missing(arrays: Arrays) -> None:
    arrays["y"][:-1] = softmax(arrays["x"])[:-1]


def one_nan(arrays: Arrays) -> None:
    right(arrays)
    arrays["y"][2, 1, 17] = np.nan


def zeros(arrays: Arrays) -> None:
    arrays["y"][...] = 0


FAULTS: dict[str, Callable[[], Callable[[Arrays], Any]]] = {
    "skipped launch": lambda: lambda arrays: None,
    "stale output": right_at_first,
    "wrong axis": lambda: wrong_axis,
    "last row not written": lambda: last_row_missing,
    "NaN": lambda: one_nan,
    "all zeros": lambda: zeros,
    "result of the previous seed": Remembering,
    "results by place, few elements compared": Probing,
    "result of the run before": EverySecond,
    "no work where the output is there": lambda: skipping,
}


def run_case(
    kernel: Callable[[Arrays], Any],
    case: Case = CASE,
    *,
    device: FakeDevice | None = None,
    planned: Planned | None = None,
    precision: Precision | None = FAST,
) -> Any:
    """What becomes of one implementation, `one` unless `planned` is another."""
    planned = planned or Planned(implementation("one"))
    device = device or FakeDevice({})
    device.kernels[planned.implementation.name] = (kernel, 30e-6, 5e-6)
    operation = catalog().operations[case.operation]
    (result,) = CaseRun(device, operation, CasePlan(case, (planned,), ("x",))).run(Settings(7, precision=precision))
    return result


def test_a_right_kernel_passes_and_is_timed() -> None:
    result = run_case(right)
    assert result.status == "ok", result.reason
    assert result.check.passed
    assert result.check.elements == CASE.elements
    assert {measured.cache for measured in result.measurements} == {"cold", "warm"}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_is_caught_and_no_time_of_it_is_kept(fault: str) -> None:
    result = run_case(FAULTS[fault]())
    assert result.status == "wrong"
    assert result.measurements == ()
    assert "y[" in result.reason
    assert not result.check.passed


def test_the_message_names_the_first_wrong_element() -> None:
    result = run_case(one_nan)
    assert result.reason.startswith("1 of 384 elements wrong, first y[2, 1, 17]: got nan, expected 0.")
    assert result.check.max_absolute_error is None


def launched() -> Planned:
    """A kernel with a grid, which FakeDevice never looks at."""
    return Planned(Implementation("one", "one", Origin("test"), plan=lambda case, device: LaunchPlan()))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_element_that_was_never_written_is_told_with_what_to_look_at(dtype: str) -> None:
    def last_missing(arrays: Arrays) -> None:
        x = dtypes.widen(np, arrays["x"], dtype)
        arrays["y"][:-1] = dtypes.narrow(np, softmax(x).astype(np.float32), dtype)[:-1]

    case = replace(CASE, dtype=dtype)
    result = run_case(last_missing, case, planned=launched(), precision=None)
    assert result.reason.startswith("96 of 384 elements wrong, first y[3, 0, 0]: got nan, expected 0.0")
    assert result.reason.endswith("; it was probably never written (is the grid large enough?)")
    library = run_case(last_missing, case, precision=None)
    assert library.reason.startswith("96 of 384 elements wrong, first y[3, 0, 0]: got nan, expected 0.0")
    assert "never written" not in library.reason, "its grid is none of the user's business"


@pytest.mark.parametrize("kernel", [one_nan, zeros])
def test_an_element_that_was_written_is_not_called_unwritten(kernel: Callable[[Arrays], None]) -> None:
    result = run_case(kernel, planned=launched(), precision=None)
    assert result.status == "wrong"
    assert "never written" not in result.reason


def test_nan_that_a_sample_of_the_blocks_wrote_is_not_called_unwritten() -> None:
    device = FakeSimulator({})
    device.ranges = np.array([[0, CASE.elements]])
    result = run_case(last_row_missing, device=device, planned=launched(), precision=None)
    assert result.reason.startswith("96 of 384 elements wrong, first y[3, 0, 0]: got nan, expected 0.0")
    assert "never written" not in result.reason


def checked(device: FakeDevice, first: float | None = None) -> Check:
    """`one` verified once, with that value in all of the first row of x."""
    one, arrays = implementation("one"), device.allocate(OPERATION.arrays(CASE))
    device.fill(arrays, OPERATION.arrays(CASE), 1)
    if first is not None:
        arrays["x"][0, 0] = first
    executable = device.executable(one, CASE, None, None, arrays)
    return run_and_check(CaseData(device, OPERATION, CASE, [arrays]), one, executable, 1)


@pytest.mark.parametrize(("sets_free", "kept"), [(100, True), (4, False)])
def test_a_reference_is_kept_only_where_libraries_have_room_beside_it(sets_free: int, *, kept: bool) -> None:
    calls: list[str] = []

    def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
        calls.append("")
        return OPERATION.reference(xp, case, inputs)

    operation = replace(OPERATION, reference=reference)
    device, one = FakeDevice({"one": (right, 30e-6, 5e-6)}), implementation("one")
    specs = operation.filled(CASE)
    device.free_bytes = lambda: sets_free * sum(spec.nbytes for spec in specs)  # type: ignore[method-assign]
    arrays = device.allocate(specs)
    device.fill(arrays, specs, 1)
    data, executable = CaseData(device, operation, CASE, [arrays]), device.executable(one, CASE, None, None, arrays)
    assert run_and_check(data, one, executable, 1).passed
    first = len(calls)
    assert run_and_check(data, one, executable, 1).passed
    assert len(calls) == (first if kept else 2 * first)


def test_slices_cover_all_elements_and_give_the_right_index() -> None:
    device = FakeDevice({"one": (one_nan, 30e-6, 5e-6)})
    device.free_bytes = lambda: 8 * 10 * 40  # type: ignore[method-assign]  # room for 40 elements: one row at a time
    check = checked(device)
    assert check.elements == CASE.elements
    assert "y[2, 1, 17]" in check.message


def test_a_yardstick_is_checked_against_its_own_reference() -> None:
    copy = implementation("copy", role="yardstick", reference=lambda xp, case, inputs: {"y": inputs["x"]})
    result = run_case(lambda arrays: arrays["y"].__setitem__(..., arrays["x"]), planned=Planned(copy), precision=None)
    assert result.status == "ok"
    assert result.check.max_absolute_error == 0


def test_outputs_that_a_library_returns_are_checked_instead_of_the_arrays() -> None:
    result = run_case(lambda arrays: {"y": softmax(arrays["x"])})
    assert result.status == "ok"
    result = run_case(lambda arrays: {"y": softmax(arrays["x"])[:2]})
    assert result.status == "wrong"
    assert result.reason == "y has shape (2, 3, 32), expected (4, 3, 32)"


def simpler_input(arrays: Arrays) -> None:
    """An input of zeros has a softmax that needs no reading."""
    arrays["x"][...] = 0
    arrays["y"][...] = 1 / 32


def later(first: int) -> Callable[[Arrays], None]:
    """Right but for what it does to its input, from some run on."""
    runs = count(1)

    def kernel(arrays: Arrays) -> None:
        right(arrays)
        if next(runs) >= first:
            arrays["x"][1, 2, 3] += 1

    return kernel


def side_by_side(
    precision: Precision | None = FAST, device: FakeDevice | None = None, /, **kernels: Callable[[Arrays], Any]
) -> dict[str, Any]:
    device = device or FakeDevice({})
    device.kernels |= {name: (kernel, 30e-6, 5e-6) for name, kernel in kernels.items()}
    plan = CasePlan(CASE, tuple(Planned(implementation(name)) for name in kernels))
    results = CaseRun(device, OPERATION, plan).run(Settings(7, precision=precision))
    return {one.implementation.name: one for one in results}


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (simpler_input, "wrote to its input: x[0, 0, 0] is not what it was before the run"),
        (later(1), "wrote to its input: x[1, 2, 3] is not what it was before the run"),
        (later(4), "wrong when it was timed: wrote to its input: x is not what it was before the run"),
    ],
)
def test_a_kernel_that_writes_to_its_input_is_wrong_and_takes_nobody_with_it(
    kernel: Callable[[Arrays], Any], reason: str
) -> None:
    found = side_by_side(before=right, cheat=kernel, after=right)
    assert (found["cheat"].status, found["cheat"].reason, found["cheat"].measurements) == ("wrong", reason, ())
    assert [(found[name].status, found[name].check.passed) for name in ("before", "after")] == [("ok", True)] * 2


def test_damage_around_arrays_is_not_laid_at_the_next_ones_door() -> None:
    damage = []

    def both(arrays: Arrays) -> None:
        simpler_input(arrays)
        damage.append("y")

    device = FakeDevice({})
    device.red_zone_damage = lambda: damage.pop() if damage else ""  # type: ignore[method-assign]
    cheat, after = side_by_side(FAST, device, cheat=both, after=right).values()
    assert cheat.reason.endswith("is not what it was before the run; wrote outside of y")
    assert (after.status, after.reason) == ("ok", "")


def test_a_result_in_the_memory_of_the_input_is_none() -> None:
    result = run_case(lambda arrays: {"y": arrays["x"]})
    assert (result.status, result.reason) == (
        "wrong",
        "y lies in the memory of its input x; expected memory of its own",
    )


def test_memory_that_a_result_was_returned_in_holds_no_answer_for_the_next() -> None:
    kept: list[Any] = []  # as a pool hands freed memory to whoever asks next

    def honest(arrays: Arrays) -> Arrays:
        kept[:] = [softmax(arrays["x"])]
        return {"y": kept[0]}

    for precision in (FAST, None):
        found = side_by_side(precision, honest=honest, lazy=lambda arrays: {"y": kept[0]})
        assert (found["honest"].status, found["lazy"].status) == ("ok", "wrong")


def test_a_kernel_that_is_right_whenever_inputs_are_new_is_caught_in_between() -> None:
    device = FakeDevice({})

    def lazy(arrays: Arrays) -> None:
        """Right when it is verified before and after the timing, and idle in between."""
        if len(device.fills) != 3:
            right(arrays)

    assert run_case(lazy, device=device).status == "wrong"


def test_a_reference_that_is_a_view_of_its_input_follows_what_is_touched() -> None:
    case = Case("permute", (6, 5, 8), -1, "float32", parameters=(("permutation", "021"),))
    result = run_case(lambda arrays: arrays["y"].__setitem__(..., arrays["x"].transpose(0, 2, 1)), case)
    assert (result.status, result.reason) == ("ok", "")


def test_an_input_that_all_slices_read_is_touched_and_the_reference_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "SLICE_ELEMENTS", 16)  # two rows at a time
    case = Case("bias_add", (6, 8), -1, "float32")
    result = run_case(lambda arrays: arrays["y"].__setitem__(..., arrays["x"] + arrays["bias"]), case)
    assert (result.status, result.reason) == ("ok", "")
    stale: list[np.ndarray] = []

    def kept_bias(arrays: Arrays) -> None:
        """Keeps the bias of its first run, whatever was changed since."""
        stale.append(arrays["bias"].copy())
        arrays["y"][...] = arrays["x"] + stale[0]

    assert run_case(kept_bias, case).status == "wrong"


def test_work_of_another_stream_that_ends_later_is_found_out() -> None:
    device = FakeDevice({})
    pending: list[Callable[[], None]] = []
    wait = device.clock.wait

    def waited() -> None:
        wait()
        while pending:
            pending.pop()()

    device.clock.wait = waited  # type: ignore[method-assign]
    result = run_case(lambda arrays: pending.append(lambda: right(arrays)), device=device, precision=None)
    assert (result.status, result.check.mismatches) == ("wrong", 0)
    assert result.reason == "wrote y after the end of its work in the stream that it was given"


def test_damage_outside_of_an_array_is_wrong_even_if_the_values_are_right() -> None:
    device = FakeDevice({})
    device.red_zone_damage = lambda: "y"  # type: ignore[method-assign]
    result = run_case(right, device=device, precision=None)
    assert (result.status, result.reason) == ("wrong", "wrote outside of y")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_to_a_narrow_type_passes_and_twice_the_tolerance_fails(dtype: str) -> None:
    case = Case("softmax", (8, 64), -1, dtype)

    def kernel(factor: float) -> Callable[[Arrays], None]:
        def run(arrays: Arrays) -> None:
            x = dtypes.widen(np, arrays["x"], dtype).astype(np.float32)
            arrays["y"][...] = dtypes.narrow(np, (softmax(x) * factor).astype(np.float32), dtype)

        return run

    for factor, status in ((1.0, "ok"), (1 + 4 * dtypes.unit_roundoff(dtype), "wrong")):
        assert run_case(kernel(factor), case, precision=None).status == status


WIDER = verify.LIBRARY_FACTOR


def off_by(factor: float, dtype: str = "float32", role: str = "peer", project: str = "a library") -> Any:
    """The result of an implementation whose every element is off by so many times the tolerance."""
    case = Case("softmax", (8, 64), -1, dtype)
    tolerance = OPERATION.tolerance(case)

    def run(arrays: Arrays) -> None:
        exact = softmax(dtypes.widen(np, arrays["x"], dtype))
        arrays["y"][...] = exact + factor * (tolerance.absolute + tolerance.relative * exact)

    one = replace(implementation("one", role=role), origin=Origin(project))
    device = FakeDevice({"one": (run, 30e-6, 5e-6)})
    return CaseRun(device, OPERATION, CasePlan(case, (Planned(one),))).run(Settings(seed=7, precision=FAST))[0]


@pytest.mark.parametrize(
    ("factor", "role", "project", "status", "graded"),
    [
        (0.99, "peer", "a library", "ok", False),
        (1.01, "peer", "a library", "ok", True),
        (0.99 * WIDER, "peer", "a library", "ok", True),
        (1.01 * WIDER, "peer", "a library", "wrong", False),
        (1.01, "peer", "written here", "wrong", False),
        (1.01, "kernel", "a library", "wrong", False),
        (0.99, "kernel", "written here", "ok", False),
    ],
)
def test_a_library_that_is_off_by_its_own_rounding_is_timed_and_graded(
    factor: float, role: str, project: str, status: str, graded: bool
) -> None:
    result = off_by(factor, role=role, project=project)
    assert (result.status, bool(result.check.grade), bool(result.measurements)) == (status, graded, status == "ok")
    assert result.reason.startswith("off by its own rounding: ") == graded
    assert result.check.max_error_ulp == pytest.approx(factor * 2 * result.check.tolerance.relative * 2**23, rel=0.02)
    assert result.check.share_of_tolerance == pytest.approx(factor, rel=0.02)


def test_the_grade_is_that_of_the_worst_element() -> None:
    case = Case("softmax", (8, 64), -1, "bfloat16")

    def off(arrays: Arrays) -> None:
        exact = softmax(dtypes.widen(np, arrays["x"], "bfloat16"))
        for place, ulps in (((0, 3), 1.1), ((0, 9), 2.0)):
            exact[place] += ulps * dtypes.spacing(np, exact[place], "bfloat16")
        arrays["y"][...] = dtypes.narrow(np, exact.astype(np.float32), "bfloat16")

    device = FakeDevice({"one": (off, 30e-6, 5e-6)})
    plan = CasePlan(case, (Planned(implementation("one", role="peer")),))
    result = CaseRun(device, OPERATION, plan).run(Settings(seed=7))[0]
    said = re.fullmatch(r"off by its own rounding: (\S+) ulp where (\S+) is allowed", result.reason)
    assert said is not None
    assert 1.5 <= float(said[1]) <= 2.5
    assert float(said[1]) == pytest.approx(result.check.max_error_ulp, rel=0.01)
    assert 0.5 <= float(said[2]) <= 1.01


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_grade_makes_up_for_a_special_value(value: float) -> None:
    def one_special(arrays: Arrays) -> None:
        right(arrays)
        arrays["y"][2, 1, 17] = value

    device = FakeDevice({"one": (one_special, 30e-6, 5e-6)})
    plan = CasePlan(CASE, (Planned(implementation("one", role="peer")),))
    assert CaseRun(device, OPERATION, plan).run(Settings(seed=7))[0].status == "wrong"


def test_a_row_of_minus_infinity_expects_nan() -> None:
    with np.errstate(invalid="ignore"):
        assert checked(FakeDevice({"one": (right, 30e-6, 5e-6)}), first=-np.inf).passed


def test_a_wrong_kernel_whose_machine_code_never_loads_its_input_is_told_so() -> None:
    launch = Launch("kernel", (1, 1, 1), (32, 1, 1), ("x", "y"))
    facts = EntryFacts("kernel", 8, 0, 0, 0, 0, parameter_loads=(0, 0), parameter_stores=(0, 1))
    binary = Binary("key", Path("cubin"), Path("ptx"), "sm_90", ("nvcc",), {"kernel": facts}, cached=True)
    result = run_case(zeros, planned=Planned(implementation("one"), LaunchPlan((launch,)), binary), precision=None)
    assert result.status == "wrong"
    assert result.reason.endswith("; it never reads x")
