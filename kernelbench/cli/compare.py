"""The command `compare`: within one run, or one run against another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelbench.cli.options import FORM, ONLY, OUT_FOLDER, SHOWN_CACHE, TEXT
from kernelbench.cli.terminal import console, headline_on_terminal, say, tell, warn
from kernelbench.core.errors import InputError

if TYPE_CHECKING:
    from kernelbench.compare import ComparedRow
    from kernelbench.compare.answer import Answer
    from kernelbench.compare.changes import Changes

REGRESSION = 3  # exit code


def _share(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """`2%`, `2 %` or `2` as 0.02."""
    if value is None:
        return None
    try:
        per_cent = float(value.strip().removesuffix("%"))
    except ValueError:
        per_cent = math.nan
    if not 0 <= per_cent < 1000:
        raise InputError(f"--fail-on {value}: expected per cent of a row's time, as in 2% or 0.5%")
    return per_cent / 100


@click.command()
@click.argument("runs", type=TEXT, nargs=-1, metavar="[RUN] [RUN]")
@click.option(
    "--baseline",
    type=TEXT,
    metavar="NAME",
    help="What speed-ups are relative to: an implementation, or `published` for published times.  "
    "[default: the suite's]",
)
@SHOWN_CACHE
@ONLY
@click.option("--out", type=OUT_FOLDER, help="Also write comparison.csv, claims.csv and claims.json into this folder.")
@click.option(
    "--fail-on",
    callback=_share,
    metavar="PER CENT",
    help="For two runs: exit with 3 if a row of the second is SLOWER and its interval reaches that much, as in 2%, or "
    "if it no longer works.",
)
@FORM
@click.option(
    "--all", "every", is_flag=True, help="Print every row: those that did not change, and all counts of the simulator."
)
def compare(
    runs: tuple[str, ...],
    baseline: str | None,
    caches: tuple[str, ...],
    only: tuple[str, ...],
    out: Path | None,
    fail_on: float | None,
    form: str,
    every: bool,
) -> int:
    """Show speed-ups within a run and the verdict on each claim, or compare two runs row by row.

    Within a run, the published speed-ups stand beside the measured ones. RUN is a folder, or the name of
    a run or of a suite. Without RUN, the command takes your newest run, or the recorded run that kernelbench
    ships if you have none. No GPU needed.

    With two runs of one suite, each row of the second run is FASTER, SLOWER, the SAME or UNSURE. A row is faster
    or slower only by more than noise explains. Rows that changed are shown, the others are counted. Runs of two
    different GPUs are compared by share of each ceiling: a row is CLOSER to it or FARTHER from it.

    Nothing is written unless --out says so.

    \b
    Examples:
      kernelbench compare --baseline ft
      kernelbench compare softmax_half --baseline torch --only oneflow,ft
      kernelbench compare --baseline published
      kernelbench compare before after --fail-on 2% --format markdown
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.compare import write_comparison
    from kernelbench.report.summary import counted_lines
    from kernelbench.walks.compare import answer_of, changes_between

    if len(runs) > 2:
        raise InputError(f"compare {' '.join(runs)}: expected one run or two, got {len(runs)}")
    if len(runs) == 2:
        if baseline is not None:
            raise InputError(f"--baseline {baseline}: of two runs the first is the baseline; leave the option out")
        if out is not None:
            advice = "is for one run; of two, write what is printed to a file: --format csv > FILE"
            raise InputError(f"--out {out}: {advice}")
        changes = changes_between(runs[0], runs[1], caches, only, ConsoleProgress(lasting=False))
        _show_two(changes, form, fail_on, every=every)
        return REGRESSION if fail_on is not None and changes.regressions(fail_on) else 0
    if fail_on is not None:
        raise InputError(f"--fail-on: is for two runs, as in kernelbench compare RUN RUN; got {len(runs)}")
    answer, which = answer_of(runs[0] if runs else None, baseline, ConsoleProgress(lasting=False))
    _check_names(answer, only)
    if form != "table":
        from kernelbench.report.comparison_text import as_text

        say(as_text(answer.run, _selected_rows(answer, caches or ("cold",), only), answer.verdicts, form))
    elif answer.run.simulated and not every:
        tell(*counted_lines(answer))
    else:
        _show_one(answer, which, caches or ("cold",), only)
    if out is not None:
        write_comparison(answer.comparison, answer.verdicts, out)
        (say if form == "table" else warn)(f"written to {out}")
    return 0


def _show_one(answer: Answer, which: str, caches: Sequence[str], only: Sequence[str]) -> None:
    """Speed-ups of the chosen rows, the published ones beside them, and the claims."""
    from kernelbench.report import peer_texts, self_test, summary
    from kernelbench.report.console import claims_table, comparison_table, limits_line

    chosen = _selected_rows(answer, caches, only)
    out = console()
    with headline_on_terminal(*summary.run_headline(answer.run, answer.comparison, answer.verdicts)):
        tell(f"Comparing within {which}", limits_line(answer.run), "")
        out.print(comparison_table(chosen, answer.run))
        if beside := peer_texts.table(answer.run):
            out.print(beside)
        if answer.verdicts:
            out.print(claims_table(answer.verdicts))
        if test := self_test.self_test_figures(answer.run):
            tell("", "This run is a self-test, compared here without its twins.", *self_test.self_test_sentences(test))
        if answer.verdicts or any(row.speedup and not row.is_baseline for row in chosen):
            say(summary.why_line(answer.run))  # whole, to be copied


def _check_names(answer: Answer, only: Sequence[str]) -> None:
    from kernelbench.core.problems import suggest

    known = dict.fromkeys(row.implementation for row in answer.run.rows)
    if unknown := [name for name in only if name not in known]:
        raise InputError(f"--only {','.join(only)}: the run has no '{unknown[0]}'{suggest(unknown[0], known)}")


def _selected_rows(answer: Answer, caches: Sequence[str], only: Sequence[str]) -> list[ComparedRow]:
    """Rows of these cache states and implementations, and of the baseline."""
    shown = {*only, *(row.baseline for row in answer.comparison)}
    return [
        row for row in answer.comparison if row.cache in (*caches, "") and (not only or row.implementation in shown)
    ]


def _show_two(changes: Changes, form: str, least: float | None, *, every: bool) -> None:
    """The second run against the first; `least`: what counts as a regression; None if nobody asked."""
    from kernelbench.report import changes_table, changes_text

    lines = [] if least is None else changes_table.regression_lines(changes, least)
    if form != "table":
        made = {"csv": changes_text.as_csv(changes), "json": changes_text.as_json(changes, least)}
        say(made[form] if form in made else changes_text.as_markdown(changes, least))
        if form in made and lines:
            warn("\n".join(lines))
        return
    with headline_on_terminal(changes_table.counts_text(changes), *lines):
        tell(f"First:  {changes.first}", f"Second: {changes.second}")
        tell(*(f"Differs: {one}" for one in changes.differences), "")
        console().print(changes_table.changes_table(changes, every=every))
        tell(*changes.noise)
        if not every:
            tell("--all prints every row.")
