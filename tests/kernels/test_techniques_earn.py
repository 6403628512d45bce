"""Every technique of our softmax kernels earns its code: in some recorded case it is the fastest by 3 % or more."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache

import pytest

from kernelbench.core import places
from kernelbench.runs.candidate_times import read_times

Values = Mapping[str, int]
LEAST = 0.03  # of the time of the fastest candidate without the technique
TECHNIQUES: dict[str, Callable[[Values], bool]] = {
    "rows by lanes or warps": lambda one: "held" in one,
    "rows by clusters": lambda one: one.get("blocks", 1) > 1,
    "several rows at once": lambda one: one.get("rows", 1) > 1 and "held" in one,
    "exponentials twice": lambda one: "recompute" in one,
    "whole rows per thread": lambda one: "staged" in one and "slabs" not in one,
    "rows by lanes, through shared memory": lambda one: "stagedlanes" in one,
    "rows in words, that are no whole packs": lambda one: "words" in one,
    "slabs copied by a block": lambda one: one.get("slabs") == 1 and "tile" not in one and "staged" not in one,
    "slabs held by one thread": lambda one: "staged" in one and "slabs" in one,
    "rows shorter than a pack": lambda one: one.get("fold", 0) > 0,
    "slabs that are whole packs together": lambda one: "ragged" in one,
    "rows that begin anywhere": lambda one: "shifted" in one,
    "packs of 8 bytes": lambda one: "whole_8" in one,
    "packs of 4 bytes": lambda one: "whole_4" in one,
    "packs of 2 bytes": lambda one: "whole_2" in one,
    "two strips": lambda one: "more_strips" in one,
    "packs in shared memory": lambda one: one.get("shared_packs", 0) > 0,
    "clusters share dim": lambda one: "tile" in one and one.get("cluster") == 1,
    "co-resident groups": lambda one: "co_resident" in one,
    "tickets": lambda one: "tickets" in one,
}
# Not judged here: two launches of split rows, since GPUs without clusters have nothing else for the longest rows.


@lru_cache
def recorded() -> tuple[tuple[tuple[Values, float], ...], ...]:
    """The candidates of each recorded case, with their times in seconds beyond an empty kernel's."""
    cases = defaultdict(list)
    for path in sorted(places.RECORDED.glob("*/model/*.softmax.csv.gz")):
        for one in read_times(path):
            if one.seconds is not None:
                pairs = (pair.rsplit(" ", 1) for pair in one.values.split(", "))
                cases[path, one.kernel, one.case].append(({name: int(value) for name, value in pairs}, one.net_s))
    return tuple(map(tuple, cases.values()))


def gain(has: Callable[[Values], bool]) -> float:
    """By how much the fastest candidate without it takes longer, at the most."""
    found = [0.0]
    for candidates in recorded():
        times = {one: [time for values, time in candidates if has(values) == one] for one in (True, False)}
        if times[True] and times[False]:
            found.append(min(times[False]) / min(times[True]) - 1)
    return max(found)


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_a_technique_is_the_fastest_somewhere(technique: str) -> None:
    assert gain(TECHNIQUES[technique]) >= LEAST


def test_four_strips_of_a_slab_are_gone_because_they_did_not_earn_it() -> None:
    assert gain(lambda one: one.get("more_strips") == 3) < LEAST
