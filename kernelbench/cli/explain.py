"""The command `explain`: what kernels do differently, as the simulator and the hardware count it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.options import CHOICE, FORM, FULL, NVCC, PLACE, SEED, TEXT, request_of, suite_names
from kernelbench.cli.terminal import console, say, tell, warn
from kernelbench.core import streams
from kernelbench.core.errors import InputError
from kernelbench.core.texts import one_line

if TYPE_CHECKING:
    from kernelbench.explain.findings import CaseExplanation
    from kernelbench.explain.profiled import ReportExplanation


@click.command()
@click.argument("suites", type=TEXT, nargs=-1, metavar="[SUITE]...", shell_complete=suite_names)
@click.option("--gpu", type=TEXT, metavar="NAME", help="Plan launches and state bounds for this GPU.  [default: h200]")
@CHOICE
@click.option("--lines", is_flag=True, help="Show the source lines that cost something, with their counters.")
@click.option(
    "--measured",
    is_flag=True,
    help="Read hardware counters of this machine's GPU with Nsight Compute, beside those of the simulator.",
)
@click.option(
    "--ncu-rep",
    "report",
    type=PLACE,
    metavar="FILE",
    help="Explain the kernels in this report of Nsight Compute, of any program, instead of a suite.",
)
@FORM
@FULL
@SEED
@NVCC
def explain(
    suites: tuple[str, ...],
    gpu: str | None,
    lines: bool,
    measured: bool,
    report: Path | None,
    form: str,
    **options: Any,
) -> int:
    """Say in words what kernels do differently, from what the simulator counts. No GPU needed.

    For each case, explain shows the counters that differ between its implementations, what they mean, the
    time that no run can beat, and which published explanations they confirm. It verifies and times nothing,
    and does not say which kernel is faster: a run on a GPU does, and its `report` shows these sentences too.

    \b
    Examples:
      kernelbench explain softmax --filter seq=512 --only tree_modulo,tree_strided,tree_sequential
      kernelbench explain softmax --gpu a100 --only naive --filter seq=64 --lines
      kernelbench explain softmax --measured --only ft,oneflow --filter seq=512
      kernelbench explain --ncu-rep mine.ncu-rep
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.explain.profiled import explain_report
    from kernelbench.measure.profiling import reports
    from kernelbench.walks.explain import explain as walk

    if bool(suites) == bool(report):
        both = "not both" if report else "kernelbench list suites shows the suites"
        raise InputError(f"explain: name a suite, or a report with --ncu-rep FILE; {both}")
    if report:
        _show_report(explain_report(one_line(report.name), reports.read_report(report)), form)
        return 0
    progress = ConsoleProgress()
    found = walk(request_of(suites, options), gpu, progress, lines=lines, measured=measured)
    return _show(streams.while_read(found), form, progress.printing)


def _show(found: Iterable[CaseExplanation], form: str, printing: Callable[[], AbstractContextManager[None]]) -> int:
    """Print each case as soon as it is counted, within `printing`; or all for a program. Returns the exit code."""
    from kernelbench.report import explanation, formats, hardware

    if form == "json":
        say(explanation.as_json(list(found)))
        return 0
    if form != formats.TABLE:
        rows = [row for one in found for row in explanation.explanation_rows(one)]
        say(formats.format_rows(form, rows))
        return 0
    out = console()
    shown: dict[str, list[CaseExplanation]] = {}
    for one in found:
        shown.setdefault(one.suite, []).append(one)
        with printing():
            for part in explanation.case_parts(one, f"{one.suite}: {one.case}"):
                out.print(part)
            for part in hardware.printed_hardware_counters(one.launches, one.unavailable):
                out.print(part)
            for line in hardware.hand_offs(one.suite, one.launches):
                say(line)  # whole, to be copied
    if not any(one.counted for cases in shown.values() for one in cases):
        warn("Nothing was counted; the reasons are above.")
        return 1
    for suite, cases in shown.items():
        if len(cases) > 1 and any(one.evidence for one in cases):
            out.print(explanation.statements_table(cases, f"{suite}: published explanations over all cases"))
    tell(explanation.NOTE)
    return 0


def _show_report(found: ReportExplanation, form: str) -> None:
    """Print what a report of Nsight Compute says, for people or for a program."""
    from kernelbench.report import explanation, formats, hardware

    if form == "json":
        say(explanation.as_json([found]))
    elif form != formats.TABLE:
        say(formats.format_rows(form, hardware.hardware_rows(found.launches)))
    else:
        for part in hardware.report_parts(found):
            console().print(part)
        tell(*hardware.report_notes(found))
