"""Where things come from, for the HTML page: implementations with their origins, published figures with citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelbench.compare.step_sums import step_of
from kernelbench.core.units import bytes_text, rate_text, share_text, time_text
from kernelbench.report import view

if TYPE_CHECKING:
    import pandas

    from kernelbench.core.records import Claim
    from kernelbench.runs.results import Run


@dataclass(frozen=True)
class Published:
    """Ledger entries with their numbers. The page shows those that the run's claims and comparison name.

    `figures` has one row a published number: claim, what, shape, axis, dtype, implementation, device, published_s,
    moved_bytes, bytes_per_s, share_of_peak.
    """

    claims: Sequence[Claim] = ()
    figures: pandas.DataFrame | None = None
    flag_meanings: Mapping[str, str] = field(default_factory=dict)


def implementations(run: Run) -> list[dict[str, Any]]:
    """Who was measured and whose algorithm it is."""
    described = run.environment.get("implementations") or {}
    names = dict.fromkeys([*run.table["implementation"], *described])
    if step_of(run):  # its names are of several operations
        names = dict.fromkeys([*(run.table["operation"] + "/" + run.table["implementation"]), *described])
    lines = []
    for name in names:
        about = described.get(name) or {}
        origin = about.get("origin") or {}
        words = (about.get("role"), about.get("arithmetic") and f"{about['arithmetic']} arithmetic")
        lines.append(
            {
                "name": name,
                "summary": view.text(about.get("summary")),
                "kind": ", ".join(word for word in words if word),
                "project": view.text(origin.get("project")),
                "url": view.text(origin.get("url")),
                "commit": view.text(origin.get("commit")),
                "differs": view.text(origin.get("differs")),
            }
        )
    return lines


def published(source: Published, run: Run, verdicts: Sequence[view.Verdict], comparison: pandas.DataFrame) -> list[Any]:
    """The ledger entries that this run is held against: citation, flags, and every published number."""
    wanted = {verdict.id for verdict in verdicts} | set(map(view.text, comparison["claim"]))
    wanted |= set(map(str, run.environment.get("claims") or ()))
    entries = []
    for claim in source.claims:
        if claim.id not in wanted:
            continue
        document = claim.document
        figures = source.figures[source.figures["claim"] == claim.id] if source.figures is not None else None
        entries.append(
            {
                "id": claim.id,
                "title": claim.title,
                "citation": {
                    key: view.text((document.get("citation") or {}).get(key))
                    for key in ("project", "document", "section", "url", "commit")
                },
                "device": view.text((document.get("device") or {}).get("name")) or "not stated",
                "facts": [(key, view.text(document.get(key))) for key in ("tool", "clock", "cache", "input")],
                "flags": [(flag, source.flag_meanings.get(flag, "")) for flag in document.get("flags") or ()],
                "note": view.text(document.get("note")),
                "figures": [] if figures is None else [_figure(row) for row in view.records(figures)],
            }
        )
    return entries


def _figure(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "shape": " ".join(part for part in (row["shape"] or "not stated", row["what"] or "") if part),
        "dtype": row["dtype"] or "",
        "implementation": row["implementation"],
        "time": time_text(row["published_s"]),
        "bytes": bytes_text(row["moved_bytes"]),
        "rate": rate_text(row["bytes_per_s"]),
        "share": share_text(row["share_of_peak"]),
    }
