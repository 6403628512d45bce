"""What a run on disk says: comparison, verdicts, page. Needs no GPU; knows the order compare -> report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench import places
from kernelbench.errors import ResultsError
from kernelbench.records import Claim
from kernelbench.results import Run, read_run
from kernelbench.runs import find_run, output_folder

if TYPE_CHECKING:
    import pandas

    from kernelbench.compare import ClaimVerdict


@dataclass(frozen=True)
class Answer:
    """What a run says: its table, the comparison within it, and the verdict of each claim."""

    run: Run
    comparison: pandas.DataFrame
    verdicts: Sequence[ClaimVerdict]
    ledger: Mapping[str, Claim]


def answer(run: Run, baseline: str | None = None) -> Answer:
    """Compare within a run and judge the claims of its suite; needs no GPU.

    Without `baseline` that of the suite, or, where --only left it out, the first that was run.
    """
    from kernelbench.compare import compare_within, judge, read_ledger

    names = list(run.rows["implementation"])
    if not names:
        raise ResultsError(f"{run.folder}: holds no rows yet; the run was stopped in its first case")
    ledger = read_ledger(places.LEDGER)
    own = str(run.environment.get("baseline"))
    chosen = baseline or (own if own in names else names[0])
    return Answer(run, compare_within(run, chosen, ledger), judge(run, ledger), ledger)


def has_failures(run: Run) -> bool:
    """A row failed or was wrong; specimens are wrong on purpose."""
    rows = run.rows
    return bool((rows["status"].isin(["failed", "wrong"]) & (rows["role"] != "specimen")).any())


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
    from kernelbench.compare import FLAGS, figures_table
    from kernelbench.report.charts import all_charts, write_charts
    from kernelbench.report.html import write_report
    from kernelbench.report.sources import Published

    published = Published(list(found.ledger.values()), figures_table(found.ledger), FLAGS)
    page = out or output_folder(found.run.folder) / "report.html"
    save_comparison(found, page.parent)
    charts = all_charts(found.run, found.comparison)
    write_charts(charts, page.parent / "charts")
    return write_report(found.run, found.comparison, found.verdicts, page, published, charts)
