"""One run that has two versions of each kernel: a verdict for each row of HEAD against BASE, or the counts that differ.

Both were timed in the same rounds, so nothing is allowed for drift. The band of a row comes from the twins of BASE's
versions in the same rounds, and from the step of the clock.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, expm1, log, log1p

import numpy as np

from kernelbench.compare import noise
from kernelbench.compare.between import code_state
from kernelbench.compare.changes import BROKEN, Change, Changes, JudgedRow, more_samples, open_text, verdict_of
from kernelbench.compare.measured import MeasuredRun, Timed, speedup
from kernelbench.core.records import CACHES
from kernelbench.explain.counted import COMPARED
from kernelbench.runs.results import Run, without_twins
from kernelbench.runs.row_records import Row

BANDS = "Both versions were timed in the same rounds; the bands come from twins of BASE's kernels in these rounds."
SHARE = 0.95  # of the rows, for what a gate is said to find
COUNTS = {  # names of COMPARED, and what they are called
    "global_bytes": "bytes of global accesses",
    "distinct_bytes": "distinct bytes",
    "shared_wavefronts": "wavefronts of shared memory",
    "warp_instructions": "warp instructions",
}


@dataclass(frozen=True)
class CountDifference:
    """A count of the simulator that differs between the two versions of a row."""

    case: str
    implementation: str
    what: str  # a value of COUNTS
    base: int
    head: int


@dataclass(frozen=True)
class GateResult:
    """What came of one suite."""

    suite: str
    device: str
    simulated: bool
    pairs: int  # of a case and a kernel that both versions have
    equal: int  # of these, with the same machine code: not measured
    changes: Changes | None  # HEAD against BASE; None if all pairs are equal
    counts: Sequence[CountDifference]  # that differ on the simulator
    notes: Sequence[str]  # kernels that only one version has, and library calls

    @property
    def regressions(self) -> list[Change]:
        """Rows that are SLOWER in HEAD, or no longer work."""
        return self.changes.regressions(0.0) if self.changes else []

    @property
    def has_failures(self) -> bool:
        """Whether a kernel of HEAD is wrong or failed, whatever it did in BASE."""
        return self.changes is not None and any(row.second_status in BROKEN for row in self.changes.rows)


Names = Mapping[str, str]  # of BASE's versions in the run, by HEAD's


def gate_changes(run: Run, names: Names, versions: Mapping[str, str]) -> Changes:
    """HEAD against BASE; `versions`: the places of both, as they were given."""
    return Changes(
        first=f"BASE, {versions['base']}",
        second=f"HEAD, {versions['head']}",
        by_share=False,
        differences=(),
        noise=() if run.simulated else (BANDS,),
        rows=gate_rows(run, names),
    )


def gate_rows(run: Run, names: Names) -> list[Change]:
    """A row per case, kernel, cache and method that was timed in either version; else one with the reason."""
    floor = noise.floor_of(run, {key: taken for key, (taken, _) in run.samples_by_row.items()})
    measured = MeasuredRun(without_twins(run))
    found: list[Change] = []
    for case in measured.cases:
        for head, base in names.items():
            rows = measured.first_row(case.key, base), measured.first_row(case.key, head)
            if rows[0] is None or rows[1] is None:
                continue  # a pair with equal code in this case
            code = code_state(run, rows[0], run, rows[1])
            timed = [
                _judged((case.key, head, cache, method), times[method], one, floor, base, code)
                for cache in CACHES
                for times in [measured.times(case.key, base, cache)]
                for method, one in measured.times(case.key, head, cache).items()
                if method in times
            ]
            found += timed or [_change_without_times(rows[0], rows[1], head, code)]
    return found


def _judged(key: noise.Key, before: Timed, after: Timed, floor: noise.Floor, base: str, code: str) -> JudgedRow:
    ratio = speedup(after, before)  # HEAD's time over BASE's
    case, _, cache, method = key
    least_s = min(before.median_s, after.median_s)
    band = floor.at((case, base, cache, method), before.median_s) + log1p(ratio.step_s / least_s)
    verdict, factor = verdict_of(log(ratio.value), log(ratio.low), log(ratio.high), band)
    more = more_samples(factor, ratio.samples) if verdict == "UNSURE" else None
    return JudgedRow(
        *key,
        first_s=before.median_s,
        second_s=after.median_s,
        first_share=before.share_of_ceiling,
        second_share=after.share_of_ceiling,
        ratio=ratio.value,
        ratio_low=ratio.low,
        ratio_high=ratio.high,
        band=exp(band) - 1,
        verdict=verdict,
        more_samples=more,
        first_samples=len(before.samples_s),
        second_samples=len(after.samples_s),
        code=code,
        first_status="ok",
        second_status="ok",
        reason=open_text(more) if verdict == "UNSURE" and more is None else "",
    )


def _change_without_times(base: Row, head: Row, name: str, code: str) -> Change:
    told = [
        f"{side}: {row.status}" + (f" ({row.reason})" if row.reason else "")
        for side, row in (("BASE", base), ("HEAD", head))
        if row.status != "ok"
    ]
    return Change(
        head.case,
        name,
        "",
        "",
        code=code,
        first_status=base.status,
        second_status=head.status,
        reason="; ".join(told) or "no timing method in common",
    )


def detectable_slowdown(rows: Sequence[JudgedRow]) -> float | None:
    """The slowdown, as 0.02, from which on SHARE of these rows would have been SLOWER; None without rows."""
    needed = [log1p(row.band) + log(row.ratio) - log(row.ratio_low) for row in rows]
    return expm1(float(np.quantile(needed, SHARE))) if needed else None


def differing_counts(run: Run, names: Names) -> Iterator[CountDifference]:
    """The counts that differ, of rows that were counted in both versions."""
    rows = {(row.case, row.implementation): row for row in run.rows}
    for row in run.rows:
        before = rows.get((row.case, names.get(row.implementation, "")))
        if before is None or before.counters is None or row.counters is None:
            continue
        for name, what in COUNTS.items():
            base, head = (COMPARED[name](one) for one in (before.counters, row.counters))
            if base != head:
                yield CountDifference(row.case, row.implementation, what, base, head)
