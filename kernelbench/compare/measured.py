"""A run on disk as something that can be asked: who was timed on which case, how, and if not, why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, log1p

import numpy as np

from kernelbench.compare import noise
from kernelbench.compare.changes import Verdict, more_samples, verdict_of
from kernelbench.core import statistics
from kernelbench.core.operations import shape_text
from kernelbench.core.records import CACHES, METHODS, shared_method
from kernelbench.explain.counted import CountedCases
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row

NO_TIMES = "the simulator has no times"

DIFFERENT = statistics.PRECISION  # half the noise band of two medians of one run, to which a step of the clock is added
SAME = 0.02  # what published claims call the same: two runs on one GPU agree within 1 % either way
LEAST_SHARED = 12  # rounds that two rows share, for their ratio to be paired by them
_LEAST_NUMBER, _LARGEST_NUMBER = 1e-130, 1e130  # limits on ratios, of which logarithms are taken: a file may hold more


@dataclass(frozen=True)
class MeasuredCase:
    """One case of the run, as its rows describe it."""

    key: str
    operation: str
    shape: tuple[int, ...]
    axis: int
    dtype: str
    label: str  # short, for sentences: "seq=512"
    bytes_moved: float | None
    words: Mapping[str, str]  # of the key, by their names

    @property
    def columns(self) -> int:
        return self.shape[self.axis]

    @property
    def elements(self) -> int:
        return int(np.prod(self.shape, dtype=object))


@dataclass(frozen=True)
class Timed:
    """Times of one implementation on one case, cache and method."""

    method: str
    median_s: float
    low_s: float
    high_s: float
    share_of_ceiling: float | None
    samples_s: np.ndarray  # empty where the run has no raw samples
    rounds: np.ndarray  # as whole numbers, in which each of them was taken
    step_s: float = 0.0  # of the clock, by this method
    taken: int = 0  # samples, as the row counts them
    energy_j: float | None = None  # per call
    bytes_per_j: float | None = None
    floor_limited: bool = False  # below 3 times an empty kernel


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one side is as another: `value` times, with its 95 % interval."""

    value: float
    low: float
    high: float
    method: str
    baseline_s: float
    median_s: float
    step_s: float = 0.0  # of the clock
    samples: int = 0  # of the side that has fewer
    shared_rounds: int = 0  # that the interval is paired by; 0: by none

    @property
    def band(self) -> float:
        """Half the noise band, as ln: what is within it is the same."""
        return log1p(DIFFERENT) + log1p(self.step_s / min(self.baseline_s, self.median_s))

    @property
    def verdict(self) -> Verdict:
        return self._decided[0]

    @property
    def more_samples(self) -> int | None:
        """How many more samples of each would decide UNSURE; None where that is no reasonable number."""
        verdict, factor = self._decided
        return more_samples(factor, self.samples) if verdict == "UNSURE" and self.samples else None

    @cached_property
    def _decided(self) -> tuple[Verdict, float]:
        return verdict_of(-_ln(self.value), -_ln(self.high), -_ln(self.low), self.band)


def _ln(number: float) -> float:
    return log(min(max(number, _LEAST_NUMBER), _LARGEST_NUMBER))


def speedup(baseline: Timed, timed: Timed, *, one_case: bool = True) -> Ratio:
    """`timed` against `baseline`, both by one method, from the raw samples; without them, from the two medians'
    intervals.

    Rounds that both have are drawn together; where they share too few, or are of two cases, either side's samples are
    drawn on their own.
    """
    assert baseline.method == timed.method, "a ratio never mixes methods"
    shared = 0
    if len(baseline.samples_s) and len(timed.samples_s):
        rounds, *places = np.intersect1d(baseline.rounds, timed.rounds, return_indices=True)
        if one_case and len(rounds) >= LEAST_SHARED:
            shared = len(rounds)
            value, low, high = statistics.paired_ratio_interval(
                baseline.samples_s, timed.samples_s, (places[0], places[1])
            )
        else:
            value, low, high = statistics.ratio_interval(baseline.samples_s, timed.samples_s)
    else:
        value = baseline.median_s / timed.median_s
        low, high = baseline.low_s / timed.high_s, baseline.high_s / timed.low_s
    return Ratio(
        value,
        low,
        high,
        timed.method,
        baseline.median_s,
        timed.median_s,
        max(baseline.step_s, timed.step_s),
        min(baseline.taken, timed.taken),
        shared,
    )


