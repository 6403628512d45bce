"""The command `plan`: how each kernel would be launched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.options import CHOICE, FORM, GPU, SUITES, request_of
from kernelbench.cli.terminal import console, say

if TYPE_CHECKING:
    from kernelbench.core.records import CasePlan, Planned, Suite
    from kernelbench.walks.plan import Found


@click.command()
@SUITES
@GPU
@CHOICE
@FORM
def plan(suites: tuple[str, ...], gpu: str | None, form: str, **options: Any) -> None:
    """Print how each kernel would be launched: grid, block, shared memory, and why. No GPU needed.

    \b
    Examples:
      kernelbench plan softmax --only oneflow
      kernelbench plan softmax_oneflow_regimes --gpu a100 --filter columns=4096
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.devices import gpu_properties
    from kernelbench.report.formats import TABLE, format_rows
    from kernelbench.report.tables import plan_table
    from kernelbench.walks.plan import plan as walk

    properties = gpu_properties(gpu)
    found = walk(request_of(suites, options), properties, ConsoleProgress())
    if form != TABLE:
        entries = ((suite, plan, one) for suite, plans in found for plan in plans for one in plan.planned)
        say(format_rows(form, [_record(*entry) for entry in entries]))
        return
    labels = plan_labels(found)
    for suite, plans in found:
        say(f"{suite.name} on {properties.name} ({properties.architecture}, {properties.multiprocessors} SMs)")
        console().print(plan_table(_entry(labels[plan.case.key], one) for plan in plans for one in plan.planned))


def _record(suite: Suite, plan: CasePlan, one: Planned) -> dict[str, Any]:
    _, name, launches, why = _entry(plan.case.key, one)
    return {
        "suite": suite.name, "case": plan.case.key, "implementation": name, "status": one.status,
        "launches": launches, "why": one.reason or list(why),
    }  # fmt: skip


def _entry(case: str, one: Planned) -> tuple[str, str, list[str], Sequence[str]]:
    from kernelbench.core.launch_texts import launches_text
    from kernelbench.core.texts import singular

    name = one.implementation.name
    if one.status != "ok":
        return case, name, [], (f"{one.status}: {one.reason}",)
    if one.plan is None:
        return case, name, ["library call"], ()
    return case, name, launches_text(one.plan), list(map(singular, one.plan.reasons))


def plan_labels(found: Found) -> Mapping[str, str]:
    """Short names of all cases: what they have in common is left out."""
    from kernelbench.report.view import case_labels

    return case_labels({plan.case.key: plan.case.words for _, plans in found for plan in plans})
