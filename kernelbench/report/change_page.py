"""The HTML page of what changed between two runs: self-contained, offline, without scripts.

Runs may come from anywhere, so all their text is escaped, and the page forbids itself to load or to run anything.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

from kernelbench.compare.changes import Change, Changes, JudgedRow
from kernelbench.compare.claims import ClaimChange
from kernelbench.compare.verdicts import some_labels
from kernelbench.core.units import number_of
from kernelbench.report.change_page_chart import BY_SHARE, CHANGED, COUNTED, charts, ordered
from kernelbench.report.changes_table import change_columns, change_labels, not_compared_groups, percent_text
from kernelbench.report.pages import render_template, write_page

KERNELS, CONTROLS = "Kernels", "Libraries and copies"
_SPARE = ("95 % interval", "band %")  # columns that narrow windows leave out
_CLAIMS = 3  # that the answer names


@dataclass(frozen=True)
class RowNames:
    """Texts for the rows of a comparison: what all of them share is left out."""

    labels: dict[str, str]
    caches: bool  # whether rows differ in their cache state
    methods: bool

    @staticmethod
    def of(changes: Changes) -> RowNames:
        judged = changes.judged
        caches, methods = {row.cache for row in judged}, {row.method for row in judged}
        return RowNames(change_labels(changes), len(caches) > 1, len(methods) > 1)

    def where(self, row: Change) -> str:
        """`seq=16, cold, by graph`."""
        parts = [self.labels[row.case], row.cache if self.caches else ""]
        return ", ".join(part for part in (*parts, f"by {row.method}" if self.methods and row.method else "") if part)

    def whole(self, row: Change) -> str:
        return f"{row.implementation}, {self.where(row)}"


def write_change_page(
    changes: Changes, claims: Sequence[ClaimChange], suite: str, runs: tuple[str, str], out: Path
) -> None:
    """Write the page to `out`. `claims`: those with another verdict; `runs`: the names of the runs, to type again."""
    write_page(out, render(changes, claims, suite, runs))


def render(changes: Changes, claims: Sequence[ClaimChange], suite: str, runs: tuple[str, str]) -> str:
    names = RowNames.of(changes)
    changed = [row for verdict in CHANGED for row in ordered(changes, changes.of(verdict))]
    parts = {
        KERNELS: [row for row in changed if not changes.rank(row)],
        CONTROLS: [row for row in changed if changes.rank(row)],
    }
    broken = [row for row in changes.rows if row.is_broken]
    lone = [row for row in changes.without if bool(row.first_status) != bool(row.second_status)]
    rest = [row for row in changes.without if row not in broken and row not in lone]
    values = {
        "suite": suite,
        "sentences": change_sentences(changes, claims),
        "runs": (changes.first, changes.second),
        "by_share": changes.by_share,
        "charts": charts(changes, names.whole),
        "broken": not_compared_groups(broken, names.labels),
        "changed": {part: _table(rows, names, changes.by_share) for part, rows in parts.items() if rows},
        "parted": bool(parts[CONTROLS]),
        "undecided": _table(ordered(changes, changes.of("UNSURE")), names, changes.by_share),
        "claims": claims,
        "differences": changes.differences,
        "lone": not_compared_groups(lone, names.labels),
        "rest": not_compared_groups(rest, names.labels),
        "rest_rows": len(rest),
        "noise": changes.noise,
        "command": f"kernelbench compare {shlex.join(runs)} --all",
    }
    return render_template("change_page.html.j2", values)


def change_sentences(changes: Changes, claims: Sequence[ClaimChange] = ()) -> list[str]:
    """The answer: whose verdict changed, how many rows did and which one most, then how many did not."""
    name, total = RowNames.of(changes), len(changes.judged)
    found = [_sentence(changes, verdict, name, total) for verdict in CHANGED if changes.of(verdict)]
    undecided, same = (f"{len(changes.of(verdict))} {COUNTED[verdict]}" for verdict in ("UNSURE", "SAME"))
    rest = f"{same}, {undecided}."
    found = [*found, rest] if found else [f"No row changed by more than its noise: {rest}"]
    if claims:
        others = some_labels([f"{one.id} ({one.first}, then {one.second})" for one in claims], _CLAIMS)
        found.insert(0, f"{number_of(len(claims), 'published claim')} got another verdict: {others}.")
    broken = sum(row.is_broken for row in changes.rows)
    if broken:
        verb = "is" if broken == 1 else "are"
        found.insert(0, f"{number_of(broken, 'row')} worked in the first run and {verb} wrong or failed in the second.")
    return found


def _sentence(changes: Changes, verdict: Any, name: RowNames, total: int) -> str:
    """`9 of 218 rows are slower, 4 of them of kernels: the largest of these is ft, seq=512, with 290 % more time.`"""
    rows = ordered(changes, changes.of(verdict))
    kernels = sum(not changes.rank(row) for row in rows)
    top = rows[0] if kernels else max(rows, key=lambda row: abs(log(row.ratio)))
    largest = f"{percent_text(top.ratio).lstrip('+-')} %"
    if changes.by_share:
        word, by = BY_SHARE[verdict], f"by {largest}"
    else:
        word, by = COUNTED[verdict], f"with {largest} {'more' if verdict == 'SLOWER' else 'less'} time"
    verb = "is" if len(rows) == 1 else "are"
    most = name.whole(top)
    if len(rows) > 1:
        most = f"the largest {'of these ' if 0 < kernels < len(rows) else ''}is {most}"
    of_kernels = "" if kernels == len(rows) else f", {kernels or 'none'} of them of kernels"
    return f"{len(rows)} of {number_of(total, 'row')} {verb} {word}{of_kernels}: {most}, {by}."


def _table(rows: Sequence[JudgedRow], names: RowNames, by_share: bool) -> dict[str, Any]:
    """Headers with whether narrow windows show them, and the lines: name, place, verdict, cells, remark."""
    columns = {header: cell for header, cell in change_columns(rows, by_share).items() if header != "by"}
    return {
        "headers": [(header, header in _SPARE) for header in columns],
        "lines": [
            {
                "name": row.implementation,
                "where": names.where(row),
                "verdict": row.verdict,
                "cells": [cell(row) for cell in columns.values()],
                "remark": _remark(row),
            }
            for row in rows
        ],
    }


def _remark(row: JudgedRow) -> str:
    """What to know of a row: other code, more samples that would decide, and what disturbed it."""
    code = "" if row.code in ("", "same") else row.code
    more = f"about {row.more_samples} more samples in each run would decide" if row.more_samples else ""
    return "; ".join(part for part in (code, more, row.reason) if part)
