"""A run on disk as something that can be asked: who was timed on which case, how, and if not, why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import numpy as np

from kernelbench import statistics
from kernelbench.compare.counts import NO_TIMES
from kernelbench.counted import Counted
from kernelbench.results import Run

CACHES = ("cold", "warm")
METHODS = ("graph", "events")  # preferred first: graphs carry no event overhead

# Two medians are called different from 0.5 % on, the precision that sampling aims at for each of them,
# and the same where the whole interval lies within 2 %: two runs on one GPU agree within 1 % a side.
DIFFERENT = 0.005
SAME = 0.02

Verdict = Literal["FASTER", "SLOWER", "SAME", "UNSURE"]


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
    samples_s: tuple[float, ...]  # empty where the run has no raw samples


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one side is as another: `value` times, with its 95 % interval."""

    value: float
    low: float
    high: float
    method: str
    baseline_s: float
    median_s: float

    @property
    def verdict(self) -> Verdict:
        if self.low > 1 + DIFFERENT:
            return "FASTER"
        if self.high < 1 - DIFFERENT:
            return "SLOWER"
        return "SAME" if self.low >= 1 - SAME and self.high <= 1 + SAME else "UNSURE"


def speedup(baseline: Timed, timed: Timed) -> Ratio:
    """`timed` against `baseline`, from the raw samples; without them, from the two medians' intervals."""
    if baseline.samples_s and timed.samples_s:
        value, low, high = statistics.ratio_interval(baseline.samples_s, timed.samples_s)
    else:
        value = baseline.median_s / timed.median_s
        low, high = baseline.low_s / timed.high_s, baseline.high_s / timed.low_s
    return Ratio(value, low, high, timed.method, baseline.median_s, timed.median_s)


class Measured:
    """The rows and samples of one run, by case, implementation, cache and method.

    `counted`: what the simulator counted, of this run or of another one of the same suite.
    """

    def __init__(self, run: Run, counted: Mapping[str, Mapping[str, Counted]] | None = None) -> None:
        self.run = run
        self.counted = counted or {}
        self.cases: list[MeasuredCase] = []
        self.implementations: list[str] = []
        self._timed: dict[tuple[str, str, str], dict[str, Timed]] = {}
        self._status: dict[tuple[str, str], tuple[str, str]] = {}  # status and reason
        self._read()

    def _read(self) -> None:
        samples = _samples(self.run)
        rows = self.run.rows.to_dict("records")
        several_dtypes = len({row["dtype"] for row in rows}) > 1
        cases: dict[str, MeasuredCase] = {}
        for row in rows:
            case, name = row["case"], row["implementation"]
            known = cases.get(case)
            if known is None or known.bytes_moved is None:
                cases[case] = _case(row, several_dtypes)
            if name not in self.implementations:
                self.implementations.append(name)
            self._status[case, name] = (row["status"], row["reason"])
            if row["status"] == "ok" and isfinite(row["median_s"]):
                timed = _timed(row, samples.get((case, name, row["cache"], row["method"]), ()))
                self._timed.setdefault((case, name, row["cache"]), {})[row["method"]] = timed
        self.cases = list(cases.values())

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
        method = next((method for method in METHODS if method in left and method in right), None)
        return speedup(left[method], right[method]) if method else None

    def status(self, case: str, name: str) -> tuple[str, str]:
        """Status and reason of the last row; ("", "") where the run has none."""
        return self._status.get((case, name), ("", ""))

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


def _case(row: Mapping[str, Any], with_dtype: bool) -> MeasuredCase:
    label = row["axes"] or row["shape"]
    moved = row["bytes_moved"]
    return MeasuredCase(
        key=row["case"],
        operation=row["operation"],
        shape=tuple(int(extent) for extent in row["shape"].split("x")),
        axis=int(row["axis"]),
        dtype=row["dtype"],
        label=f"{label} {row['dtype']}" if with_dtype else label,
        bytes_moved=float(moved) if isfinite(moved) else None,
    )


def _timed(row: Mapping[str, Any], samples: tuple[float, ...]) -> Timed:
    share = row["share_of_ceiling"]
    return Timed(
        method=row["method"],
        median_s=row["median_s"],
        low_s=row["low_s"],
        high_s=row["high_s"],
        share_of_ceiling=share if isfinite(share) else None,
        samples_s=samples,
    )


def _samples(run: Run) -> dict[tuple[str, str, str, str], tuple[float, ...]]:
    keys = ["case", "implementation", "cache", "method"]
    return {key: tuple(group.to_numpy()) for key, group in run.samples.groupby(keys, sort=False)["seconds"]}
