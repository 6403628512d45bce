"""The page of a fleet, one offline HTML file, and the same as CSV and JSON beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernelbench.core.operations import key_words
from kernelbench.report import formats, view
from kernelbench.report.claim_story import SYMBOLS
from kernelbench.report.fleet_page_times import mean_texts
from kernelbench.report.fleet_page_view import ClaimLine, FleetView
from kernelbench.report.pages import render_template, write_page

PAGE = "report.html"


def write_fleet_page(shown: FleetView, facts: Mapping[str, str], notes: Sequence[str], out: Path) -> Path:
    """Write the page to `out`, and beside it claims.csv, means.csv, spread.csv, counts.csv and report.json.

    `facts`: name and value of what identifies the fleet; `notes`: what was said while it measured. ResultsError where
    a file cannot be written.
    """
    rows = fleet_tables(shown)
    beside = {f"{name}.csv": f"{formats.as_csv(own)}\n" for name, own in rows.items() if own}
    beside["report.json"] = f"{formats.as_json({**rows, 'versions': shown.versions, 'notes': notes})}\n"
    return write_page(out, _page(shown, facts, notes), beside)


def fleet_tables(shown: FleetView) -> dict[str, list[dict[str, Any]]]:
    """Rows of every table by name; an empty cell is what was not measured or is not decided."""
    return {
        "claims": [
            {
                "suite": line.suite,
                "claim": line.claim.id,
                "published_device": _published(line),
                "gpu": label,
                "verdict": one.verdict if one else "",
                "sentence": one.sentence if one else "",
            }
            for line in shown.claims
            for label, one in line.verdicts.items()
        ],
        "means": [
            {
                "suite": line.suite,
                "implementation": line.implementation,
                "gpu": label,
                "common_rows": line.rows,
                "share_of_ceiling": line.shares[label],
                "baseline": line.baseline,
                "speedup": line.speedups.get(label),
            }
            for line in shown.means
            for label in line.shares
        ],
        "spread": [
            {
                "suite": one.suite, "kind": one.kind, "gpu": one.label, "against": one.against,
                "time_ratio": one.mean, **{verdict.lower(): count for verdict, count in one.verdicts.items()},
                "outliers": one.named,
                "reason": one.reason,
            }
            for one in sorted(shown.spreads, key=lambda one: not one.verdicts)  # the first row names the columns
        ],
        "counts": [
            {
                "suite": line.suite,
                "case": line.case,
                "implementation": line.implementation,
                "count": line.name,
                "gpu": label,
                "value": value,
                "text": line.texts[label],
            }
            for line in (*shown.counts, *shown.bounds)
            for label, value in line.values.items()
        ],
    }  # fmt: skip


def _published(line: ClaimLine) -> str:
    return view.text_or_empty((line.claim.document.get("device") or {}).get("name")) or "not stated"


def _page(shown: FleetView, facts: Mapping[str, str], notes: Sequence[str]) -> str:
    suites = ", ".join(shown.suites) if len(shown.suites) < 5 else f"{len(shown.suites)} suites"
    cases: dict[str, dict[str, Mapping[str, str]]] = {}
    for line in (*shown.counts, *shown.bounds):
        cases.setdefault(line.suite, {})[line.case] = key_words(line.case)
    values = {
        "title": f"{suites} on {', '.join(shown.labels)}",
        "facts": facts,
        "notes": notes,
        "shown": shown,
        "labels": shown.labels,
        "several": len(shown.suites) > 1,
        "cases": {suite: view.case_labels(own) for suite, own in cases.items()},
        "claims": [_claim(line) for line in sorted(shown.judged, key=lambda line: not line.flip)],
        "means": [(line, mean_texts(line, shown.labels)) for line in shown.means],
        "spreads": [{**asdict(one), "ratio": view.ratio_text(one.mean)} for one in shown.spreads],
        "differing": shown.differing,
    }
    return render_template("fleet.html.j2", values)


def _claim(line: ClaimLine) -> dict[str, Any]:
    """A row of the first table: the published side, then a chip per GPU."""
    chips = [
        {"label": label, "symbol": SYMBOLS[one.verdict], "text": one.verdict, "tone": one.verdict.replace(" ", "-"),
         "sentence": one.sentence}
        if one else {"label": label, "symbol": "", "text": "not run", "tone": "not-decided", "sentence": ""}
        for label, one in line.verdicts.items()
    ]  # fmt: skip
    return {
        "suite": line.suite, "id": line.claim.id, "title": line.claim.title, "published": _published(line),
        "chips": chips, "flip": line.flip,
    }  # fmt: skip
