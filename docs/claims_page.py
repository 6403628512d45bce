"""docs/claims.md with a line per published comparison, docs/claims/ with a page of each, and README's summary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelbench.compare.ledger_schema import FLAGS
from kernelbench.compare.recorded import JudgedClaim, Standing
from kernelbench.compare.verdicts import VERDICTS, some_labels
from kernelbench.core.units import digits, share_text, time_text
from kernelbench.report import style
from kernelbench.report.claim_chart import QUANTITIES, claim_figure
from kernelbench.report.claim_story import CaseLine, ClaimStory, claim_story

WORDS: Mapping[str, str] = {
    "holds": "hold",
    "direction only": "hold in direction only",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
    "not decided": "are not decided",
}
CASES_SHOWN = 40  # lines of a page's table; claims.csv of the run has all of them

TITLE = "# Published claims on an H200\n"
HEAD = """\
Made by `docs/make.py` from the runs in `results/h200/` and `results/simulated/`, and from the ledger,
`results/published/`. Each claim has a page of its own: what was said, what was required, what came out, and why.
[Claims and the ledger](claims-and-ledger.md) says what the verdicts mean. `kernelbench compare` judges a run of yours.
"""


def claims_page(standings: Sequence[Standing]) -> str:
    claimed = [one for one in standings if one.claim.suites]
    others = [one for one in standings if not one.claim.suites]
    parts = [TITLE, f"{summary(standings)}\n", HEAD]
    for document, own in _by_document(claimed).items():
        parts.append(f"## {document}\n\n{_claims_table(own)}\n")
    parts.append(f"## Figures without a claim\n\n{_figures_table(others)}\n")
    return "\n".join(parts)


def summary(standings: Sequence[Standing]) -> str:
    """`25 of 47 published claims hold; ..`: a number per verdict that came out."""
    claimed = [one for one in standings if one.claim.suites]
    counts = Counter(one.verdict for one in claimed)
    first, *said = (outcome for outcome in VERDICTS if counts[outcome])
    more = [f"**{counts[outcome]}** {WORDS[outcome]}" for outcome in said]
    rest = "; " + ", ".join(more[:-1]) + (" and " if more[1:] else "") + more[-1] if more else ""
    others = len(standings) - len(claimed)
    return (
        f"**{counts[first]} of {len(claimed)} published claims {WORDS[first]}**{rest}. "
        f"{others} further entries of the ledger are figures without a claim."
    )


def claim_pages(standings: Sequence[Standing], folder: Path) -> dict[Path, str]:
    """The page of each claim and the chart of each of its runs, by the path that they go to."""
    pages: dict[Path, str] = {}
    for one in standings:
        if one.claim.suites:
            charts = {f"{one.claim.id}-{judged.suite}.svg": judged for judged in one.runs if _has_chart(one, judged)}
            pages[folder / f"{one.claim.id}.md"] = _claim_page(one, list(charts))
            for name, judged in charts.items():
                pages[folder / name] = style.svg(claim_figure(one.claim.kind, judged.verdict))
    return pages


def _has_chart(one: Standing, judged: JudgedClaim) -> bool:
    return one.claim.kind in QUANTITIES and any(case.measured is not None for case in judged.verdict.cases)


def _claim_page(one: Standing, charts: Sequence[str]) -> str:
    by = f", by {one.decided_by}" if one.decided_by != "times" and one.runs else ""
    parts = [f"# {one.claim.title}\n", f"**{one.verdict}**{by}: {one.measured}\n"]
    labels: Mapping[str, str] = {}
    stories = [claim_story(one.claim, judged.verdict, judged.why, judged.suite, labels) for judged in one.runs]
    pictures = {name: f"![Each case as measured, beside what was required]({name})\n" for name in charts}
    alone = len(pictures) == 1  # of several, each stands below the name of its suite
    parts += [*(pictures.values() if alone else ()), _said(one), _required(one)]
    for judged, told in zip(one.runs, stories, strict=True):
        parts.append(f"## What came out: {judged.suite}\n")
        name = f"{one.claim.id}-{judged.suite}.svg"
        parts += [pictures[name]] if name in pictures and not alone else []
        parts.append(_cases(told))
    if one.why:
        parts.append(f"## Why\n\n{one.why}\n")
    parts.append(_differs(one))
    commands = "\n".join(f"kernelbench run {suite}\nkernelbench compare {suite}" for suite in one.claim.suites)
    parts.append(f"## Again\n\n```sh\n{commands}\n```\n")
    return "\n".join(parts)


def _said(one: Standing) -> str:
    document = one.claim.document
    citation = document["citation"]
    link = citation["url"] if citation["url"].startswith("http") else ""
    where = f"[{citation['document']}]({link})" if link else citation["document"]
    asked = document["claim"]
    quotes = [asked[part]["stated"] for part in ("direction", "size") if "stated" in asked.get(part, {})]
    quotes += [document["said"]] if "said" in document else []
    quotes = [quote for quote in dict.fromkeys(quotes) if not any(quote in other != quote for other in quotes)]
    lines = ["## What was said\n", *(f"> {quote}\n" for quote in quotes), *_published(one)]
    facts = "; ".join(f"{name}: {_line(document[name])}" for name in ("tool", "clock", "cache", "input"))
    lines.append(
        f"{citation['project']}, {where}, {citation['section']}. GPU: {document['device']['name']}; {facts}.\n"
    )
    return "\n".join(lines)


def _required(one: Standing) -> str:
    lines = ["## What was required\n", "| | required | by whom | met |", "|---|---|---|---|"]
    for name, part in (("direction", one.direction), ("size", one.size)):
        if part is not None:
            words = f"“{part.words}”" if part.by == "stated" else part.words
            lines.append(_row((name, part.required, f"{part.by}: {words}", part.answer)))
    return "\n".join([*lines, ""]) if len(lines) > 3 else "## What was required\n\nNothing was judged.\n"


def _cases(told: ClaimStory) -> str:
    """A table without empty columns, then the cases that have no number, by reason."""
    if told.kind not in QUANTITIES:
        cases = _alike(told.cases)
        columns = {"case": "case", "met": "met", "text": "in words"}
    else:
        cases = tuple(line for line in told.cases if line.measured)
        columns = {"case": "case", "measured": f"measured: {QUANTITIES[told.kind]}", "interval": "95 % interval"}
        columns |= {"required": "required", "published": "published"}
        columns |= {"direction": "direction", "size": "size"} if len(told.parts) == 2 else {"met": "met"}
    shown = cases[:CASES_SHOWN]
    columns = {name: header for name, header in columns.items() if any(getattr(line, name) for line in shown)}
    left = ("case", "met", "direction", "size", "text")
    lines = [_row(list(columns.values())), f"|{'|'.join('---' if name in left else '--:' for name in columns)}|"]
    lines += [_row([getattr(line, name) for name in columns]) for line in shown]
    more = len(cases) - CASES_SHOWN
    said = [f"\nAnd {more} more cases."] if more > 0 else []
    without: dict[str, list[CaseLine]] = {}  # by the reason, whatever its numbers
    for line in told.cases:
        if told.kind in QUANTITIES and not line.measured:
            without.setdefault(re.sub(r"\d+", "#", line.text), []).append(line)
    said += [f"\nNot measured: {', '.join(one.case for one in own)}: {own[0].text}." for own in without.values()]
    return "\n".join([*(lines if shown else []), *said, ""])


def _alike(cases: Sequence[CaseLine]) -> Sequence[CaseLine]:
    """One line for all cases of which the same is told."""
    groups: dict[tuple[str, str], list[CaseLine]] = {}
    for line in cases:
        groups.setdefault((line.met, line.text), []).append(line)
    return [replace(own[0], case=some_labels([line.case for line in own])) for own in groups.values()]


def _differs(one: Standing) -> str:
    document = one.claim.document
    lines = [f"## What differs\n\n{_line(document['note'])}\n"]
    if "bent" in document:
        lines.append(f"Changed for the comparison: {_line(document['bent'])}\n")
    lines += [f"- `{flag}`: {FLAGS[flag]}" for flag in document["flags"]]
    return "\n".join([*lines, ""])


def _line(text: str) -> str:
    return " ".join(str(text).split())


def _by_document(standings: Sequence[Standing]) -> dict[str, list[Standing]]:
    """Entries by source. Sources with most entries come first, so that documents precede their footnotes."""
    found: dict[str, list[Standing]] = {}
    for one in standings:
        citation = one.claim.document["citation"]
        found.setdefault(f"{citation['document']}, {citation['project']}", []).append(one)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _claims_table(standings: Sequence[Standing]) -> str:
    lines = ["| claim | published | verdict | direction | size |", "|---|---|---|---|---|"]
    for one in standings:
        by = f", by {one.decided_by}" if one.decided_by != "times" and one.runs else ""
        link = f"[`{one.claim.id}`](claims/{one.claim.id}.md)"
        answers = [part.answer if part else "" for part in (one.direction, one.size)]
        lines.append(_row((link, one.claim.title, f"**{one.verdict}**{by}", *answers)))
    return "\n".join(lines)


def _figures_table(standings: Sequence[Standing]) -> str:
    lines = ["| id | published | why nothing is claimed |", "|---|---|---|"]
    lines += [_row((f"`{one.claim.id}`", one.claim.title, one.measured)) for one in standings]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _published(one: Standing) -> list[str]:
    """The figures of the entry, a line each."""
    document: Mapping[str, Any] = one.claim.document
    rows: Sequence[Mapping[str, Any]] = document.get("figures", ())
    return [*(f"- {_figure(row)}" for row in rows), ""] if rows else []


def _figure(row: Mapping[str, Any]) -> str:
    """`32x64x16x16: ft 26.43 µs, oneflow 9.66 µs`."""
    shape = "x".join(map(str, row["shape"])) if isinstance(row["shape"], list) else f"shape {row['shape']}"
    numbers = []
    for unit, text in _UNITS.items():
        numbers += [f"{name} {text(value)}" for name, value in row.get(unit, {}).items()]
        if numbers:
            break
    dtype = "" if row["dtype"] == "not stated" else f" {row['dtype']}"
    return f"{row.get('what') or shape + dtype}: {', '.join(numbers)}"


_UNITS = {
    "us": lambda value: time_text(value * 1e-6),
    "ms": lambda value: time_text(value * 1e-3),
    "gb_per_s": lambda value: f"{digits(value, 3)} GB/s",
    "percent_of_peak": lambda value: share_text(value / 100),
    "speedup": lambda value: f"{digits(value, 3)}x",
}
