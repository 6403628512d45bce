"""The command `explain`: why one kernel is faster than another, by what the simulator counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.options import CHOICE, FORM, FULL, NVCC, SEED, SUITES, TEXT, request_of
from kernelbench.cli.terminal import console, say, tell
from kernelbench.core import streams

if TYPE_CHECKING:
    from kernelbench.explain.records import CaseExplanation
    from kernelbench.walks.explain import Explained


@click.command()
@SUITES
@click.option("--gpu", type=TEXT, metavar="NAME", help="Plan, and state bounds, for this GPU.  [default: h200]")
@CHOICE
@click.option("--lines", is_flag=True, help="Show the source lines that cost something, with their counters.")
@FORM
@FULL
@SEED
@NVCC
def explain(suites: tuple[str, ...], gpu: str | None, lines: bool, form: str, **options: Any) -> None:
    """Why one kernel is faster than another: what the simulator counts, in words. No GPU needed.

    For each case the counters that differ between its implementations, what they mean, what no run can
    be faster than, and which published explanations they confirm. Nothing is verified here or timed.

    \b
    Examples:
      kernelbench explain softmax --filter seq=512 --only tree_modulo,tree_strided,tree_sequential
      kernelbench explain softmax --gpu a100 --only naive --filter seq=64 --lines
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.walks.explain import explain as walk

    found = walk(request_of(suites, options), gpu, ConsoleProgress(), lines=lines)
    _show(streams.while_read(found), form)


def _show(found: Iterable[Explained], form: str) -> None:
    """Print each case as soon as it is counted, or all cases for a program."""
    from kernelbench.report import explanation, formats

    if form == "json":
        say(explanation.as_json([one.explanation for one in found]))
        return
    if form != formats.TABLE:
        rows = [row for one in found for row in explanation.records(one.explanation, one.suite.name)]
        say(formats.formatted(form, rows))
        return
    out = console()
    shown: dict[str, list[CaseExplanation]] = {}
    for one in found:
        shown.setdefault(one.suite.name, []).append(one.explanation)
        for part in explanation.case_parts(one.explanation, f"{one.suite.name}: {one.explanation.case}"):
            out.print(part)
    for suite, cases in shown.items():
        if len(cases) > 1 and any(one.evidence for one in cases):
            out.print(explanation.claims_table(cases, f"{suite}: published explanations over all cases"))
    tell(explanation.NOTE)
