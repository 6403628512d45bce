"""What counters explain: tables and sentences for the terminal, the page's section, source lines, JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernelbench.compare.counted_runs import counts_of
from kernelbench.core.records import Claim
from kernelbench.core.units import count_text, digits, time_text
from kernelbench.explain import evidence
from kernelbench.explain.counted import METRICS, Counted
from kernelbench.explain.findings import CaseExplanation, Line, Sentence, SourceListing
from kernelbench.report import counts, formats, tables, view
from kernelbench.report.table_widths import Table
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from rich.console import RenderableType

NOTE = (
    "The simulator counts what the PTX does, summed over all launches. 'At least' is a bound: no run with a cleared L2 "
    "takes less. It is no estimate of the time, and does not say which kernel is faster."
)
DECISIONS = {"confirmed": "holds", "contradicted": "does not hold", "not visible here": "not decided"}
CLAIM = ("claim", {"max_width": 22})
CONFIRMS = {"confirmed": "confirms", "contradicted": "contradicts"}


# ---- Terminal ------------------------------------------------------------------------------------


def case_parts(explained: CaseExplanation, title: str) -> Iterable[RenderableType]:
    """Everything that the terminal shows of a case: what counters say, then the counters."""
    from rich.text import Text

    yield Text(title, "bold")
    yield sentences_block(explained)
    yield case_table(explained)
    if explained.evidence:
        yield evidence_table(explained)
    for listing in explained.listings:
        yield listing_table(listing)


def case_table(explained: CaseExplanation) -> RenderableType:
    """A row per implementation, a column per metric that differs; as many columns side by side as fit."""
    from rich.text import Text

    cells = {
        METRICS[metric].header: [counts.page_cell(one, METRICS[metric])["text"] for one in explained.counted.values()]
        for metric in explained.metrics
    }
    if not cells:
        return Text(" no counter differs" if len(explained.counted) > 1 else "", "dim", end="")
    return tables.panel_tables("Counters", "implementation", list(explained.counted), cells)


def explanation_sentences(explained: CaseExplanation) -> list[tuple[str, str]]:
    """(implementation, what is said of it in one sentence); an implementation without one is left out."""
    return [(name, "; ".join(parts)) for name, parts in _said(explained) if parts]


def _said(explained: CaseExplanation) -> Iterable[tuple[str, Sequence[str]]]:
    said: dict[str, list[str]] = {name: [] for name in explained.counted}
    for sentence in explained.sentences:
        said[sentence.implementation].append(_with_links(sentence))
    for name, limit in explained.bounds.items():
        said[name].append(str(limit))
    return said.items()


def _with_links(sentence: Sentence) -> str:
    links = ", ".join(f"{CONFIRMS[link.decision]} {link.claim}" for link in sentence.links)
    return f"{sentence.text} ({links})" if links else sentence.text


def sentences_block(explained: CaseExplanation) -> RenderableType:
    """What is said of each implementation, a line each, then the implementations that were not counted."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    lines: list[Text | Padding] = []
    for name, parts in _said(explained):
        if len(parts) == 1:
            lines.append(Text.assemble((name, "bold"), f": {parts[0]}"))
        elif parts:
            lines += [Text(name, "bold"), *(Padding(Text(text), (0, 0, 0, 2)) for text in parts)]
    lines += [Text(f"{one.implementation}: {one.sampled}", "dim") for one in explained.counted.values() if one.sampled]
    lines += [Text(f"{name}: not counted, {reason}", "dim") for name, reason in explained.missing.items()]
    return Group(*(Padding(line, (0, 0, 0, 1)) for line in lines))


def evidence_table(explained: CaseExplanation) -> Table:
    """Each published statement with what the counters say of it."""
    rows = []
    for one in explained.evidence:
        word = tables.styled_cell(DECISIONS[one.decision], one.decision)
        rows.append((one.statement.claim, word, f"{one.statement.says} ({one.text})"))
    return tables.new_table("Published explanations", [CLAIM, ("counters", tables.WORD), ""], rows)


def statements_table(cases: Iterable[CaseExplanation], title: str) -> Table:
    """Each published statement over all cases: how often it is confirmed, and the numbers from least to most."""
    rows = []
    for one in evidence.across(found for case in cases for found in case.evidence):
        word = tables.styled_cell(DECISIONS.get(one.decision, "holds in part"), one.decision)
        says = f"{one.statement.says} ({one.numbers})" if one.seen else one.statement.says
        rows.append((one.statement.claim, word, str(one.seen), says))
    return tables.new_table(title, [CLAIM, ("counters", tables.WORD), ("cases", tables.NUMBER), ""], rows)


# ---- Source lines --------------------------------------------------------------------------------

_LINE_COLUMNS = ("line", "instr.", "lanes", "global", "sectors", "shared", "wavefronts", "local")


def listing_table(listing: SourceListing) -> Table:
    """The lines of one file that cost something; * marks those that cost most."""
    every = [(str(line.number or ""), *line_cells(line)) for line in listing.lines]
    used = [place for place in range(len(_LINE_COLUMNS)) if place == 0 or any(row[place] for row in every)]
    headers = [_LINE_COLUMNS[place] for place in used]
    cells = [[row[place] for place in used] for row in every]
    rows = [
        ("*" if line.top else "", *row, (line.text.strip(), "bold" if line.top else ""))
        for line, row in zip(listing.lines, cells, strict=True)
    ]
    title = f"{listing.implementation}: {listing.path.name}"
    kinds = [("", tables.WORD), *tables.table_columns(tables.NUMBER, *headers), "source"]
    return tables.new_table(title, kinds, rows)


