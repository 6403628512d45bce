"""What a person sees in the terminal: progress with time left, and the pipeline's results as tables."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from kernelbench.cli.stopping import raise_again
from kernelbench.cli.terminal import WIDTH, console, say, warn
from kernelbench.core.launch_texts import input_loads, launches_text
from kernelbench.core.records import Binary, DeviceProperties, EntryFacts, Result, Suite
from kernelbench.core.texts import printable
from kernelbench.core.units import duration_text
from kernelbench.planning.case_plans import CasePlan, Planned

if TYPE_CHECKING:
    from kernelbench.cli.doctor import Finding
    from kernelbench.cli.listing import Listing
    from kernelbench.cli.new_kernel import Written
    from kernelbench.compare.changes import Changes
    from kernelbench.explain.records import CaseExplanation
    from kernelbench.planning.candidates import Tuned
    from kernelbench.walks.answers import Answer
    from kernelbench.walks.explaining import Explained

Found = Sequence[tuple[Suite, Sequence[CasePlan]]]


class ConsoleProgress:
    """A bar with the time left on a terminal; one line at the end of each stage elsewhere."""

    @contextmanager
    def stage(self, title: str, total: float) -> Iterator[Callable[[float, str], None]]:
        raise_again()
        started = time.monotonic()
        if total <= 0:
            yield lambda amount, what: None
            return
        if not sys.stderr.isatty():
            yield lambda amount, what: raise_again()
        else:
            yield from self._bar(title, total)
        warn(f"{title}: {duration_text(time.monotonic() - started)}")

    def say(self, text: str) -> None:
        warn(text)

    def _bar(self, title: str, total: float) -> Iterator[Callable[[float, str], None]]:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[what]}", markup=False),
        )
        with Progress(*columns, console=console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=total, what="")

            def advance(amount: float, what: str) -> None:
                raise_again()
                bar.update(task, advance=amount, what=what[:40])

            yield advance


# ---- run, compare, check -------------------------------------------------------------------------


def show_run(answer: Answer, page: Path | None) -> None:
    """Times, reasons, claims, and where everything lies; of a self-test what it found."""
    from kernelbench.report import peers, self_test
    from kernelbench.report.console import claims_table, limits_line, results_table

    out = console()
    if test := self_test.found(answer.run):
        out.print(self_test.table(test))
    else:
        out.print(results_table(answer.run))
        if beside := peers.table(answer.run):
            out.print(beside)
    out.print(limits_line(answer.run))
    if answer.verdicts and not test:
        out.print(claims_table(answer.verdicts))
    builds = answer.run.environment.get("builds", {})
    say(f"{builds.get('compiled', 0)} of {builds.get('binaries', 0)} binaries compiled in {builds.get('seconds', 0)} s")
    say(f"rows: {answer.run.folder / 'results.csv'}")
    if page:
        say(f"page: {page}")


def show_comparison(answer: Answer, which: str, folder: Path, caches: Sequence[str], only: Sequence[str]) -> None:
    """Speed-ups of the chosen rows, the published ones beside them, and the claims."""
    from kernelbench.report import peers, self_test
    from kernelbench.report.console import claims_table, comparison_table, limits_line

    table = answer.comparison
    chosen = table["cache"].isin([*caches, ""])
    if only:
        chosen &= table["implementation"].isin([*only, *table["baseline"].unique()])
    out = console()
    say(f"Comparing within {which}")
    say(limits_line(answer.run))
    out.print(comparison_table(table[chosen], answer.run))
    if beside := peers.table(answer.run):
        out.print(beside)
    if answer.verdicts:
        out.print(claims_table(answer.verdicts))
    if test := self_test.found(answer.run):
        _told("", "This run is a self-test, compared here without its twins.", *self_test.sentences(test))
    say(f"all rows: {folder / 'comparison.csv'}")


def show_changes(changes: Changes, form: str, least: float | None) -> None:
    """The second run against the first; `least`: what counts as a regression, None where nobody asked."""
    from kernelbench.report import changes_table, changes_text

    lines = [] if least is None else changes_table.regression_lines(changes, least)
    if form != "table":
        made = {"csv": changes_text.as_csv(changes), "json": changes_text.as_json(changes, least)}
        say(made[form] if form in made else changes_text.as_markdown(changes, least))
        if form in made and lines:
            warn("\n".join(lines))
        return
    out = console()
    _told(
        f"First:  {changes.first}", f"Second: {changes.second}", *(f"Differs: {one}" for one in changes.differences), ""
    )
    out.print(changes_table.changes_table(changes))
    _told(*changes.noise)
    _told(changes_table.counts_text(changes), *lines)


def _told(*lines: str) -> None:
    for line in lines:
        say(fill(printable(line), WIDTH, subsequent_indent="  ", break_on_hyphens=False))


def show_checks(results: Sequence[Result]) -> None:
    from kernelbench.report.lists import check_table
    from kernelbench.report.view import case_labels

    labels = case_labels(one.case.key for one in results)
    lines = [(labels[one.case.key], one.implementation.name, one.status, one.check, one.reason) for one in results]
    console().print(check_table(lines))
    inputs = dict.fromkeys(one.case.inputs for one in results)
    for name in inputs if len(inputs) > 1 else ():
        say(f"{name}: {_verdicts(one for one in results if one.case.inputs == name)}")
    say(_verdicts(results))


def _verdicts(results: Iterable[Result]) -> str:
    counts = Counter(one.status for one in results)
    right, wrong = counts["ok"], counts["wrong"] + counts["failed"]
    return f"{right} right, {wrong} wrong or failed, {counts.total() - right - wrong} refused or skipped"


# ---- tune ----------------------------------------------------------------------------------------


def show_tuned(found: Tuned) -> None:
    from kernelbench.report.tuning import tuning_sentence, tuning_table

    if found.candidates:
        console().print(tuning_table(found))
    say(fill(tuning_sentence(found), WIDTH) + "\n")


# ---- explain -------------------------------------------------------------------------------------


def show_explanations(found: Iterable[Explained], *, as_json: bool) -> None:
    """Each case when it is counted: tables, sentences, published explanations, source lines; or all as JSON."""
    from kernelbench.report import explanation

    if as_json:
        say(explanation.as_json([one.explanation for one in found]))
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
    say(fill(explanation.NOTE, WIDTH))


# ---- plan, build ---------------------------------------------------------------------------------


def show_plans(found: Found, gpu: DeviceProperties) -> None:
    from kernelbench.report.lists import plan_table

    labels = _labels(found)
    for suite, plans in found:
        say(f"{suite.name} on {gpu.name} ({gpu.architecture}, {gpu.multiprocessors} SMs)")
        console().print(plan_table(_plan_entry(labels[plan.case.key], one) for plan in plans for one in plan.planned))


def _plan_entry(case: str, one: Planned) -> tuple[str, str, list[str], Sequence[str]]:
    name = one.implementation.name
    if one.status != "ok":
        return case, name, [], (f"{one.status}: {one.reason}",)
    if one.plan is None:
        return case, name, ["library call"], ()
    return case, name, launches_text(one.plan), one.plan.reasons


def show_builds(found: Found, summary: dict[str, Any], gpu: DeviceProperties) -> None:
    from kernelbench.report.lists import build_table

    labels = _labels(found)
    lines = [line for suite, plans in found for line in _build_lines(plans, labels)]
    console().print(build_table(lines))
    cached = summary["binaries"] - summary["compiled"] - summary["failed"]
    failed = f", {summary['failed']} failed" if summary["failed"] else ""
    flags = " ".join(summary["flags"])
    say(
        f"{summary['binaries']} binaries for {gpu.name} ({gpu.architecture}): {summary['compiled']} compiled, "
        f"{cached} from the cache{failed}, {duration_text(summary['seconds'])}; nvcc {flags}"
    )


def _labels(found: Found) -> Mapping[str, str]:
    """Short names of all cases: what they have in common is left out."""
    from kernelbench.report.view import case_labels

    return case_labels([plan.case.key for _, plans in found for plan in plans])


def _build_notes(binary: Binary, facts: Sequence[EntryFacts]) -> Iterator[str]:
    """What is known of a binary beside its numbers, each once."""
    if binary.cached:
        yield "cached"
    notes = dict.fromkeys(fact.machine_code for fact in facts)
    yield from (note for note in notes if note and not note.startswith("not available"))


def _build_lines(plans: Sequence[CasePlan], labels: Mapping[str, str]) -> Iterator[Any]:
    """One line for each binary and implementation, with the cases that it serves."""
    from kernelbench.report.lists import BuildLine

    groups: dict[tuple[str, str], list[tuple[CasePlan, Planned]]] = {}
    for plan in plans:
        for one in plan.planned:
            if one.binary:
                groups.setdefault((one.implementation.name, one.binary.key), []).append((plan, one))
            elif one.status == "failed":
                yield BuildLine(one.implementation.name, labels[plan.case.key], 0, 0, 0, None, one.reason)
    for (name, _), served in groups.items():
        plan, one = served[0]
        assert one.binary is not None
        assert one.plan is not None
        facts = [one.binary.facts[launch.entry] for launch in one.plan.launches]
        yield BuildLine(
            implementation=name,
            cases=labels[plan.case.key] + (f" and {len(served) - 1} more" if len(served) > 1 else ""),
            registers=max((fact.registers for fact in facts), default=0),
            shared_bytes=max((fact.shared_bytes for fact in facts), default=0),
            spill_bytes=max((fact.spill_store_bytes + fact.spill_load_bytes for fact in facts), default=0),
            loads=input_loads(one.plan, one.binary.facts, plan.inputs),
            note="; ".join(_build_notes(one.binary, facts)),
        )


# ---- new, list, doctor --------------------------------------------------------------------------------


def show_written(written: Written) -> None:
    """The files, and what to type next."""
    what = f"a copy of {written.start}" if written.start else "x times a weight for each column"
    say("\n".join(map(str, (*written.operation, written.source, written.plan))) + f": {what}, to be changed; next")
    for command in written.commands:
        say(f"  {command}")


def show_list(listing: Listing) -> None:
    from kernelbench.report.lists import list_table

    console().print(list_table(listing.header, listing.rows, listing.title))
    if listing.note:
        say(fill(listing.note, WIDTH) + "\n")


def show_diagnosis(findings: Sequence[Finding]) -> bool:
    """True if nothing is missing."""
    from kernelbench.cli.doctor import all_fine
    from kernelbench.report.lists import list_table

    rows = [
        (finding.what, "fine" if finding.fine else "missing", finding.text, "" if finding.fine else finding.needed_for)
        for finding in findings
    ]
    console().print(list_table(("what", "", "found", "needed for"), rows))
    return all_fine(findings)
