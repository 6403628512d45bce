"""The command `check`: every output against the reference, and no times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.options import CHOICE, DEVICE, FORM, FULL, INPUTS, MEASURING, SUITES, request_of
from kernelbench.cli.terminal import NOTHING_VERIFIED, console, say, warn
from kernelbench.core.units import number_of

if TYPE_CHECKING:
    from kernelbench.core.records import Result

SAMPLED = "only a sample of the blocks was checked; --full checks all"


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
def check(suites: tuple[str, ...], form: str, **options: Any) -> int:
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
        show(results)
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


def show(results: Sequence[Result]) -> None:
    from kernelbench.report.tables import check_table, reasons_table
    from kernelbench.report.view import case_labels, grouped_reasons, shown_status

    say(_verdicts(results))
    labels = case_labels({one.case.key: one.case.words for one in results})
    named = [(one, one.implementation.name, shown_status(one.status, one.implementation.role)) for one in results]
    console().print(check_table((labels[one.case.key], name, status, one.check) for one, name, status in named))
    others = [(name, status, one.case.key, _reason(one)) for one, name, status in named if status != "ok"]
    if others:
        console().print(reasons_table(grouped_reasons(others), labels, "Not right, and why"))
    for remark, count in _remarks(results).items():
        say(f"{count} of {number_of(len(results), 'row')}: {remark}")
    inputs = dict.fromkeys(one.case.inputs for one in results)
    for name in inputs if len(inputs) > 1 else ():
        say(f"{name}: {_verdicts(one for one in results if one.case.inputs == name)}")


def _reason(one: Result) -> str:
    return one.reason or (one.check.message if one.check else "")


def _remarks(results: Iterable[Result]) -> Counter[str]:
    """What is said of right rows, with the number of such rows."""
    said = [remark for one in results if one.status == "ok" for remark in one.reason.split("; ") if remark]
    return Counter(SAMPLED if remark.startswith("sampled ") else remark for remark in said)


def _verdicts(results: Iterable[Result]) -> str:
    from kernelbench.report.view import right_text

    return right_text((one.status, one.implementation.role) for one in results)
