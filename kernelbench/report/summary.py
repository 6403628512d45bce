"""The answer of a run in a few lines, for the first lines of `compare` and the last ones of `run`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp, log

from kernelbench.compare.comparison import ComparedRow, Comparison
from kernelbench.compare.ratios import PUBLISHED
from kernelbench.compare.step_sums import sum_of
from kernelbench.compare.verdicts import NOT_DECIDED, ClaimVerdict
from kernelbench.core.units import number_of
from kernelbench.explain import evidence
from kernelbench.explain.records import CaseExplanation
from kernelbench.report import peer_texts, peers, step, view
from kernelbench.runs.results import Run

CLAIMS = 4  # of a run that its summary names
MOST_CITED = 2  # implementations with published times that the headline names


def headline(run: Run, comparison: Comparison, verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """How many claims hold, and how much faster the best implementation is."""
    lines = [view.answer(verdicts, run.device)] if verdicts and not run.simulated else []
    if found := peers.pairs(run):
        return lines + peer_texts.sentences(run, found, view.case_labels(view.cases(run)))
    if summed := sum_of(run):
        return lines + step.remarks(summed)[:1]
    return lines + _speeds(run, comparison)


def _speeds(run: Run, comparison: Comparison) -> list[str]:
    """The range over all cases of implementations with published speed-ups, else of the fastest kernel."""
    roles = {row.implementation: row.role for row in run.rows}
    found: dict[str, list[ComparedRow]] = {}
    for row in comparison:
        if row.speedup and row.cache == "cold" and not row.is_baseline and roles.get(row.implementation) != "yardstick":
            found.setdefault(row.implementation, []).append(row)
    cited = [name for name, rows in found.items() if any(row.published_speedup for row in rows)]
    ranked = sorted(found, key=lambda name: -_mean([row.speedup or 1.0 for row in found[name]]))
    kernels = [name for name in ranked if roles.get(name) == "kernel"]  # claims are about kernels, not about libraries
    named = [name for name in ranked if name in cited][:MOST_CITED] or kernels[:1] or ranked[:1]
    return [_speed(name, found[name]) for name in named]


def _speed(name: str, rows: Sequence[ComparedRow]) -> str:
    over = rows[0].baseline
    against = "as on the GPU it was published for" if over == PUBLISHED else f"as {over}"
    cases = number_of(len(rows), "case")
    published = [row.published_speedup for row in rows if row.published_speedup]
    beside = f" (published: {_range(published)})" if published else ""
    return f"{name} is {_range([row.speedup or 0.0 for row in rows])} as fast {against} on {cases}{beside}."


def _range(ratios: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys((view.ratio_text(min(ratios)), view.ratio_text(max(ratios)))))


def _mean(ratios: Sequence[float]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios))


def run_lines(run: Run, comparison: Comparison, verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """The end of `run`: the answer, the verdict of each claim, and what went wrong. What `counted_lines` says of a run
    of the simulator is left out."""
    lines = headline(run, comparison, verdicts)
    named = () if run.simulated else verdicts
    lines += [f"  {one.id}: {one.verdict}" for one in named[:CLAIMS]]
    lines += [f"  and {len(named) - CLAIMS} more claims"] if len(named) > CLAIMS else []
    counts = Counter(row.status for row in run.rows if row.role != "specimen")
    if broken := counts["wrong"] + counts["failed"]:
        lines.append(f"{broken} of {counts.total()} rows are wrong or failed; the reasons are above.")
    return lines


def counted_lines(
    run: Run,
    counts: str,
    recorded: Sequence[str],
    command: str,
    verdicts: Sequence[ClaimVerdict],
    cases: Sequence[CaseExplanation],
) -> list[str]:
    """Four lines on a run of the simulator: `counts` says where its counts are shown, `recorded` what a run on a GPU
    answered, `command` shows that run."""
    found = evidence.across(one for case in cases for one in case.evidence)
    seen = [one for one in found if one.seen]
    confirmed = sum(one.decision == "confirmed" for one in seen)
    decided = [f"{one.id} {one.verdict}" for one in verdicts if one.verdict != NOT_DECIDED]
    here = f"Counted here: {confirmed} of {len(seen)} published explanations are confirmed on every case"
    if not seen:
        here = "Counted here: nothing that a published explanation mentions"
    lines = [
        f"No times: {run.device} counts what kernels do; {counts}.",
        f"Recorded on a GPU: {' '.join(recorded)}",
        f"To see it: {command}",
        here + (f"; claims decided by counts: {', '.join(decided)}." if decided else "."),
    ]
    if not recorded:
        lines[1:3] = [f"No recorded run on a GPU has these cases of suite '{run.suite}'."]
    return lines
