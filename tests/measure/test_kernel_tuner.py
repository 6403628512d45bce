"""Kernel Tuner as the searcher: what it asks for, what it is told, and when it ends."""

import sys
from collections.abc import Callable, Mapping, Sequence

import pytest

from kernelbench.core.errors import InputError
from kernelbench.measure import kernel_tuner

VALUES = {"across": (8, 16, 32), "down": (8, 16, 32), "hint": (0, 1)}
Asked = list[Mapping[str, int]]


def search(
    evaluate: Callable[[Mapping[str, int]], float | str | None],
    restrictions: Sequence[str] = (),
    *,
    seconds: float = 60.0,
    most: int = kernel_tuner.SMALL,
    values: Mapping[str, Sequence[int]] = VALUES,
) -> tuple[bool, list[Asked]]:
    """Whether it came to its end, and the candidates of each call."""
    pytest.importorskip("kernel_tuner", reason="needs the extra tune")
    calls: list[Asked] = []

    def all_of(asked: Sequence[Mapping[str, int]], time_is_up: Callable[[], bool]) -> list[float | str | None]:
        calls.append(list(asked))
        return [None if time_is_up() else evaluate(one) for one in asked]

    return kernel_tuner.search(values, restrictions, all_of, seconds=seconds, seed=1, most=most), calls


def test_a_small_space_is_gone_through_whole_and_each_candidate_once() -> None:
    complete, calls = search(lambda one: one["across"] / one["down"], ["across * down <= 512"])
    asked = [tuple(one.items()) for call in calls for one in call]
    assert complete
    assert len(asked) == len(set(asked)) == 16 == kernel_tuner.space_size(VALUES, ["across * down <= 512"])
    assert all(one["across"] * one["down"] <= 512 for call in calls for one in call)


def test_a_large_space_is_searched_by_generations_towards_the_best() -> None:
    values = {name: tuple(range(1, 17)) for name in ("a", "b", "c")}
    best, costs = (11, 4, 7), []

    def cost(one: Mapping[str, int]) -> float:
        costs.append(1 + sum(abs(got - wanted) for got, wanted in zip(one.values(), best, strict=True)))
        return float(costs[-1])

    complete, calls = search(cost, values=values, most=100, seconds=2.0)
    assert len(calls[0]) == kernel_tuner.GENERATION
    assert sum(map(len, calls)) < 16**3
    assert min(costs) < min(costs[: kernel_tuner.GENERATION])
    assert complete


def test_candidates_with_a_reason_and_no_time_do_not_end_a_search() -> None:
    complete, calls = search(lambda one: "wrong: y[0]" if one["hint"] else 1.0)
    assert complete
    assert sum(map(len, calls)) == 18
    assert search(lambda one: "failed")[0]


def test_a_search_whose_time_is_up_says_that_it_is_not_complete() -> None:
    import time

    def slow(one: Mapping[str, int]) -> float:
        time.sleep(0.05)
        return 1.0

    assert not search(slow, seconds=0.2)[0]
    assert not search(slow, seconds=0.2, values={name: tuple(range(1, 17)) for name in ("a", "b", "c")})[0]


def test_the_searcher_prints_nothing(capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder) -> None:
    search(lambda one: 1.0)
    assert capfd.readouterr() == ("", "")
    assert [str(one.message) for one in recwarn] == []


def test_without_kernel_tuner_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kernel_tuner", None)
    with pytest.raises(InputError, match=r"Kernel Tuner, which cannot be imported .*pip install -e '.*\[tune\]'"):
        kernel_tuner.load()
