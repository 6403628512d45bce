"""Which of several CUDA contexts is kept, by what launches cost in each."""

import ctypes
from collections.abc import Sequence
from typing import Any

import pytest

from kernelbench.devices import cuda_context
from kernelbench.devices.cuda_context import LEAST_CONTEXTS, MOST_CONTEXTS, PATIENT_CONTEXTS, choose_context

CHEAP, CHEAPER, DEAR = 9.15e-6, 9.0e-6, 9.7e-6


class FakeDriver:
    """Counts contexts made and given up; `active` is what cuDevicePrimaryCtxGetState says."""

    def __init__(self, active: int = 0) -> None:
        self.active, self.resets = active, 0

    def cuInit(self, flags: int) -> None: ...  # noqa: N802

    def cuDeviceGet(self, device: Any, number: int) -> None: ...  # noqa: N802

    def cuDevicePrimaryCtxGetState(self, device: Any, flags: Any, active: Any) -> None:  # noqa: N802
        active._obj.value = self.active

    def cuDevicePrimaryCtxReset_v2(self, device: Any) -> None:  # noqa: N802
        self.resets += 1

    def cuDevicePrimaryCtxRelease_v2(self, device: Any) -> None: ...  # noqa: N802


def chosen(monkeypatch: pytest.MonkeyPatch, costs: Sequence[float]) -> tuple[list[float] | None, FakeDriver]:
    driver, rest = FakeDriver(), iter(costs)
    monkeypatch.setattr(cuda_context, "_Driver", lambda: driver)
    monkeypatch.setattr(cuda_context, "_cost_of_new_context", lambda driver, device: next(rest))
    return choose_context(0), driver


def test_the_first_one_that_is_as_cheap_as_the_cheapest_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = [DEAR, CHEAPER, DEAR, DEAR, DEAR, CHEAP, CHEAPER, CHEAPER]
    found, driver = chosen(monkeypatch, costs)
    assert found == costs[:7]
    assert found[-1] == CHEAPER
    assert driver.resets == 6, "every context but the last is given up"


def test_a_few_are_always_tried_since_the_first_cannot_know_what_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = chosen(monkeypatch, [DEAR] * LEAST_CONTEXTS)
    assert len(found) == LEAST_CONTEXTS


def test_after_many_one_of_the_cheaper_kind_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = chosen(monkeypatch, [CHEAPER] + [CHEAP] * MOST_CONTEXTS)
    assert (len(found), found[-1]) == (PATIENT_CONTEXTS, CHEAP)


def test_it_ends_where_no_other_cheap_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = chosen(monkeypatch, [CHEAPER] + [DEAR] * MOST_CONTEXTS)
    assert len(found) == MOST_CONTEXTS


def test_a_context_that_others_hold_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver(active=1)
    monkeypatch.setattr(cuda_context, "_Driver", lambda: driver)
    assert choose_context(0) is None
    assert driver.resets == 0


def test_without_a_driver_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> ctypes.CDLL:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    assert choose_context(0) is None


def test_a_driver_error_names_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        @staticmethod
        def cuInit(flags: int) -> int:  # noqa: N802
            return 100

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    with pytest.raises(OSError, match="cuInit answers 100"):
        cuda_context._Driver().cuInit(0)
