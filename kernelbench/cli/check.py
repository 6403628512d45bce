"""The command `check`: every output against the reference, and no times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.options import CHOICE, DEVICE, FORM, FULL, INPUTS, MEASURING, SUITES, request_of
from kernelbench.cli.terminal import NOTHING_VERIFIED, console, headline_on_terminal, say, tell, warn
from kernelbench.core.units import number_of

if TYPE_CHECKING:
    from kernelbench.core.records import Result

MOST_ROWS = 40  # of the table, above which right rows are left out
NOTE = "note: "  # how a race begins that programs rely on
SAMPLED = "only a sample of the blocks was checked; --full checks all"
WHOLE = "run whole, because a sample of the blocks wrote too little of an output"


@click.command()
@SUITES
@DEVICE
@CHOICE
@INPUTS
@click.option(
    "--strict",
    is_flag=True,
    help="On the simulator: also look for races, uninitialised reads and the like; runs every block.",
)
@FULL
@MEASURING
@FORM
@click.option(
    "--all", "every", is_flag=True, help=f"Print every row, also the right ones where there are more than {MOST_ROWS}."
)
def check(suites: tuple[str, ...], form: str, every: bool, **options: Any) -> int:
    """Verify every output against the float64 reference, and time nothing.

    Inputs are drawn from every distribution that the operation has, not only from the suite's.

    \b
    Examples:
      kernelbench check suites/softmax.yaml
      kernelbench check softmax --inputs normal,masked
      kernelbench check softmax --specimens        shows that wrong kernels are found
      kernelbench check softmax --device simulated --strict --filter seq=16
      kernelbench check softmax --cu my.cu --entry my_softmax --only my --set seq=77
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.report.formats import TABLE, format_rows
    from kernelbench.walks.check import check as walk

    results = walk(request_of(suites, options), ConsoleProgress())
    if form == TABLE:
        own = {path.absolute() for path in options["cu"]}
        show(results, own, strict=options["strict"], every=every)
    else:
        say(format_rows(form, list(map(_record, results))))
    if not any(one.check for one in results):
        warn(NOTHING_VERIFIED)
        return 1
    wrong = [one for one in results if one.status in ("failed", "wrong") and one.implementation.role != "specimen"]
    return 1 if wrong else 0


def _record(one: Result) -> dict[str, Any]:
    check = one.check
    return {
        "case": one.case.key,
        "inputs": one.case.inputs,
        "implementation": one.implementation.name,
        "role": one.implementation.role,
        "status": one.status,
        "max_absolute_error": check.max_absolute_error if check else None,
        "absolute_tolerance": check.tolerance.absolute if check else None,
        "max_relative_error": check.max_relative_error if check else None,
        "relative_tolerance": check.tolerance.relative if check else None,
        "share_of_tolerance": check.share_of_tolerance if check else None,
        "reason": _reason(one),
    }


def show(results: Sequence[Result], own: Collection[Path] = (), *, strict: bool = False, every: bool = False) -> None:
    """`own`: the files of --cu, whose results come first."""
    with headline_on_terminal(*_headline(results, own)):
        _show_rows(results, every=every)
        for remark, count in _remarks(results).items():
            say(f"{count} of {number_of(len(results), 'row')}: {remark}")
        if strict:
            tell(*_strict_sentence(results))
        inputs = dict.fromkeys(one.case.inputs for one in results)
        for name in inputs if len(inputs) > 1 else ():
            say(f"{name}: {_verdicts([one for one in results if one.case.inputs == name])}")


def _headline(results: Sequence[Result], own: Collection[Path]) -> list[str]:
    """How many rows are right: of each file of the user's, then of all."""
    names = [one.implementation.name for one in results if one.implementation.source in own]
    total = _verdicts(results)
    if len(names) == len(results) and len(set(names)) == 1:
        return [total]
    of_own = [
        f"{name}: {_verdicts([one for one in results if one.implementation.name == name])}"
        for name in dict.fromkeys(names)
    ]
    return [*of_own, f"All: {total}" if of_own else total]


def _show_rows(results: Sequence[Result], *, every: bool) -> None:
    """The table, without right rows where there are many, and the reasons."""
    from kernelbench.report.tables import check_table, reasons_table
    from kernelbench.report.view import case_labels, grouped_reasons, shown_status

    labels = case_labels({one.case.key: one.case.words for one in results})
    named = [(one, one.implementation.name, shown_status(one.status, one.implementation.role)) for one in results]
    others = [(one, name, status) for one, name, status in named if status != "ok"]
    shown = named if every or len(named) <= MOST_ROWS else others
    if shown:
        console().print(check_table((labels[one.case.key], name, status, one.check) for one, name, status in shown))
    if hidden := len(named) - len(shown):
        said = "1 right row is" if hidden == 1 else f"{hidden} right rows are"
        tell(f"{said} not shown; --all shows {'it' if hidden == 1 else 'them'}.")
    if others:
        reasons = grouped_reasons((name, status, one.case.key, _reason(one)) for one, name, status in others)
        console().print(reasons_table(reasons, labels, "Not right, and why"))


def _strict_sentence(results: Sequence[Result]) -> list[str]:
    """What --strict looked for, where it found nothing."""
    kernels = [one for one in results if one.implementation.role != "specimen"]
    right = sum(one.status == "ok" for one in results)
    if not right or any(one.status in ("wrong", "failed") for one in kernels):
        return []
    noted = any(one.status == "ok" and NOTE in one.reason for one in results)
    return [
        f"Strict: no races on shared memory{' but those noted above' if noted else ''} and no reads of uninitialised "
        f"memory in {number_of(right, 'row')}, all blocks run."
    ]


def _reason(one: Result) -> str:
    return one.reason or (one.check.message if one.check else "")


def _remarks(results: Iterable[Result]) -> Counter[str]:
    """What is said of right rows, with the number of such rows."""
    said = [remark for one in results if one.status == "ok" for remark in one.reason.split("; ") if remark]
    alike = {"sampled ": SAMPLED, "run whole, ": WHOLE}  # but for their numbers
    return Counter(next((text for start, text in alike.items() if one.startswith(start)), one) for one in said)


def _verdicts(results: Sequence[Result]) -> str:
    from kernelbench.report.view import right_text

    return right_text(((one.status, one.implementation.role) for one in results), _remarks(results)[SAMPLED])
