"""Where things come from, for the HTML page: implementations with their origins, published figures with citations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelbench.compare.comparison import Comparison
from kernelbench.compare.ledger import published_figures
from kernelbench.compare.ledger_schema import FLAGS
from kernelbench.compare.step_sums import step_of
from kernelbench.compare.verdicts import ClaimVerdict
from kernelbench.core.libraries import PEER_PACKAGES
from kernelbench.core.records import Claim
from kernelbench.report import view
from kernelbench.runs.results import Run


@dataclass(frozen=True)
class Published:
    """Ledger entries, of which the page shows those that the run's claims and comparison name."""

    claims: Sequence[Claim] = ()
    whys: Mapping[str, str] = field(default_factory=dict)  # why a claim came out as it did, by its id


NOT_RECORDED = "version not recorded"


def version(run: Run, name: str) -> str:
    """`quack-kernels 0.6.1` for a peer of that name; '' for one whose package is not known."""
    packages = PEER_PACKAGES.get(name.rpartition("/")[2].partition("_")[0], ())
    known = run.environment.get("versions") or {}
    found = [f"{package} {known[package]}" for package in packages if package in known]
    return ", ".join(found) or (NOT_RECORDED if packages else "")


def implementation_origins(run: Run) -> list[dict[str, Any]]:
    """The implementations that were measured, and whose algorithm each is."""
    described = run.environment.get("implementations") or {}
    step = step_of(run)  # its names are of several operations
    measured = (f"{row.operation}/{row.implementation}" if step else row.implementation for row in run.rows)
    timed = {row.implementation for row in run.rows if row.role == "peer" and row.status == "ok"}
    lines = []
    for name in dict.fromkeys([*measured, *described]):
        about = described.get(name) or {}
        origin = about.get("origin") or {}
        words = (about.get("role"), about.get("arithmetic") and f"{about['arithmetic']} arithmetic")
        lines.append(
            {
                "name": name,
                "summary": view.text_or_empty(about.get("summary")),
                "kind": ", ".join(word for word in words if word),
                "project": view.text_or_empty(origin.get("project")),
                "url": view.text_or_empty(origin.get("url")),
                "commit": view.text_or_empty(origin.get("commit")),
                "differs": view.text_or_empty(origin.get("differs")),
                "version": version(run, name) if name.rpartition("/")[2] in timed else "",
            }
        )
    return lines


def published(
    source: Published, run: Run, verdicts: Sequence[ClaimVerdict], comparison: Comparison
) -> list[dict[str, Any]]:
    """The ledger entries that this run is held against: citation, flags, and every published number."""
    wanted = {verdict.id for verdict in verdicts} | {row.claim for row in comparison}
    wanted |= set(map(str, run.environment.get("claims") or ()))
    return [
        {
            "id": claim.id,
            "title": claim.title,
            "citation": claim.document["citation"],
            "note": claim.document["note"],
            "device": claim.document["device"]["name"],
            "facts": [(name, claim.document[name]) for name in ("tool", "clock", "cache", "input")],
            "flags": [(flag, FLAGS[flag]) for flag in claim.document["flags"]],
            "figures": published_figures(claim),
        }
        for claim in source.claims
        if claim.id in wanted
    ]
