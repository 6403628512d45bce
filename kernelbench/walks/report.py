"""report: a run with its comparison -> counts -> explanations -> charts -> page; or what changed between two runs.

Needs no GPU.
"""

from pathlib import Path

from kernelbench.compare.answer import Answer, judge_run
from kernelbench.compare.counted_runs import counts_of
from kernelbench.core.progress import QUIET, Progress
from kernelbench.runs.folders import find_run, output_folder
from kernelbench.runs.results import read_run


def report(found: Answer, out: Path | None, progress: Progress = QUIET) -> Path:
    """Write the comparison, the claims, charts/ and report.html into the run's output folder, or beside `out`."""
    from kernelbench.compare import explain_verdicts, write_comparison
    from kernelbench.report.charts import all_charts, write_charts
    from kernelbench.report.drawing import draw_all
    from kernelbench.report.explanation import run_explanations
    from kernelbench.report.html_page import write_report
    from kernelbench.report.origins import Published

    counted, _ = counts_of(found.run)
    whys = explain_verdicts(found.run, found.ledger, found.verdicts, counted)
    published = Published(list(found.ledger.values()), whys)
    page = out or output_folder(found.run.folder) / "report.html"
    write_comparison(found.comparison, found.verdicts, page.parent)
    charts = all_charts(found.run, found.comparison, published, counted, found.verdicts)
    with progress.stage("Charts and page", len(charts) + 1) as advance:
        advance(0, "charts")
        draw_all(charts)
        for chart in charts:
            advance(0, chart.title)
            assert chart.drawn  # here, where no copy of the process drew it
            advance(1, "page")
        write_charts(charts, page.parent / "charts")
        explained = run_explanations(found.run, found.ledger)
        write_report(found.run, found.comparison, found.verdicts, page, published, charts, explained)
        advance(1, "")
    return page


def report_changes(first: str, second: str, out: Path | None, progress: Progress = QUIET) -> tuple[list[str], Path]:
    """Write the page of what changed to `out`, else as changes.html for the second run. Its answer, and its place."""
    from kernelbench.compare.claims import claim_changes
    from kernelbench.compare.runs import compare_runs
    from kernelbench.report.change_page import change_sentences, write_change_page

    folders = [find_run(name)[0] for name in (first, second)]
    with progress.stage("Comparison and page", 4) as advance:
        advance(0, "comparing rows")
        one, other = map(read_run, folders)
        changes = compare_runs(one, other)
        verdicts = []
        for name, run in ((first, one), (second, other)):
            advance(1, f"judging claims on {name}")
            verdicts.append(judge_run(run).verdicts)
        advance(1, "page")
        page = out or output_folder(other.folder) / "changes.html"
        claims = claim_changes(*verdicts)
        write_change_page(changes, claims, other.suite, (first, second), page)
        advance(1, "")
    return change_sentences(changes, claims), page
