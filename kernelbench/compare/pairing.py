"""Rows of two runs matched by case, implementation, cache and method: those to compare, and why others cannot be."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

import numpy as np

from kernelbench.compare import noise
from kernelbench.compare.between import code_state
from kernelbench.compare.changes import Change
from kernelbench.core import statistics
from kernelbench.runs.results import Run, without_twins
from kernelbench.runs.row_records import Row

LONGEST_S = 1e9  # longest sample that is used: a file may hold any number

Times = Mapping[tuple[str, str], Row]  # rows of a case and implementation, by cache and method
Ends = tuple[float, float, float]  # low, median, high


@dataclass(frozen=True)
class Side:
    """One run: its rows in order, its samples and its noise floor."""

    run: Run
    rows: Mapping[tuple[str, str], Times]
    samples: noise.Samples
    floor: noise.Floor


@dataclass(frozen=True)
class Pair:
    """A row that both runs have a time of, and the interval of ln(second / first)."""

    key: noise.Key
    first: Row
    second: Row
    seconds: tuple[float, float]  # of the first and the second run
    sizes: tuple[int, int]  # raw samples
    value: float
    low: float
    high: float
    code: str


def side_of(run: Run) -> Side:
    rows: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    for row in without_twins(run).rows:
        rows.setdefault((row.case, row.implementation), {})[row.cache, row.method] = row
    samples = {key: taken for key, (taken, _) in run.samples_by_row.items() if _is_sound(taken)}
    return Side(run, rows, samples, noise.floor_of(run, samples))


def _is_sound(samples: np.ndarray) -> bool:
    """Whether all times are positive and so small that no mean of them overflows."""
    return bool(samples.min() > 0 and samples.max() < LONGEST_S)


def all_keys(first: Side, second: Side) -> list[tuple[str, str]]:
    """Cases and implementations of both, in the order of the first run, cases kept together."""
    cases = dict.fromkeys(case for case, _ in (*first.rows, *second.rows))
    keys = dict.fromkeys((*first.rows, *second.rows))
    places = {case: place for place, case in enumerate(cases)}
    return sorted(keys, key=lambda key: places[key[0]])


def match_rows(first: Side, second: Side, by_share: bool) -> tuple[list[Pair], list[Change]]:
    """Rows that can be compared, and the others with the reason."""
    pairs: list[Pair] = []
    rest: list[Change] = []
    for case, name in all_keys(first, second):
        mine, theirs = first.rows.get((case, name), {}), second.rows.get((case, name), {})
        for at in dict.fromkeys((*mine, *theirs)):
            key = (case, name, *at)
            if pair := _pair(key, first, second, by_share):
                pairs.append(pair)
            elif not _told_elsewhere(at, mine, theirs):
                rest.append(_unmatched(key, mine, theirs))
    return pairs, rest


def _told_elsewhere(at: tuple[str, str], mine: Times, theirs: Times) -> bool:
    """Whether a row without times is left out because timed rows of the same implementation report the reason."""
    return at == ("", "") and any(row.times for row in (*mine.values(), *theirs.values()))


def _pair(key: noise.Key, first: Side, second: Side, by_share: bool) -> Pair | None:
    """None where not both have a time of it, and a share of the ceiling if that is compared."""
    one, other = (side.rows.get(key[:2], {}).get(key[2:]) for side in (first, second))
    if not (one and one.times and other and other.times):
        return None
    scale = 0.0
    if by_share:
        if not (one.share_of_ceiling and other.share_of_ceiling):
            return None
        # What a share divides by is the same for all samples of a row: ceiling over least traffic.
        ceiling = log(one.share_of_ceiling) + log(one.times[1])
        scale = ceiling - (log(other.share_of_ceiling) + log(other.times[1]))
    taken = first.samples.get(key), second.samples.get(key)
    sizes = tuple(0 if part is None else len(part) for part in taken)
    value, low, high = (end + scale for end in _interval(one.times, other.times, *taken))
    code = code_state(first.run, one, second.run, other)
    return Pair(key, one, other, (one.times[1], other.times[1]), (sizes[0], sizes[1]), value, low, high, code)


def _interval(one: Ends, other: Ends, mine: np.ndarray | None, theirs: np.ndarray | None) -> tuple[float, float, float]:
    """ln(second / first) with its 95 % interval: bootstrap over the raw samples, else from both medians' intervals.

    One measurement read twice, sample by sample the same, has no interval: it does not differ from itself.
    """
    if mine is not None and theirs is not None:
        value = log(np.median(theirs)) - log(np.median(mine))
        if np.array_equal(mine, theirs):
            return value, value, value
        draws = [np.log(statistics.bootstrap_medians(taken, seed)) for seed, taken in ((1, mine), (2, theirs))]
        low, high = np.quantile(draws[1] - draws[0], [statistics.TAIL, 1 - statistics.TAIL])
        return value, min(float(low), value), max(float(high), value)
    if mine is theirs and one == other:
        return 0.0, 0.0, 0.0
    (low, value, high), (low_other, value_other, high_other) = (map(log, ends) for ends in (one, other))
    return value_other - value, low_other - high, high_other - low


def _unmatched(key: noise.Key, mine: Times, theirs: Times) -> Change:
    *_, cache, method = key
    one, other = (side.get((cache, method)) or side.get(("", "")) for side in (mine, theirs))
    seconds = [row.times[1] if row and row.times else None for row in (one, other)]
    shares = [row.share_of_ceiling if row and row.times else None for row in (one, other)]
    return Change(
        *key,
        first_s=seconds[0],
        second_s=seconds[1],
        first_share=shares[0],
        second_share=shares[1],
        first_status=one.status if one else "",
        second_status=other.status if other else "",
        reason=_why_not(one, other, mine, theirs, cache, method),
    )


def _why_not(one: Row | None, other: Row | None, mine: Times, theirs: Times, cache: str, method: str) -> str:
    if one and other and one.times and other.times:
        return "two GPUs are compared by share of the ceiling, which this row does not have in both runs"
    if one and other and not one.times and not other.times and _state(one) == _state(other):
        return f"{_state(one)}, in both runs"
    texts = []
    for side, row, rows in (("first", one, mine), ("second", other, theirs)):
        if row is None:
            kind = f"it has no {cache} time by {method}" if rows else "it has no such row"
            texts.append(f"not in the {side} run: {kind}")
        elif not row.times:
            texts.append(f"{side} run: {_state(row)}")
    return "; ".join(texts)


def _state(row: Row) -> str:
    return f"{row.status} ({row.reason})" if row.reason else row.status
