"""The command `build`: compile only, and say what each binary needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.options import CHOICE, FORM, GPU, NVCC, SUITES, request_of
from kernelbench.cli.plan import plan_labels
from kernelbench.cli.terminal import console, say, tell, warn
from kernelbench.core.texts import singular
from kernelbench.core.units import duration_text

if TYPE_CHECKING:
    from kernelbench.core.records import Binary, CasePlan, DeviceProperties, LaunchPlan, Planned
    from kernelbench.walks.plan import Found


@click.command()
@SUITES
@GPU
@CHOICE
@NVCC
@FORM
def build(suites: tuple[str, ...], gpu: str | None, form: str, **options: Any) -> int:
    """Compile only, and print registers, shared memory, spills and loads of each kernel. No GPU needed.

    \b
    Examples:
      kernelbench build softmax
      kernelbench build softmax --gpu a100 --specimens
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.devices import gpu_properties
    from kernelbench.walks.plan import build as walk

    properties = gpu_properties(gpu)
    found, summary = walk(request_of(suites, options), properties, ConsoleProgress())
    _show(found, summary, properties, form)
    broken = any(one.status == "failed" for _, plans in found for plan in plans for one in plan.planned)
    return 1 if broken else 0


def _show(found: Found, summary: dict[str, Any], gpu: DeviceProperties, form: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from kernelbench.build import access_notes
    from kernelbench.report.formats import TABLE, format_rows
    from kernelbench.report.tables import build_table

    labels = plan_labels(found)
    binaries = {
        one.binary.key: one.binary for _, plans in found for plan in plans for one in plan.planned if one.binary
    }
    with ThreadPoolExecutor() as pool:
        list(pool.map(access_notes, binaries.values()))
    lines = [line for suite, plans in found for line in _lines(plans, labels)]
    number, on = summary["binaries"], f"for {gpu.name} ({gpu.architecture})"
    cached = number - summary["compiled"] - summary["failed"]
    failed = f", {summary['failed']} failed" if summary["failed"] else ""
    flags = " ".join(summary["flags"])
    (tell if form == TABLE else warn)(
        f"{singular(f'{number} binaries')} {on}: {summary['compiled']} compiled, "
        f"{cached} from the cache{failed}, {duration_text(summary['seconds'])}; nvcc {flags}"
        if number
        else f"Nothing to compile {on}."
    )
    if form != TABLE:
        say(format_rows(form, [asdict(line) for line in lines]))
    elif lines:
        console().print(build_table(lines))


def _lines(plans: Sequence[CasePlan], labels: Mapping[str, str]) -> Iterator[Any]:
    """A line per binary and implementation, with the cases that use it."""
    from kernelbench.core.launch_texts import input_loads
    from kernelbench.report.tables import BuildLine

    groups: dict[tuple[str, str], list[tuple[CasePlan, Planned]]] = {}
    for plan in plans:
        for one in plan.planned:
            if one.binary:
                groups.setdefault((one.implementation.name, one.binary.key), []).append((plan, one))
            elif one.status == "failed":
                yield BuildLine(one.implementation.name, labels[plan.case.key], None, None, None, None, one.reason)
    for (name, _), served in groups.items():
        plan, one = served[0]
        assert one.binary is not None
        assert one.plan is not None
        facts = [one.binary.facts[launch.entry] for launch in one.plan.launches]
        yield BuildLine(
            implementation=name,
            cases=labels[plan.case.key] + (f" and {len(served) - 1} more" if len(served) > 1 else ""),
            registers=max((fact.registers for fact in facts), default=None),
            shared_bytes=max((fact.shared_bytes for fact in facts), default=None),
            spill_bytes=max((fact.spill_store_bytes + fact.spill_load_bytes for fact in facts), default=None),
            loads=input_loads(one.plan, one.binary.facts, plan.inputs),
            note="; ".join(_binary_notes(one.binary, one.plan)),
        )


def _binary_notes(binary: Binary, plan: LaunchPlan) -> Iterator[str]:
    """What is known about a binary besides its numbers."""
    from kernelbench.build import access_notes

    if binary.cached:
        yield "cached"
    found = access_notes(binary)
    notes = dict.fromkeys(found[launch.entry] for launch in plan.launches)
    yield from (note for note in notes if note and not note.startswith("not available"))
