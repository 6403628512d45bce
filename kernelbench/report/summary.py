"""The answer of a run in a few lines, for the first lines of `compare` and the last ones of `run`."""

import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import geometric_mean

from kernelbench.compare.answer import Answer, judge_run
from kernelbench.compare.comparison import ComparedRow, Comparison
from kernelbench.compare.ratios import PUBLISHED
from kernelbench.compare.step_sums import step_of, sum_of
from kernelbench.compare.verdicts import NOT_DECIDED, ClaimVerdict
from kernelbench.core import places
from kernelbench.core.units import number_of
from kernelbench.explain import evidence
from kernelbench.report import peer_texts, peers, step, view
from kernelbench.report.explanation import run_explanations
from kernelbench.runs.folders import recorded_run
from kernelbench.runs.results import Run, read_run

CLAIMS = 4  # of a run that its summary names
MOST_CITED = 2  # implementations with published times that the headline names


def run_headline(run: Run, comparison: Comparison, verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """How many claims hold, and how much faster the best implementation is."""
    lines = [view.claims_answer(verdicts, run.device)] if verdicts and not run.simulated else []
    if found := peers.peer_cases(run):
        return lines + peer_texts.peer_sentences(run, found, view.case_labels(view.words_by_case(run)))
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
    ranked = sorted(found, key=lambda name: -geometric_mean(row.speedup or 1.0 for row in found[name]))
    kernels = [name for name in ranked if roles.get(name) == "kernel"]  # claims are about kernels, not about libraries
    named = [name for name in ranked if name in cited][:MOST_CITED] or kernels[:1] or ranked[:1]
    short = {(row.case, row.implementation, row.method) for row in run.rows if row.floor_limited}
    return [_speed(name, found[name], short) for name in named]


def _speed(name: str, every: Sequence[ComparedRow], short: Collection[tuple[str, str, str]]) -> str:
    """`short`: case, implementation and method of times near the floor, which count only where there are no others."""
    over = every[0].baseline
    against = "as on the GPU it was published for" if over == PUBLISHED else f"as {over}"
    rows = [row for row in every if not {(row.case, one, row.method) for one in (name, over)} & set(short)] or every
    left = len(every) - len(rows)
    cases = number_of(len(rows), "case") + (f", {left} too short to count" if left else "")
    published = [row.published_speedup for row in rows if row.published_speedup]
    beside = f" (published: {_range(published)})" if published else ""
    return f"{name} is {_range([row.speedup or 0.0 for row in rows])} as fast {against} on {cases}{beside}."


def _range(ratios: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys((view.ratio_text(min(ratios)), view.ratio_text(max(ratios)))))


def why_line(run: Run) -> str:
    """The commands that show the reasons."""
    report = shlex.join(["kernelbench", "report", places.as_typed(run.folder)])
    shipped = (places.SUITES / f"{run.suite}.yaml").is_file()
    return f"Why: {report}" + (f", or kernelbench explain {run.suite}" if shipped else "")


def run_lines(run: Run, comparison: Comparison, verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """The end of `run`: the answer, the verdict of each claim, and what went wrong. What `counted_lines` says of a run
    of the simulator is left out."""
    lines = run_headline(run, comparison, verdicts)
    named = () if run.simulated else verdicts
    lines += [f"  {one.id}: {one.verdict}" for one in named[:CLAIMS]]
    lines += [f"  and {len(named) - CLAIMS} more claims"] if len(named) > CLAIMS else []
    counts = Counter(row.status for row in run.rows if row.role != "specimen")
    if broken := counts["wrong"] + counts["failed"]:
        lines.append(f"{view.broken_text(broken, counts.total())}; the reasons are above.")
    return lines


def counted_lines(found: Answer, counts: str = "--all prints the counts") -> list[str]:
    """What a run of the simulator can say: what the recorded run on a GPU answers, and what counts confirm here.

    `counts`: where its counts are shown.
    """
    cases, _ = run_explanations(found.run, found.ledger)
    seen = [one for one in evidence.across(one for case in cases for one in case.evidence) if one.seen]
    confirmed = sum(one.decision == "confirmed" for one in seen)
    here = f"Counted here: {confirmed} of {len(seen)} published explanations are confirmed on every case"
    if not seen:
        here = "Counted here: nothing that a published explanation mentions"
    decided = [f"{one.id} {one.verdict}" for one in found.verdicts if one.verdict != NOT_DECIDED]
    nothing = view.nothing_counted(found.run)
    return [
        f"No times and no counts: {nothing}."
        if nothing
        else f"No times: {found.run.device} counts what kernels do; {counts}.",
        *_recorded_lines(found),
        here + (f"; claims decided by counts: {', '.join(decided)}." if decided else "."),
    ]


def _recorded_lines(found: Answer) -> list[str]:
    """What the recorded run on a GPU says of these cases, and the command that shows it."""
    run, folder = found.run, recorded_run(found.run.suite)
    nothing = [f"No recorded run on a GPU has these cases of suite '{run.suite}'."]
    if folder is None:
        return nothing
    there, own = read_run(folder), {row.implementation for row in run.rows}
    if not {row.case for row in run.rows} & {row.case for row in there.rows}:
        return nothing  # other sizes or types
    baseline = next((row.baseline for row in found.comparison), "")
    forced = there.environment.get("baseline") not in own  # an --only without the suite's baseline
    if baseline not in {row.implementation for row in there.rows} or step_of(run) or forced:
        baseline = ""  # the recorded run has its own
    recorded = _recorded_answer(folder, baseline or None)
    command = f"kernelbench compare {folder.relative_to(places.ROOT)}"  # which `compare` takes in every folder
    command += f" --baseline {baseline}" if baseline else ""
    said = run_headline(recorded.run, recorded.comparison, recorded.verdicts)
    return [f"Recorded on a GPU: {' '.join(said)}", f"To see it: {command}"] if said else nothing


@lru_cache(maxsize=2)
def _recorded_answer(folder: Path, baseline: str | None) -> Answer:
    """Kept, because run and report ask for the same one, and its intervals take a second."""
    return judge_run(read_run(folder), baseline)