def line_cells(line: Line) -> tuple[str, ...]:
    """Cells from the second of _LINE_COLUMNS on; sectors and wavefronts with their ratio to the fewest possible."""
    own = line.counters
    ideal = own.global_load_ideal_sectors + own.global_store_ideal_sectors + own.global_atomic_sectors
    shared_ideal = own.shared_load_ideal_wavefronts + own.shared_store_ideal_wavefronts
    shared_ideal += own.shared_copy_ideal_wavefronts + own.shared_atomic_requests
    local = own.local_load_requests + own.local_store_requests
    return (
        _count(own.warp_instructions),
        f"{own.lanes_per_instruction:.1f}" if own.warp_instructions else "",
        _count(own.global_requests),
        _excess(own.global_sectors, ideal),
        _count(own.shared_requests),
        _excess(own.shared_wavefronts, shared_ideal),
        _count(local),
    )


def _count(value: int) -> str:
    return count_text(value) if value else ""


def _excess(value: int, ideal: int) -> str:
    """`8.39 M`, or `8.39 M x8.0` if it is that many times the fewest."""
    if not value:
        return ""
    return count_text(value) + (f" x{digits(value / ideal, 2)}" if ideal and value > 1.05 * ideal else "")


# ---- Page ----------------------------------------------------------------------------------------


def section(run: Run, cases: Sequence[CaseExplanation], source: str) -> dict[str, Any]:
    """Each case as the template needs it: its table, sentences and evidence, with measured times beside them. `source`:
    whose counts they are from."""
    times = {(row.case, row.implementation): view.median_seconds(row) for row in view.shown_rows(run, cache="cold")}
    return {"source": source, "cases": [_page_case(one, times) for one in cases]} if cases else {}


def _page_case(explained: CaseExplanation, times: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    case = explained.case
    return {
        "case": case,
        "timed": any((case, name) in times for name in explained.counted),
        "gpu": next((limit.gpu for limit in explained.bounds.values()), ""),
        "metrics": [METRICS[metric] for metric in explained.metrics],
        "rows": [_page_row(explained, one, times.get((case, name))) for name, one in explained.counted.items()],
        "sentences": explanation_sentences(explained),
        "evidence": explained.evidence,
    }


def _page_row(explained: CaseExplanation, one: Counted, seconds: float | None) -> dict[str, Any]:
    limit = explained.bounds.get(one.implementation)
    return {
        "implementation": one.implementation,
        "cells": [counts.page_cell(one, METRICS[metric]) for metric in explained.metrics],
        "time": time_text(seconds),
        "seconds": "" if seconds is None else f"{seconds:.4g}",
        "bound": time_text(limit.seconds) if limit else "",
        "bound_seconds": f"{limit.seconds:.4g}" if limit else "",
        "resource": limit.resource if limit else "",
        "sampled": one.sampled,
    }


# ---- For programs ----------------------------------------------------------------------------------------


def as_json(explained: Sequence[CaseExplanation]) -> str:
    """All metrics, sentences, bounds and evidence, and the launches with hardware counters; numbers that do not apply
    are null."""
    return formats.as_json([_plain(one) for one in explained])


def explanation_rows(explained: CaseExplanation) -> list[dict[str, Any]]:
    """A row per implementation: every metric, the bound, and what is said of it."""
    said = dict(explanation_sentences(explained))
    found = []
    for name, one in explained.counted.items():
        limit = explained.bounds.get(name)
        found.append(
            {"suite": explained.suite, "case": explained.case, "implementation": name, "sampled": one.sampled}
            | {metric: one.value(metric) for metric in METRICS}
            | {"bound_s": limit.seconds if limit else None, "bound_by": limit.resource if limit else ""}
            | {"sentences": said.get(name, "")}
        )
    return found


def _plain(explained: CaseExplanation) -> dict[str, Any]:
    return {
        "case": explained.case,
        "implementations": {
            name: {
                "metrics": {metric: one.value(metric) for metric in METRICS},
                "sampled": one.sampled,
                "sentences": [
                    {"rule": said.rule, "text": said.text, "claims": {link.claim: link.decision for link in said.links}}
                    for said in explained.sentences
                    if said.implementation == name
                ],
                "bound_s": limit.seconds if limit else None,
                "bound_by": limit.resource if limit else None,
                "issue_s": limit.issue_seconds if limit else None,
            }
            for name, one in explained.counted.items()
            for limit in [explained.bounds.get(name)]
        },
        "differing": list(explained.metrics),
        "evidence": [
            {"claim": one.statement.claim, "says": one.statement.says, "decision": one.decision, "text": one.text}
            for one in explained.evidence
        ],
        "missing": dict(explained.missing),
        **({"hardware": [vars(one) for one in explained.launches]} if explained.launches else {}),
    }


def run_explanations(run: Run, ledger: Mapping[str, Claim]) -> tuple[list[CaseExplanation], str]:
    """Explanations of the run's cases, in its order, and the source of their counts."""
    from kernelbench.compare.ledger import claims_about
    from kernelbench.devices.known import gpu_of_run
    from kernelbench.explain import explain_case

    counted, source = counts_of(run)
    operations = {row.case: row.operation for row in run.rows}
    gpu, found = gpu_of_run(run.device), []
    for case, implementations in counted.items():
        with_gpu = {name: replace(one, gpu=gpu) for name, one in implementations.items()}
        found.append(explain_case(case, with_gpu, gpu, claims_about(ledger, operations[case], run.suite)))
    return found, source
