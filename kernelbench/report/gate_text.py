"""What a gate says: the answer in sentences, and all of it as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelbench.compare.changes import VERDICTS
from kernelbench.compare.gate import SHARE, CountDifference, GateResult, detectable_slowdown
from kernelbench.core.operations import key_words
from kernelbench.core.units import digits, number_of
from kernelbench.report import formats, view
from kernelbench.report.changes_table import change_labels, percent_text, regression_line
from kernelbench.report.changes_text import as_markdown as changes_markdown
from kernelbench.report.tables import list_table

if TYPE_CHECKING:
    from rich.console import RenderableType

COUNTS = ("case", "kernel", "count", "BASE", "HEAD", "change %")


def gate_sentences(found: GateResult) -> list[str]:
    """The answer first, then a line per regression, what the gate could have found, and what it left out."""
    labels = change_labels(found.changes) if found.changes else {}
    told = [_answer(found), *(regression_line(row, labels, with_band=True) for row in found.regressions)]
    least = detectable_slowdown(found.changes.judged) if found.changes else None
    if least is not None:
        share = f"{100 * SHARE:.0f} % of the timed rows"
        told.append(f"A slowdown of {digits(100 * least, 2)} % would have been found on {share}.")
    if found.equal and found.changes:
        told.append(f"Not measured, because both run the same machine code: {found.equal} of {_pairs(found)}.")
    return [*told, *found.notes]


def _answer(found: GateResult) -> str:
    if not found.pairs:
        return f"{found.suite}: no verdict. Neither version has a kernel that takes a case of it."
    if found.changes is None:
        return f"{found.suite}: no regression. BASE and HEAD run the same machine code, so nothing was measured."
    broken = sum(row.is_broken for row in found.changes.rows)
    works = f"{number_of(broken, 'row')} no longer {'works' if broken == 1 else 'work'}"
    if found.simulated:
        other, counted = found.pairs - found.equal, len({(one.case, one.implementation) for one in found.counts})
        regression = f"REGRESSION: {works}. " if broken else ""
        counts = f"the counts of {counted}" if counted else "no count"
        return (
            f"{found.suite}: {regression}HEAD changes the machine code or launches of {other} of {_pairs(found)}, and "
            f"{counts}. The simulator times nothing: it calls none faster or slower."
        )
    counts = ", ".join(f"{len(found.changes.of(verdict))} {verdict}" for verdict in VERDICTS)
    answer = "REGRESSION" if found.regressions else "no regression"
    told = f"{number_of(len(found.changes.judged), 'timed row')}: {counts}" + (f"; {works}" if broken else "")
    return f"{found.suite}: {answer} from BASE to HEAD on {found.device}. {told}."


def _pairs(found: GateResult) -> str:
    return f"{number_of(found.pairs, 'row')} (a kernel on a case)"


def counts_table(found: GateResult) -> RenderableType:
    return list_table(COUNTS, _counts(found.counts), "Counts that changed")


def _counts(counts: Sequence[CountDifference]) -> list[tuple[str, ...]]:
    labels = view.case_labels({one.case: key_words(one.case) for one in counts})
    return [
        (
            labels[one.case],
            one.implementation,
            one.what,
            str(one.base),
            str(one.head),
            percent_text(one.head / one.base) if one.base else "new",
        )
        for one in counts
    ]


def as_markdown(all_found: Sequence[GateResult]) -> str:
    """A section per suite: the answer, the regressions, what changed; the rest is folded away."""
    return "\n\n".join(_section(one) for one in all_found) + "\n"


def _section(found: GateResult) -> str:
    answer, *rest = (formats.escaped(line) for line in gate_sentences(found))
    parts = [f"### {formats.escaped(found.suite)}", f"**{answer}**"]
    parts += ["\n".join(f"- {line}" for line in rest)] if rest else []
    if found.counts:
        parts.append(formats.grid(COUNTS, _counts(found.counts), COUNTS[3:]))
    if found.changes and not found.simulated:
        parts.append(changes_markdown(found.changes, None))
    return "\n\n".join(parts)
