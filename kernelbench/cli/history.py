"""The command `history`: how the runs in a folder change over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelbench.cli.options import FORM, OUT_FILE, TEXT
from kernelbench.cli.terminal import console, say, tell, warn

if TYPE_CHECKING:
    from kernelbench.walks.history import Histories


@click.command()
@click.argument("suite", type=TEXT, required=False, metavar="[SUITE]")
@click.option(
    "--runs",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="A folder that holds folders of runs.  [default: your results/runs]",
)
@click.option("--out", type=OUT_FILE, help="Also write one HTML page, with a chart per row that changed.")
@click.option("--all", "every", is_flag=True, help="Also list rows that did not change.")
@FORM
def history(suite: str | None, folder: Path | None, out: Path | None, every: bool, form: str) -> None:
    """Say which rows changed over the runs of a folder, at which run, and what else changed there. No GPU needed.

    The runs of each suite on one model of GPU are put in the order in which they started. A row has a step where
    its time changes by more than noise explains: by more than `compare RUN RUN` allows for, and by more than the
    runs scatter. Each step names what may be its cause: machine code, commit, driver, versions.

    \b
    Examples:
      kernelbench history
      kernelbench history softmax --out history.html
      kernelbench history --runs /shared/nightly --format csv
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.report.history_text import as_text
    from kernelbench.walks.history import history as walk

    found = walk(folder, suite, ConsoleProgress())
    if form != "table":
        say(as_text(found.found, found.left_out, form))
    else:
        _show(found, every=every)
    if out is not None:
        from kernelbench.report.history_page import write_history

        write_history(found.found, found.left_out, out)
        (say if form == "table" else warn)(f"written to {out}")


def _show(found: Histories, *, every: bool) -> None:
    """Per suite and GPU the answer, then every event, the rows and the runs."""
    from kernelbench.report.history_text import event_lines, history_sentence, left_out_table, runs_table, trends_table

    for one in found.found:
        tell(history_sentence(one))
        for event in one.events:
            tell(*event_lines(one, event))
        if table := trends_table(one, every=every):
            console().print(table)
        console().print(runs_table(one, found.folder))
        if one.single:
            tell(f"{one.single} rows have a time in one run only.")
    if found.left_out:
        console().print(left_out_table(found.left_out, found.folder))
