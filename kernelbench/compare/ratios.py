"""Speed-ups within a run, against one of its implementations or against the published times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbench.compare.counted_runs import counted_of_run
from kernelbench.compare.counts import count_cells
from kernelbench.compare.deciding import open_text
from kernelbench.compare.ledger import Figure, Ledger, published_of
from kernelbench.compare.measured import LEAST_SHARED, Measured, MeasuredCase, Ratio, Timed, speedup
from kernelbench.compare.step_sums import SIDES, step_of
from kernelbench.core import columns, units
from kernelbench.core.errors import InputError
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    import pandas

PUBLISHED = "published"  # the baseline that stands for each implementation's own published time


def compare_within(run: Run, baseline: str, ledger: Ledger) -> pandas.DataFrame:
    """One row for each case, cache and implementation, with the columns of `columns.COMPARISON`.

    In a run of a step, whose parts are of several operations, the baseline is a side of the step, "unfused" or "fused",
    or, where that side does not have the part, the other.
    With `published` as the baseline, each implementation is set against its own published time. That is a
    ratio between two GPUs, so it gets no verdict: shares of the ceiling and of the peak are what compares.
    Cells of what was not measured or not published are empty, and `reason` says why. A run of the simulator is
    compared by its counts alone.
    """
    import pandas

    measured = Measured(run, counted_of_run(run))
    step = step_of(run)
    parts = {part.case: part for part in step.parts} if step else {}
    _check_baseline(measured, baseline, ledger, SIDES if step else measured.implementations)
    rows = []
    for case in measured.cases:
        published = published_of(ledger, case)
        names, base = measured.implementations, baseline
        if step and baseline != PUBLISHED:
            names = list(parts[case.key].names)
            base = getattr(parts[case.key], baseline) or names[0]
        for cache in measured.caches(case.key) or [""]:
            for name in names:
                if baseline == PUBLISHED:
                    cells = _against_published(measured, case, cache, name, published)
                else:
                    cells = _against_baseline(measured, case, cache, name, base, published)
                counted = measured.counted.get(case.key, {})
                cells |= count_cells(counted.get(name), counted.get(base))
                rows.append(_row(measured, case, cache, name, base) | cells)
    return pandas.DataFrame(rows, columns=columns.names(columns.COMPARISON))


def _check_baseline(measured: Measured, baseline: str, ledger: Ledger, known: Sequence[str]) -> None:
    if baseline == PUBLISHED:
        if not any(published_of(ledger, case) for case in measured.cases):
            raise InputError(
                f"--baseline {PUBLISHED}: nothing is published for the cases of {measured.run.folder}; "
                f"expected one of {', '.join(known)}"
            )
    elif baseline not in known:
        matches = get_close_matches(baseline, [*known, PUBLISHED], n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(repr(match) for match in matches)}?" if matches else "."
        raise InputError(
            f"--baseline {baseline}: not in {measured.run.folder}{hint} It has {', '.join(known)}; "
            f"'{PUBLISHED}' stands for the published times"
        )


def _row(measured: Measured, case: MeasuredCase, cache: str, name: str, baseline: str) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(columns.names(columns.COMPARISON))
    timed = measured.best_method(case.key, name, cache)
    row |= {"suite": measured.run.suite, "case": case.key, "cache": cache, "implementation": name}
    row |= {"baseline": baseline, "method": "", "verdict": "", "published_device": "", "claim": "", "reason": ""}
    return row | _own_cells(timed)


def _own_cells(timed: Timed | None) -> dict[str, Any]:
    if timed is None:
        return {}
    return {"method": timed.method, "median_s": timed.median_s, "share_of_ceiling": timed.share_of_ceiling}


def _ratio_cells(ratio: Ratio) -> dict[str, Any]:
    return {
        "method": ratio.method,
        "median_s": ratio.median_s,
        "baseline_s": ratio.baseline_s,
        "speedup": ratio.value,
        "speedup_low": ratio.low,
        "speedup_high": ratio.high,
        "verdict": ratio.verdict,
        "more_samples": ratio.more_samples,
        "shared_rounds": ratio.shared_rounds or None,
        "reason": _remarks(ratio),
    }


def _remarks(ratio: Ratio) -> str:
    """Why it is UNSURE, and what its interval could not be taken from."""
    unsure = [open_text(ratio.more_samples)] if ratio.verdict == "UNSURE" and ratio.samples else []
    unpaired = f"not paired by round: fewer than {LEAST_SHARED} rounds in which both were timed"
    return "; ".join(unsure if ratio.shared_rounds else [*unsure, unpaired])


def _against_baseline(
    measured: Measured,
    case: MeasuredCase,
    cache: str,
    name: str,
    baseline: str,
    published: Mapping[str, Mapping[str, Figure]],
) -> dict[str, Any]:
    cells = _published_cells(measured, name, baseline, published)
    if name == baseline:
        timed = measured.best_method(case.key, name, cache)
        if timed is None:
            return cells | {"reason": measured.why_not(case.key, cache, name)}
        one = {"baseline_s": timed.median_s, "speedup": 1.0, "speedup_low": 1.0, "speedup_high": 1.0}
        return cells | one | {"verdict": "SAME", "reason": "the baseline itself"}
    ratio = measured.speedup(case.key, cache, baseline, name)
    if ratio is None:
        return cells | {"reason": measured.why_not(case.key, cache, name, baseline)}
    times = measured.times(case.key, name, cache)[ratio.method]
    return cells | _ratio_cells(ratio) | {"share_of_ceiling": times.share_of_ceiling}


def _published_cells(
    measured: Measured, name: str, baseline: str, published: Mapping[str, Mapping[str, Figure]]
) -> dict[str, Any]:
    """The published ratio from one entry that has both sides, else what one says of this side alone;
    the run's own claims come first."""
    entries = [published[entry] for entry in _by_preference(measured, published) if name in published[entry]]
    for figures in entries:
        mine, theirs = figures[name].seconds, figures[baseline].seconds if baseline in figures else None
        if mine and theirs:
            return _figure_cells(figures[name]) | {"published_speedup": theirs / mine}
    return _figure_cells(entries[0][name]) if entries else {}


def _figure_cells(figure: Figure) -> dict[str, Any]:
    return {"published_device": figure.device, "published_share": figure.share_of_peak, "claim": figure.entry}


def _by_preference(measured: Measured, published: Mapping[str, Any]) -> Iterator[str]:
    claims = list(measured.run.environment.get("claims", ()))
    yield from sorted(published, key=lambda entry: (entry not in claims, entry))


def _against_published(
    measured: Measured, case: MeasuredCase, cache: str, name: str, published: Mapping[str, Mapping[str, Figure]]
) -> dict[str, Any]:
    figure = next((published[e][name] for e in _by_preference(measured, published) if name in published[e]), None)
    if figure is None or not figure.seconds:
        return {"reason": f"{name}: nothing published for this case"}
    cells = _figure_cells(figure) | {"baseline_s": figure.seconds}
    timed = measured.best_method(case.key, name, cache)
    if timed is None:
        return cells | {"reason": measured.why_not(case.key, cache, name)}
    ratio = speedup(_exact(figure.seconds, timed.method), timed)
    share = units.share_text(figure.share_of_peak)
    beside = f"; published {share} of that GPU's peak" if share else ""
    reason = f"another GPU: absolute times do not carry over{beside}"
    return _ratio_cells(ratio) | cells | {"verdict": "", "more_samples": None, "reason": reason}


def _exact(seconds: float, method: str) -> Timed:
    """A published time: one number without samples or interval."""
    return Timed(method, seconds, seconds, seconds, None, np.array([seconds]), np.array([-1]))
