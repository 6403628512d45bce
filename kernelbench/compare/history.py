"""Runs of one suite on GPUs of one model, over time: a trend per row, and the steps in it with what changed there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, log, log1p
from pathlib import Path

import numpy as np

from kernelbench.compare import noise
from kernelbench.compare.changes import Changes, JudgedRow
from kernelbench.compare.history_steps import find_steps, medians_between
from kernelbench.compare.runs import compare_runs
from kernelbench.core.errors import InputError
from kernelbench.runs.results import Run, without_twins


@dataclass(frozen=True)
class Moment:
    """One run of the history."""

    folder: Path
    started: str  # UTC, as environment.json has it
    commit: str  # '' where it is not stated


@dataclass(frozen=True)
class Point:
    """A row in one run."""

    moment: int  # place in History.moments
    seconds: float  # median
    low_s: float  # 95 % interval
    high_s: float


@dataclass(frozen=True)
class LevelShift:
    """A new level of a row, which begins with `moment` and ends an older one, last seen in `before`."""

    before: int
    moment: int
    ratio: float  # level after over level before; above 1: slower
    band: float  # least change of a level, as 0.02, that this row could show there
    code: str  # as a Change has it: same, other code, ..
    runs: int  # of the new level


@dataclass(frozen=True)
class Trend:
    """A row in time."""

    case: str
    implementation: str
    cache: str
    method: str
    points: Sequence[Point]
    steps: Sequence[LevelShift]

    @property
    def ratio(self) -> float:
        """The last level over the first: above 1 is slower."""
        return exp(sum(log(step.ratio) for step in self.steps))

    @property
    def levels_s(self) -> list[tuple[int, int, float]]:
        """First moment, last moment and median seconds of each level."""
        places = {point.moment: place for place, point in enumerate(self.points)}
        bounds = [0, *(places[step.moment] for step in self.steps), len(self.points)]
        return [
            (part[0].moment, part[-1].moment, float(np.median([point.seconds for point in part])))
            for first, last in pairwise(bounds)
            for part in [self.points[first:last]]
        ]


@dataclass(frozen=True)
class RunShifts:
    """All steps between the same two runs, and what else differs between these."""

    before: int
    moment: int
    rows: Sequence[tuple[Trend, LevelShift]]
    differences: Sequence[str]  # as `compare RUN RUN` tells them, without those of machine code


@dataclass(frozen=True)
class History:
    suite: str
    device: str
    moments: Sequence[Moment]
    trends: Sequence[Trend]  # of rows that two runs or more have a time of
    events: Sequence[RunShifts]  # in time
    single: int  # rows that only one run has a time of

    @property
    def changed(self) -> list[Trend]:
        """Trends with a step, that with the largest one first."""
        changed = [one for one in self.trends if one.steps]
        return sorted(changed, key=lambda one: -max(abs(log(step.ratio)) for step in one.steps))


def history_of(runs: Sequence[Run]) -> History:
    """`runs`: two or more, of one suite on GPUs of one name, oldest first. Twins of self-tests are left out."""
    runs = [without_twins(run) for run in runs]
    points = _points(runs)
    between = _Between(runs)
    trends = [_trend(key, own, between) for key, own in points.items() if len(own) > 1]
    pairs = dict.fromkeys((step.before, step.moment) for trend in trends for step in trend.steps)
    events = [
        RunShifts(
            *pair,
            [(trend, step) for trend in trends for step in trend.steps if (step.before, step.moment) == pair],
            between.differences(*pair),
        )
        for pair in sorted(pairs, key=lambda pair: (pair[1], pair[0]))
    ]
    return History(
        runs[0].suite,
        runs[0].device,
        [_moment(run) for run in runs],
        trends,
        events,
        sum(len(own) == 1 for own in points.values()),
    )


def _moment(run: Run) -> Moment:
    started, commit = (str(run.environment.get(name) or "") for name in ("started", "git_commit"))
    return Moment(run.folder, started, commit)


def _points(runs: Sequence[Run]) -> Mapping[noise.Key, list[Point]]:
    found: dict[noise.Key, list[Point]] = {}
    for moment, run in enumerate(runs):
        for row in run.rows:
            if row.times is not None:
                low_s, median_s, high_s = row.times
                key = row.case, row.implementation, row.cache, row.method
                found.setdefault(key, []).append(Point(moment, median_s, low_s, high_s))
    return found


def _trend(key: noise.Key, points: Sequence[Point], between: _Between) -> Trend:
    values = np.log([point.seconds for point in points])
    moments = [point.moment for point in points]

    def least(place: int, change: float) -> float:
        return between.least(key, moments[place - 1], moments[place], change)

    places = find_steps(values, least)
    reached = medians_between(values, places)
    steps = []
    for number, (place, (before, after)) in enumerate(zip(places, pairwise(reached), strict=True)):
        end = [*places, len(points)][number + 1]
        row = between.row(key, moments[place - 1], moments[place])
        band = exp(least(place, after - before)) - 1
        code = row.code if row else ""
        steps.append(LevelShift(moments[place - 1], moments[place], exp(after - before), band, code, end - place))
    return Trend(*key, points, steps)


class _Between:
    """Comparisons of two runs of the history, each made once, where a row needs it."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs
        self._made: dict[tuple[int, int], tuple[Changes | None, Mapping[noise.Key, JudgedRow]]] = {}

    def row(self, key: noise.Key, before: int, after: int) -> JudgedRow | None:
        """None where the two runs cannot be compared."""
        return self._pair(before, after)[1].get(key)

    def least(self, key: noise.Key, before: int, after: int, change: float) -> float:
        """The least ln that a change of this row must exceed: band and interval, as `compare` has them."""
        row = self.row(key, before, after)
        if row is None:
            return float("inf")
        end = row.ratio_low if change > 0 else row.ratio_high
        return log1p(row.band) + abs(log(row.ratio) - log(end))

    def differences(self, before: int, after: int) -> list[str]:
        """What differs between the runs themselves; the code of each row is told by its step."""
        changes, _ = self._pair(before, after)
        told = changes.differences if changes else ()
        return [one for one in told if "machine code" not in one and not one.startswith("other ")]

    def _pair(self, before: int, after: int) -> tuple[Changes | None, Mapping[noise.Key, JudgedRow]]:
        if (before, after) not in self._made:
            # Copies, whose samples go when they are compared: a history may have many runs.
            first, second = (replace(self._runs[place]) for place in (before, after))
            try:
                changes = compare_runs(first, second)
                rows = {(row.case, row.implementation, row.cache, row.method): row for row in changes.judged}
                self._made[before, after] = changes, rows
            except InputError:  # no row with a time in common
                self._made[before, after] = None, {}
        return self._made[before, after]
