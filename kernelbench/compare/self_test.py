"""What a self-test says of a machine: how often rows of the same code are told apart, how far times drift within a
run, and how small a difference is found, by length of kernel."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import expm1, inf, log
from typing import Any

import numpy as np

from kernelbench.compare import noise
from kernelbench.compare.measured import MeasuredRun, Ratio, Timed, speedup
from kernelbench.core.records import CACHES
from kernelbench.runs import results
from kernelbench.runs.results import Run

LENGTHS_S = (0.0, 5e-6, 20e-6, 100e-6, 1e-3, inf)  # bounds of lengths of kernels, between which noise differs in kind
SHARE = 0.95


@dataclass(frozen=True)
class TwinRow:
    """A row and its twin."""

    name: str
    ratio: Ratio
    drifts: tuple[float, ...]  # ln(second half / first half), of both rows

    @property
    def needed(self) -> tuple[float, float]:
        """The least slowdown and the least speed-up of this row that would get a verdict, as ln."""
        return self.ratio.band - log(self.ratio.low), self.ratio.band + log(self.ratio.high)


def self_test(run: Run) -> dict[str, Any]:
    """Figures of a run with twins, as environment.json keeps them under `self_test`.

    A verdict is that of `compare --baseline` with the original as the baseline; each row of results.csv counts, so that
    a kernel that is timed by two methods counts twice.
    """
    rows = list(_rows(run))
    verdicts = [row.ratio.verdict for row in rows]
    false = [row for row, verdict in zip(rows, verdicts, strict=True) if verdict in ("FASTER", "SLOWER")]
    drifts = [drift for row in rows for drift in row.drifts]
    return {
        "rows": len(rows),
        "same": verdicts.count("SAME"),
        "unsure": verdicts.count("UNSURE"),
        "false_verdicts": len(false),
        "false_rows": [_text(row) for row in false],
        "drift": expm1(float(np.median(np.abs(drifts)))) if drifts else None,
        "drift_signed": expm1(float(np.median(drifts))) if drifts else None,
        "lengths": [_length(rows, low, high) for low, high in pairwise(LENGTHS_S)],
    }


def _rows(run: Run) -> Iterator[TwinRow]:
    measured = MeasuredRun(run)
    originals = {original: twin for twin, original in results.twins_of(run).items()}
    for case in measured.cases:
        for name, twin in originals.items():
            for cache in CACHES:
                left, right = measured.times(case.key, name, cache), measured.times(case.key, twin, cache)
                for method in left:
                    if method in right:
                        sides = left[method], right[method]
                        drifts = tuple(drift for side in sides for drift in _drift(side))
                        yield TwinRow(f"{name} on {case.key}, {cache}, by {method}", speedup(*sides), drifts)


def _drift(timed: Timed) -> Iterator[float]:
    taken, half = timed.samples_s, len(timed.samples_s) // 2
    if len(taken) >= noise.LEAST_SAMPLES:
        yield log(np.median(taken[half:])) - log(np.median(taken[:half]))


def _text(row: TwinRow) -> str:
    ratio = row.ratio
    return f"{row.name}: {ratio.verdict}, {ratio.value:.4f} [{ratio.low:.4f}, {ratio.high:.4f}]"


def _length(rows: Sequence[TwinRow], low_s: float, high_s: float) -> dict[str, Any]:
    """For kernels of some length: the distance from 1 that SHARE of twins' ratios stay within, and the difference from
    which on SHARE of the rows would get the right verdict, whichever of the two was slower."""
    own = [row for row in rows if low_s <= row.ratio.baseline_s < high_s]
    apart = [abs(log(row.ratio.value)) for row in own]
    needed = [one for row in own for one in row.needed]
    return {
        "from_s": low_s,
        "to_s": None if high_s == inf else high_s,
        "rows": len(own),
        "within": expm1(float(np.quantile(apart, SHARE))) if own else None,
        "detectable": expm1(float(np.quantile(needed, SHARE))) if own else None,
    }
