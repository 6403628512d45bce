"""The command `report`: a run as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from kernelbench.cli.options import OUT_FILE, RUN, TEXT
from kernelbench.cli.terminal import say, tell


@click.command()
@RUN
@click.option("--baseline", type=TEXT, metavar="NAME", help="What speed-ups are relative to.  [default: the suite's]")
@click.option("--out", type=OUT_FILE, help="The HTML file.  [default: report.html in your run's folder]")
def report(run_name: str | None, baseline: str | None, out: Path | None) -> None:
    """Write a run as one HTML page, with charts as PNG and SVG files beside it. No GPU needed.

    comparison.csv, claims.csv and claims.json go beside it too. The page of a recorded run goes into a folder
    below your results/runs: recorded runs stay as they are.

    \b
    Examples:
      kernelbench report
      kernelbench report softmax --out softmax.html
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.report.summary import headline
    from kernelbench.walks.compare import answer_of
    from kernelbench.walks.report import report as walk

    answer, which = answer_of(run_name, baseline)
    tell(*headline(answer.run, answer.comparison, answer.verdicts), f"Report of {which}")
    with ConsoleProgress().stage("Charts and page", 1):
        page = walk(answer, out)
    say(f"written to {page}")
