"""docs/claims.md and the summary of it in README.md: what became of every published comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kernelbench.compare.recorded import Standing
from kernelbench.core.units import digits, share_text, time_text

OUTCOMES: Mapping[str, str] = {
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
    "not measured": "not decided",
}
FIGURES_SHOWN = 3  # published rows of a cell; kernelbench's ledger has all of them

HEAD = """\
# Published claims on an H200

Made by `docs/make.py` from the recorded runs in `results/h200/`, those of the simulator in `results/simulated/`, and
the ledger, `results/published/`. `kernelbench list claims` prints the verdicts, `kernelbench compare` those on a run of
your own; [Claims and the ledger](claims-and-ledger.md) says how each is reached. Times decide unless the verdict names
something else. What was published is in the ledger, every other number in the runs.
"""


def claims_page(standings: Sequence[Standing]) -> str:
    claimed = [one for one in standings if one.claim.suites]
    others = [one for one in standings if not one.claim.suites]
    parts = [HEAD, f"{summary(standings)}\n"]
    for document, own in _by_document(claimed).items():
        parts.append(f"## {document}\n\n{_claims_table(own)}\n")
    parts.append(f"## Figures without a claim\n\n{_figures_table(others)}\n")
    return "\n".join(parts)


def summary(standings: Sequence[Standing]) -> str:
    """`Of 47 published claims 25 hold, ..`, and which do not."""
    claimed = [one for one in standings if one.claim.suites]
    counts = Counter(one.verdict for one in claimed)
    said = [f"**{counts[outcome]} {words}**" for outcome, words in OUTCOMES.items()]
    others = len(standings) - len(claimed)
    return (
        f"Of {len(claimed)} published claims {', '.join(said[:-1])}, and {said[-1]}; "
        f"{others} further entries of the ledger are figures without a claim."
    )


def _by_document(standings: Sequence[Standing]) -> dict[str, list[Standing]]:
    """By source; those with most entries first, so that the documents that were reproduced precede their footnotes."""
    found: dict[str, list[Standing]] = {}
    for one in standings:
        citation = one.claim.document["citation"]
        found.setdefault(f"{citation['document']}, {citation['project']}", []).append(one)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _claims_table(standings: Sequence[Standing]) -> str:
    lines = ["| id | published | measured on an H200 | verdict | why |", "|---|---|---|---|---|"]
    for one in standings:
        claim = one.claim
        by = f", by {one.decided_by}" if one.decided_by != "times" and one.verdict != "not measured" else ""
        published = f"{claim.title}. {_published(one)}"
        cells = (f"`{claim.id}`", published, one.measured, f"**{one.verdict}**{by}", one.why)
        lines.append(_row(cells))
    return "\n".join(lines)


def _figures_table(standings: Sequence[Standing]) -> str:
    lines = ["| id | published | why nothing is claimed |", "|---|---|---|"]
    lines += [_row((f"`{one.claim.id}`", f"{one.claim.title}. {_published(one)}", one.measured)) for one in standings]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _published(one: Standing) -> str:
    """The claim in a few words, the figures if there are any, and the GPU."""
    document: Mapping[str, Any] = one.claim.document
    rows: Sequence[Mapping[str, Any]] = document.get("figures", ())
    device = document["device"]["name"]
    where = f"GPU {device}" if device.startswith("not stated") else device
    said = [_figure(row) for row in rows[:FIGURES_SHOWN]]
    if len(rows) > FIGURES_SHOWN:
        said.append(f"and {len(rows) - FIGURES_SHOWN} more")
    expected = document.get("claim", {}).get("expected", "")
    told = f"{'; '.join(said)}; {where}" if said else f"In words; {where}"
    return f"Must come out: {expected}. {told}." if expected else f"{told}."


def _figure(row: Mapping[str, Any]) -> str:
    """`32x64x16x16: ft 26.43 us, oneflow 9.66 us`."""
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
