"""Speed-ups within a run, against one of its implementations or against the published times."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbench.compare.changes import open_text
from kernelbench.compare.comparison import ComparedRow
from kernelbench.compare.counted_runs import counted_of_run
from kernelbench.compare.ledger import Figure, Ledger, published_of
from kernelbench.compare.measured import LEAST_SHARED, MeasuredRun, Ratio, Timed, speedup
from kernelbench.compare.step_sums import SIDES, step_of
from kernelbench.core import units
from kernelbench.core.errors import InputError
from kernelbench.core.problems import suggest
from kernelbench.explain.counted import COMPARED, Counted
from kernelbench.runs.results import Run

PUBLISHED = "published"  # the baseline that stands for each implementation's own published time

Published = Mapping[str, Mapping[str, Figure]]  # figures of one case by ledger entry, then by implementation


def compare_within(run: Run, baseline: str, ledger: Ledger) -> tuple[ComparedRow, ...]:
    """One row per case, cache and implementation.

    In a run of a step, whose parts are of several operations, the baseline is a side of the step, "unfused" or "fused",
    or, where that side does not have the part, the other.
    With `published` as the baseline, each implementation is set against its own published time. That is a ratio between
    two GPUs, so it gets no verdict: shares of the ceiling and of the peak are what compares.
    A run of the simulator is compared by its counts alone.
    """
    measured = MeasuredRun(run, counted_of_run(run))
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
        counted = measured.counted.get(case.key, {})
        for cache in measured.caches(case.key) or [""]:
            for name in names:
                empty = ComparedRow(suite=run.suite, case=case.key, cache=cache, implementation=name, baseline=base)
                row = _with_counts(empty, counted.get(name), counted.get(base))
                timed = measured.best_method(case.key, name, cache)
                if timed:
                    row = _with_times(row, timed)
                against = _against_published if baseline == PUBLISHED else _against_baseline
                rows.append(against(measured, row, timed, published))
    return tuple(rows)


def _check_baseline(measured: MeasuredRun, baseline: str, ledger: Ledger, known: Sequence[str]) -> None:
    if baseline == PUBLISHED:
        if not any(published_of(ledger, case) for case in measured.cases):
            raise InputError(
                f"--baseline {PUBLISHED}: nothing is published for the cases of {measured.run.folder}; "
                f"expected one of {', '.join(known)}"
            )
    elif baseline not in known:
        near = suggest(baseline, [PUBLISHED, *known])
        raise InputError(f"--baseline {baseline}: not in {measured.run.folder}{near}")


def _with_counts(row: ComparedRow, counted: Counted | None, baseline: Counted | None) -> ComparedRow:
    """The row with its counts; a ratio stays empty where the baseline counts nothing."""
    if counted is None:
        return row
    found: dict[str, Any] = {}
    for name, count in COMPARED.items():
        mine, theirs = count(counted.counters), count(baseline.counters) if baseline else 0
        found |= {name: mine, f"{name}_ratio": mine / theirs if theirs else None}
    return replace(row, **found)


def _with_times(row: ComparedRow, timed: Timed) -> ComparedRow:
    return replace(
        row,
        method=timed.method,
        median_s=timed.median_s,
        share_of_ceiling=timed.share_of_ceiling,
        energy_j=timed.energy_j,
        bytes_per_j=timed.bytes_per_j,
    )


def _with_ratio(row: ComparedRow, ratio: Ratio) -> ComparedRow:
    return replace(
        row,
        baseline_s=ratio.baseline_s,
        speedup=ratio.value,
        speedup_low=ratio.low,
        speedup_high=ratio.high,
        shared_rounds=ratio.shared_rounds or None,
    )


def _remarks(ratio: Ratio) -> str:
    """Why it is UNSURE, and what its interval could not be taken from."""
    unsure = [open_text(ratio.more_samples)] if ratio.verdict == "UNSURE" and ratio.samples else []
    unpaired = f"not paired by round: fewer than {LEAST_SHARED} rounds in which both were timed"
    return "; ".join(unsure if ratio.shared_rounds else [*unsure, unpaired])


def _against_baseline(
    measured: MeasuredRun, row: ComparedRow, timed: Timed | None, published: Published
) -> ComparedRow:
    row = _beside_published(measured, row, published)
    if row.implementation == row.baseline:
        if timed is None:
            return replace(row, reason=measured.why_not(row.case, row.cache, row.implementation))
        return replace(
            row,
            baseline_s=timed.median_s,
            speedup=1.0,
            speedup_low=1.0,
            speedup_high=1.0,
            verdict="SAME",
            reason="the baseline itself",
        )
    ratio = measured.speedup(row.case, row.cache, row.baseline, row.implementation)
    if ratio is None:
        return replace(row, reason=measured.why_not(row.case, row.cache, row.implementation, row.baseline))
    row = _with_times(row, measured.times(row.case, row.implementation, row.cache)[ratio.method])
    return replace(
        _with_ratio(row, ratio), verdict=ratio.verdict, more_samples=ratio.more_samples, reason=_remarks(ratio)
    )


def _beside_published(measured: MeasuredRun, row: ComparedRow, published: Published) -> ComparedRow:
    """The published ratio from one entry that has both sides, else what one says of this side alone; the run's own
    claims come first."""
    entries = _about(measured, row.implementation, published)
    for figures in entries:
        mine = figures[row.implementation].seconds
        theirs = figures[row.baseline].seconds if row.baseline in figures else None
        if mine and theirs:
            return replace(_with_figure(row, figures[row.implementation]), published_speedup=theirs / mine)
    return _with_figure(row, entries[0][row.implementation]) if entries else row


def _about(measured: MeasuredRun, name: str, published: Published) -> list[Mapping[str, Figure]]:
    """Entries with a figure of this implementation, those that the run's suite names first."""
    claims = list(measured.run.environment.get("claims", ()))
    preferred = sorted(published, key=lambda entry: (entry not in claims, entry))
    return [published[entry] for entry in preferred if name in published[entry]]


def _with_figure(row: ComparedRow, figure: Figure) -> ComparedRow:
    return replace(row, published_device=figure.device, published_share=figure.share_of_peak, claim=figure.entry)


def _against_published(
    measured: MeasuredRun, row: ComparedRow, timed: Timed | None, published: Published
) -> ComparedRow:
    entries = _about(measured, row.implementation, published)
    figure = entries[0][row.implementation] if entries else None
    if figure is None or not figure.seconds:
        return replace(row, reason=f"{row.implementation}: nothing published for this case")
    row = replace(_with_figure(row, figure), baseline_s=figure.seconds)
    if timed is None:
        return replace(row, reason=measured.why_not(row.case, row.cache, row.implementation))
    share = units.share_text(figure.share_of_peak)
    beside = f"; published {share} of that GPU's peak" if share else ""
    reason = f"another GPU: absolute times do not carry over{beside}"
    return replace(_with_ratio(row, speedup(_exact(figure.seconds, timed.method), timed)), reason=reason)


def _exact(seconds: float, method: str) -> Timed:
    """A published time: one number without samples or interval."""
    return Timed(method, seconds, seconds, seconds, None, np.array([seconds]), np.array([-1]))
