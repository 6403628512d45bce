"""Who measures what where GPUs share suites."""

from collections import Counter

import pytest

from kernelbench.core import places
from kernelbench.fleet import sharing
from kernelbench.fleet.sharing import Share, costs_of, shares_of
from kernelbench.suite import find_suite, read_suite
from tests.catalog import catalog


def test_times_are_those_of_the_same_kind_of_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def time(suite: str, gpu: str) -> tuple[float, str]:
        asked.append((suite, gpu))
        return (30.0, gpu)

    monkeypatch.setattr(sharing, "recorded_time", time)
    known = catalog(specimens=True)
    suite = read_suite(find_suite("softmax", places.SUITES), known.operations, known.implementations)
    assert costs_of([suite], "NVIDIA H100 80GB HBM3", changed=False) == [36.0], "with the start of its process"
    assert costs_of([suite], "NVIDIA A100-SXM4-80GB", changed=False) == [36.0]
    assert asked == [("softmax", "h100"), ("softmax", "h200")]
    for kind in ("simulated (A100 properties)", "NVIDIA .. H100X"):
        costs_of([suite], kind, changed=False)
    assert asked[2:] == [("softmax", "h200")] * 2, "neither a simulator's time nor another folder's"
    assert costs_of([suite], "NVIDIA H100 80GB HBM3", changed=True) == [len(suite.cases)]


def test_whole_suites_go_to_the_gpu_that_is_free_first() -> None:
    assert shares_of([32.4, 20.5, 18.4, 28.0], [9, 9, 9, 9], 2) == [Share(0, 0), Share(3, 1), Share(1, 1), Share(2, 0)]


def test_fewer_suites_than_gpus_are_split() -> None:
    assert shares_of([30.0], [6], 2) == [Share(0, 0, "1/2"), Share(0, 1, "2/2")]
    assert [share.part for share in shares_of([30.0], [2], 4)] == ["1/2", "2/2"]
    assert shares_of([30.0], [1], 4) == [Share(0, 0)]


def test_only_what_balances_is_split() -> None:
    found = shares_of([90.0, 10.0, 10.0], [9, 2, 2], 2)
    assert Counter(share.suite for share in found) == {0: 2, 1: 1, 2: 1}


@pytest.mark.parametrize("gpus", [1, 2, 3, 8])
def test_no_gpu_has_two_parts_of_a_suite(gpus: int) -> None:
    found = shares_of([30.0, 20.0, 1.0, 7.0], [6, 3, 1, 2], gpus)
    assert len({(share.suite, share.gpu) for share in found}) == len(found)
    for suite in range(4):
        parts = sorted(share.part for share in found if share.suite == suite)
        assert parts == ([""] if len(parts) == 1 else [f"{number}/{len(parts)}" for number in range(1, len(parts) + 1)])
