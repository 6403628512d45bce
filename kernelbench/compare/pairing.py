"""Rows of two runs matched by case, implementation, cache and method: those to compare, and why others cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, log
from typing import Any

import numpy as np

from kernelbench.compare import noise
from kernelbench.compare.between import code_state
from kernelbench.compare.changes import Row
from kernelbench.core import columns, statistics
from kernelbench.runs.results import Run, without_twins

LONGEST_S = 1e9  # of a sample; a file may say more

Times = Mapping[tuple[str, str], Mapping[str, Any]]  # rows of a case and implementation, by cache and method


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
    first: Mapping[str, Any]
    second: Mapping[str, Any]
    sizes: tuple[int, int]  # raw samples
    value: float
    low: float
    high: float
    code: str

    @property
    def seconds(self) -> float:
        """The shorter of both times: what a clock adds weighs more on it."""
        return float(min(self.first["median_s"], self.second["median_s"]))


def side_of(run: Run) -> Side:
    rows: dict[tuple[str, str], dict[tuple[str, str], Mapping[str, Any]]] = {}
    for row in without_twins(run).table.to_dict("records"):
        rows.setdefault((row["case"], row["implementation"]), {})[row["cache"], row["method"]] = row
    groups = run.samples.groupby(["case", "implementation", "cache", "method"], sort=False)["seconds"]
    samples = {key: taken for key, group in groups if _is_sound(taken := group.to_numpy(dtype=float))}
    return Side(run, rows, samples, noise.floor_of(run, samples))


def _is_sound(samples: np.ndarray) -> bool:
    """Times that a mean of two cannot take out of what a number holds."""
    return bool(samples.min() > 0 and samples.max() < LONGEST_S)


def all_keys(first: Side, second: Side) -> list[tuple[str, str]]:
    """Cases and implementations of both, in the order of the first run, cases kept together."""
    cases = dict.fromkeys(case for case, _ in (*first.rows, *second.rows))
    keys = dict.fromkeys((*first.rows, *second.rows))
    places = {case: place for place, case in enumerate(cases)}
    return sorted(keys, key=lambda key: places[key[0]])


def matched(first: Side, second: Side, by_share: bool) -> tuple[list[Pair], list[Row]]:
    """Rows that can be compared, and the others with the reason."""
    pairs: list[Pair] = []
    rest: list[Row] = []
    for case, name in all_keys(first, second):
        mine, theirs = first.rows.get((case, name), {}), second.rows.get((case, name), {})
        for at in dict.fromkeys((*mine, *theirs)):
            one, other = mine.get(at), theirs.get(at)
            if one and other and _timed(one) and _timed(other) and (not by_share or _shared(one, other)):
                pairs.append(_pair((case, name, *at), one, other, first, second, by_share))
            elif not _told_elsewhere(at, mine, theirs):
                rest.append(_unmatched((case, name, *at), mine, theirs, by_share))
    return pairs, rest


def _timed(row: Mapping[str, Any]) -> bool:
    return bool(row["status"] == "ok" and isfinite(row["median_s"]) and row["median_s"] > 0)


def _shared(*rows: Mapping[str, Any]) -> bool:
    return all(row["share_of_ceiling"] > 0 for row in rows)  # NaN, of warm rows, is not


def _told_elsewhere(at: tuple[str, str], mine: Times, theirs: Times) -> bool:
    """A row without times whose other side has times: those rows tell it."""
    return at == ("", "") and any(_timed(row) for row in (*mine.values(), *theirs.values()))


def _pair(
    key: noise.Key,
    one: Mapping[str, Any],
    other: Mapping[str, Any],
    first: Side,
    second: Side,
    by_share: bool,
) -> Pair:
    taken = first.samples.get(key), second.samples.get(key)
    sizes = tuple(0 if part is None else len(part) for part in taken)
    value, low, high = _interval(one, other, *taken)
    # What a share divides by is the same for all samples of a row: ceiling over least traffic.
    ceilings = [log(row["share_of_ceiling"]) + log(row["median_s"]) if by_share else 0.0 for row in (one, other)]
    scale = ceilings[0] - ceilings[1]
    code = code_state(first.run, one, second.run, other)
    return Pair(key, one, other, (sizes[0], sizes[1]), value + scale, low + scale, high + scale, code)


def _interval(
    one: Mapping[str, Any], other: Mapping[str, Any], mine: np.ndarray | None, theirs: np.ndarray | None
) -> tuple[float, float, float]:
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
    ends = ("low_s", "median_s", "high_s")
    (low, value, high), (low_other, value_other, high_other) = ([log(row[end]) for end in ends] for row in (one, other))
    if mine is theirs and all(one[end] == other[end] for end in ends):
        return 0.0, 0.0, 0.0
    return value_other - value, low_other - high, high_other - low


def _unmatched(key: noise.Key, mine: Times, theirs: Times, by_share: bool) -> Row:
    cache, method = key[2:]
    one, other = (side.get((cache, method)) or side.get(("", "")) for side in (mine, theirs))
    row = empty(key)
    for side, at in (("first", one), ("second", other)):
        if at:
            row[f"{side}_status"] = at["status"]
        if at and _timed(at):
            row |= {f"{side}_s": at["median_s"], f"{side}_share": number(at["share_of_ceiling"])}
    return row | {"reason": _why_not(one, other, mine, theirs, cache, method, by_share)}


def _why_not(
    one: Mapping[str, Any] | None,
    other: Mapping[str, Any] | None,
    mine: Times,
    theirs: Times,
    cache: str,
    method: str,
    by_share: bool,
) -> str:
    if one and other and _timed(one) and _timed(other):
        return "two GPUs are compared by share of the ceiling, which this row does not have in both runs"
    if one and other and not _timed(one) and not _timed(other) and _state(one) == _state(other):
        return f"{_state(one)}, in both runs"
    texts = []
    for side, row, rows in (("first", one, mine), ("second", other, theirs)):
        if row is None:
            kind = f"it has no {cache} time by {method}" if rows else "it has no such row"
            texts.append(f"not in the {side} run: {kind}")
        elif not _timed(row):
            texts.append(f"{side} run: {_state(row)}")
    return "; ".join(texts)


def _state(row: Mapping[str, Any]) -> str:
    return f"{row['status']} ({row['reason']})" if row["reason"] else str(row["status"])


def empty(key: noise.Key) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(columns.names(columns.CHANGES))
    row |= dict(zip(("case", "implementation", "cache", "method"), key, strict=True))
    return row | dict.fromkeys(("verdict", "code", "first_status", "second_status", "reason"), "")


def number(value: float) -> float | None:
    return value if isfinite(value) else None
