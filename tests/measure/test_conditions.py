"""What samples were taken under: which of them count, which are taken again, and what a row says that has no others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from kernelbench.core.records import Arrays, Measurement
from kernelbench.measure import conditions
from kernelbench.measure.case_run import Settings
from kernelbench.measure.conditions import ANOTHER, Watch, disturbance_text
from kernelbench.measure.tracks import Precision
from tests.fake_gpu import EVENT_S, FakeDevice, softmax
from tests.measure.test_rounds import cold, run

FAST, SLOW = 50e-6, 70e-6
CALM = {"sm_clock_hz": 1.98e9, "throttle": "", "others": 0}
CAPPED = {"sm_clock_hz": 1.5e9, "throttle": "power cap", "others": 0}
BESIDE = {**CALM, "others": 1}


@pytest.fixture(autouse=True)
def every_sample_has_its_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "EVERY_S", 0.0)
    monkeypatch.setattr(conditions, "READING_SHARE", float("inf"))
    monkeypatch.setattr(conditions, "TELLING_S", 0.0)


def device(under: Callable[[int], Mapping[str, Any]]) -> FakeDevice:
    """Whose kernel is SLOW in samples that `under` says to be CAPPED or BESIDE; the first of the rounds is number 0."""
    made = FakeDevice({})
    read = 0

    def now() -> Mapping[str, Any]:
        nonlocal read
        read += 1
        return under(read - 1)

    def kernel(arrays: Arrays) -> None:
        made.kernels["a"] = (kernel, SLOW if under(read) in (CAPPED, BESIDE) else FAST, 5e-6)
        softmax(arrays)

    made.conditions = now  # type: ignore[method-assign]
    made.kernels["a"] = (kernel, FAST, 5e-6)
    return made


def measured(under: Callable[[int], Mapping[str, Any]], **precision: Any) -> Measurement:
    settings = Settings(1, ("cold",), Precision(every_place=False, **{"seconds_per_case": 60, **precision}))
    result = run(device(under), ["a"], settings)["a"]
    assert (result.status, result.reason) == ("ok", "")
    found = cold(result)
    assert isinstance(found, Measurement)
    return found


@pytest.mark.parametrize("trouble", [CAPPED, BESIDE])
def test_samples_that_something_disturbed_are_taken_again(trouble: Mapping[str, Any]) -> None:
    found = measured(lambda sample: trouble if 3 <= sample < 8 else CALM)
    assert found.median_s == pytest.approx(FAST + EVENT_S)
    assert max(found.samples_s) == pytest.approx(FAST + EVENT_S)
    assert len(found.samples_s) >= 20
    assert not set(range(3, 7)) & set(found.rounds), "what was disturbed is not among them"
    assert (found.disturbed, found.throttle, found.stopped) == ("", "", "precise")


def test_a_row_that_has_too_few_others_is_marked_with_all_its_samples() -> None:
    found = measured(lambda sample: BESIDE if sample % 2 else CALM, seconds_per_case=0.0)
    assert len(found.samples_s) == 20
    assert found.disturbed == "20 of 20 samples beside another process", "each lies beside a reading that says so"
    found = measured(lambda sample: BESIDE if sample < 10 else CALM, seconds_per_case=0.0)
    assert found.disturbed == "10 of 20 samples beside another process"
    assert found.stopped == "time limit"


def test_a_row_beside_another_process_all_along_goes_on_for_as_long_again_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kernelbench.measure import rounds

    now = 0.0

    def tick() -> float:
        nonlocal now
        now += 0.01
        return now

    monkeypatch.setattr(rounds.time, "monotonic", tick)
    found = measured(lambda sample: BESIDE, seconds_per_case=2.0)
    assert 4.0 < now < 5.2  # the clock also goes on before the rounds and after them
    assert found.stopped == "time limit"
    assert found.disturbed.endswith("samples beside another process")


def test_a_throttle_of_all_samples_alike_is_stated_and_disturbs_nothing() -> None:
    found = measured(lambda sample: CAPPED)
    assert (found.disturbed, found.throttle, found.stopped) == ("", "power cap", "precise")
    assert len(found.samples_s) == 20
    assert found.sm_clock_hz == 1.5e9


def test_a_throttle_that_lowers_no_clock_is_stated_and_disturbs_nothing() -> None:
    flicker = {**CALM, "throttle": "power cap", "sm_clock_hz": 1.97e9}
    found = measured(lambda sample: flicker if sample % 3 else CALM)
    assert (found.disturbed, found.throttle) == ("", "power cap")
    assert len(found.samples_s) == 20


def test_a_throttle_that_stays_marks_the_row_with_the_reason() -> None:
    found = measured(lambda sample: CALM if sample < 5 else CAPPED, seconds_per_case=0.0)
    assert found.disturbed == "16 of 20 samples under power cap"
    assert found.throttle == "power cap"


def test_what_the_driver_does_not_say_disturbs_nothing() -> None:
    found = measured(lambda sample: {})
    assert (found.disturbed, found.throttle, found.sm_clock_hz) == ("", "", None)


def watch(*readings: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch, step_s: float) -> Watch:
    """A watch over these readings, `step_s` apart."""
    left = list(readings)
    made = FakeDevice({})
    made.conditions = lambda: left.pop(0)  # type: ignore[method-assign]
    clock = [0.0]
    monkeypatch.setattr(conditions.time, "monotonic", lambda: clock[0])
    found = Watch(made)
    for _ in readings:
        found.look(now=True)
        clock[0] += step_s
    return found


@pytest.mark.parametrize(
    ("step_s", "expected"),
    [(0.3, [False, True, True, True, True, True, False]), (2.0, [False, False, False, False, True, True, False])],
)
def test_a_reading_tells_of_the_second_before_it(
    monkeypatch: pytest.MonkeyPatch, step_s: float, expected: Sequence[bool]
) -> None:
    monkeypatch.setattr(conditions, "TELLING_S", 1.0)
    calm_then_beside = watch(*[CALM] * 5, BESIDE, CALM, monkeypatch=monkeypatch, step_s=step_s)
    found = calm_then_beside.disturbances(range(7))
    assert [ANOTHER in reasons for reasons in found] == expected


def test_readings_are_as_far_apart_as_they_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "EVERY_S", 0.05)
    monkeypatch.setattr(conditions, "READING_SHARE", 0.05)
    clock, taken = [0.0], [0.0]
    made = FakeDevice({})

    def reading() -> Mapping[str, Any]:
        clock[0] += taken[0]
        return CALM

    made.conditions = reading  # type: ignore[method-assign]
    monkeypatch.setattr(conditions.time, "monotonic", lambda: clock[0])
    found = Watch(made)
    for _ in range(1000):  # of a millisecond each
        found.look()
        clock[0] += 1e-3
    assert 18 <= found.last <= 20
    taken[0] = 0.01  # a reading that takes so long is made every 0.2 s
    for _ in range(1000):
        found.look()
        clock[0] += 1e-3
    assert 18 + 4 <= found.last <= 20 + 6


def test_disturbances_are_told_with_their_counts() -> None:
    cap = frozenset({"under power cap"})
    assert disturbance_text([frozenset()] * 3) == ""
    assert disturbance_text([cap, cap | {ANOTHER}, frozenset()]) == (
        "1 of 3 samples beside another process; 2 of 3 samples under power cap"
    )
