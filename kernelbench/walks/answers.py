"""What a run on disk says: comparison, verdicts, page. Needs no GPU; knows the order compare -> report."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench.compare.counted_runs import counted_of_run
from kernelbench.compare.step_sums import UNFUSED, step_of
from kernelbench.core import places
from kernelbench.core.errors import ResultsError
from kernelbench.core.records import Claim, DeviceProperties
from kernelbench.explain.counted import Counted
from kernelbench.explain.records import CaseExplanation
from kernelbench.runs.folders import find_run, is_run, output_folder
from kernelbench.runs.results import Run, read_run, without_twins

if TYPE_CHECKING:
    from kernelbench.compare import ClaimVerdict, Comparison
    from kernelbench.compare.changes import Changes

# What tables and pages are made with, and takes a second to import.
NEEDED = (
    "pandas", "rich.table", "kernelbench.compare", "matplotlib.figure", "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg", "jinja2", "kernelbench.report.charts", "kernelbench.report.html_page",
)  # fmt: skip
SIMULATED = "simulated"  # folder of the recorded simulator runs, beside those of GPUs


@dataclass(frozen=True)
class Answer:
    """What a run says: its table, the comparison within it, and the verdict of each claim."""

    run: Run
    comparison: Comparison
    verdicts: Sequence[ClaimVerdict]
    ledger: Mapping[str, Claim]


def prepare() -> None:
    """Import what answers and their pages need, beside what goes on meanwhile: for a process that waits for another."""

    from kernelbench.report.style import load_matplotlib

    def import_all() -> None:
        with suppress(Exception):  # whoever needs it says so
            load_matplotlib()
            for name in NEEDED:
                import_module(name)

    threading.Thread(target=import_all, name="imports", daemon=True).start()


def answer(run: Run, baseline: str | None = None) -> Answer:
    """Compare within a run and judge the claims of its suite, both without the twins of a self-test; needs no GPU.

    Without `baseline` that of the suite, or, where --only left it out, the first that was run; of a step the unfused
    side.
    """
    from kernelbench.compare import compare_within, judge, read_ledger

    run = without_twins(run)
    names = [row.implementation for row in run.rows]
    if not names:
        raise ResultsError(f"{run.folder}: holds no rows yet; the run was stopped in its first case")
    ledger = read_ledger(places.LEDGER)
    own = str(run.environment.get("baseline"))
    chosen = baseline or (UNFUSED if step_of(run) else own if own in names else names[0])
    counted, _ = counts_of(run)
    return Answer(run, compare_within(run, chosen, ledger), judge(run, ledger, counted=counted), ledger)


def has_failures(run: Run) -> bool:
    """A row failed or was wrong; specimens are wrong on purpose."""
    return any(row.status in ("failed", "wrong") and row.role != "specimen" for row in run.rows)


def answer_of(run_name: str | None, baseline: str | None) -> tuple[Answer, str]:
    """The answer of a run on disk, and a line that says which run that is."""
    folder, which = find_run(run_name)
    return answer(read_run(folder), baseline), which


def save_comparison(found: Answer, out: Path | None) -> Path:
    """comparison.csv and claims.json in `out`, or where the run's own files go; returns that folder."""
    from kernelbench.compare import write_comparison

    folder = out or output_folder(found.run.folder)
    write_comparison(found.run, found.comparison, found.verdicts, folder)
    return folder


def report(found: Answer, out: Path | None) -> Path:
    """comparison.csv, claims.json, charts/ and report.html: where the run's own files go, or around `out`."""
    from kernelbench.compare import FLAGS
    from kernelbench.report.charts import all_charts, write_charts
    from kernelbench.report.explanation import Explained
    from kernelbench.report.html_page import write_report
    from kernelbench.report.sources import Published

    published = Published(list(found.ledger.values()), FLAGS)
    page = out or output_folder(found.run.folder) / "report.html"
    save_comparison(found, page.parent)
    charts = all_charts(found.run, found.comparison, published, counts_of(found.run)[0])
    write_charts(charts, page.parent / "charts")
    cases, source = explanations(found.run, found.ledger)
    explained = Explained(cases, source) if cases else None
    return write_report(found.run, found.comparison, found.verdicts, page, published, charts, explained)


def counts_of(run: Run, results: Path | None = None) -> tuple[Mapping[str, Mapping[str, Counted]], str]:
    """What the simulator counted, by case and implementation, and whose counts these are: the run's own, else those
    of the recorded simulator run of its suite."""
    own = counted_of_run(run)
    if own:
        return own, "this run's own counters"
    folder = (results or places.RECORDED) / SIMULATED / run.suite
    if not is_run(folder):
        return {}, ""
    recorded = counted_of_run(read_run(folder))
    wanted = {row.case for row in run.rows}
    return {case: one for case, one in recorded.items() if case in wanted}, "the recorded simulator run of this suite"


def explanations(run: Run, ledger: Mapping[str, Claim]) -> tuple[list[CaseExplanation], str]:
    """Explanations of the run's cases, in its order, and whose counts they are from."""
    from kernelbench.explain import explain_case

    counted, source = counts_of(run)
    operations = {row.case: row.operation for row in run.rows}
    gpu = _gpu_of(run)
    with_gpu = {
        case: {name: replace(counted_one, gpu=gpu) for name, counted_one in one.items()}
        for case, one in counted.items()
    }
    return [
        explain_case(case, one, gpu, claims_about(ledger, operations[case], run.suite))
        for case, one in with_gpu.items()
    ], source


def claims_about(ledger: Mapping[str, Claim], operation: str, suite: str) -> list[Claim]:
    """Entries whose statements may concern a suite: those of its operation, and those that name it."""
    return [claim for claim in ledger.values() if claim.document["operation"] == operation or suite in claim.suites]


def _gpu_of(run: Run) -> DeviceProperties:
    """The GPU of the table that the run was on, or whose properties the simulator showed to plans; else an H200."""
    from kernelbench.devices.known import KNOWN

    named = (gpu for key, gpu in KNOWN.items() if run.device in (gpu.name, f"simulated ({key.upper()} properties)"))
    return next(named, KNOWN["h200"])


def changes_between(first: str, second: str, caches: Sequence[str] = (), only: Sequence[str] = ()) -> Changes:
    """The second run against the first; each a folder or the name of a run or suite."""
    from kernelbench.compare.runs import compare_runs

    folders = [find_run(name)[0] for name in (first, second)]
    return compare_runs(read_run(folders[0]), read_run(folders[1]), caches, only)