class MeasuredRun:
    """The rows and samples of one run, by case, implementation, cache and method.

    `counted`: what the simulator counted, of this run or of another one of the same suite.
    """

    def __init__(self, run: Run, counted: CountedCases | None = None) -> None:
        self.run = run
        self.counted = counted or {}
        self.cases: list[MeasuredCase] = []
        self.implementations: list[str] = []
        self._timed: dict[tuple[str, str, str], dict[str, Timed]] = {}
        self._rows: dict[tuple[str, str], list[Row]] = {}
        self._read()

    def _read(self) -> None:
        samples = self.run.samples_by_row
        seconds = {key: taken for key, (taken, _) in samples.items()}
        steps = {method: noise.clock_of(method, (self.run,), (seconds,)).step_s for method in METHODS}
        none = (np.empty(0), np.empty(0, int))
        several_dtypes = len({row.dtype for row in self.run.rows}) > 1
        cases: dict[str, MeasuredCase] = {}
        for row in self.run.rows:
            case, name = row.case, row.implementation
            known = cases.get(case)
            if known is None or known.bytes_moved is None:
                cases[case] = _case(row, several_dtypes)
            if name not in self.implementations:
                self.implementations.append(name)
            self._rows.setdefault((case, name), []).append(row)
            taken = samples.get((case, name, row.cache, row.method), none)
            if timed := _timed(row, *taken, steps.get(row.method, 0.0)):
                self._timed.setdefault((case, name, row.cache), {})[row.method] = timed
        self.cases = _told_apart(list(cases.values()))

    def caches(self, case: str) -> list[str]:
        """Cache states that anybody was timed in on this case."""
        found = {key[2] for key in self._timed if key[0] == case}
        return [cache for cache in CACHES if cache in found]

    def times(self, case: str, name: str, cache: str) -> Mapping[str, Timed]:
        """Times by method; empty where there are none."""
        return self._timed.get((case, name, cache), {})

    def best_method(self, case: str, name: str, cache: str) -> Timed | None:
        """The preferred method's times, where nobody else must share the method."""
        times = self.times(case, name, cache)
        return next((times[method] for method in METHODS if method in times), None)

    def speedup(self, case: str, cache: str, baseline: str, name: str) -> Ratio | None:
        """`name` against `baseline` by the same method on both sides; None where they share none."""
        left, right = self.times(case, baseline, cache), self.times(case, name, cache)
        method = shared_method(left, right)
        return speedup(left[method], right[method]) if method else None

    def status(self, case: str, name: str) -> tuple[str, str]:
        """Status and reason of the last row; ("", "") where the run has none."""
        rows = self._rows.get((case, name))
        return (rows[-1].status, rows[-1].reason) if rows else ("", "")

    def first_row(self, case: str, name: str) -> Row | None:
        """A row for what all rows have in common: launches, binary, registers."""
        return next(iter(self._rows.get((case, name), ())), None)

    def why_not(self, case: str, cache: str, *names: str) -> str:
        """Why these cannot be compared on this case: "ft: unsupported (columns must be ..)"."""
        reasons = []
        for name in names:
            status, reason = self.status(case, name)
            if not status:
                reasons.append(f"{name}: not in this run")
            elif status != "ok":
                reasons.append(f"{name}: {status} ({reason})" if reason else f"{name}: {status}")
            elif not self.run.simulated and not self.times(case, name, cache):
                reasons.append(f"{name}: not timed with a {cache} cache")
        if not reasons and self.run.simulated:
            return NO_TIMES
        if not reasons:
            methods = "; ".join(f"{name} by {', '.join(self.times(case, name, cache))}" for name in names)
            reasons = [f"no timing method in common: {methods}"]
        return "; ".join(reasons)


def _told_apart(cases: list[MeasuredCase]) -> list[MeasuredCase]:
    """The cases, with the shape behind labels that several of them share."""
    seen = Counter(case.label for case in cases)
    return [
        replace(case, label=f"{case.label} {shape_text(case.shape)}") if seen[case.label] > 1 else case
        for case in cases
    ]


def _case(row: Row, with_dtype: bool) -> MeasuredCase:
    label = row.axes or shape_text(row.shape)
    return MeasuredCase(
        key=row.case,
        operation=row.operation,
        shape=row.shape,
        axis=row.axis,
        dtype=row.dtype,
        label=f"{label} {row.dtype}" if with_dtype else label,
        bytes_moved=row.bytes_moved,
        words=row.words,
    )


def _timed(row: Row, samples: np.ndarray, rounds: np.ndarray, step_s: float) -> Timed | None:
    """None for a row without times."""
    if row.times is None:
        return None
    low_s, median_s, high_s = row.times
    return Timed(
        method=row.method,
        median_s=median_s,
        low_s=low_s,
        high_s=high_s,
        share_of_ceiling=row.share_of_ceiling,
        samples_s=samples,
        rounds=rounds,
        step_s=step_s,
        taken=max(len(samples), row.samples or 0),
        energy_j=row.energy_j,
        bytes_per_j=row.bytes_per_j,
        floor_limited=bool(row.floor_limited),
    )
