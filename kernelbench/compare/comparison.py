"""The comparison within a run: its rows, and the files comparison.csv, claims.csv and claims.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from kernelbench.compare.changes import Verdict
from kernelbench.compare.verdicts import ClaimVerdict
from kernelbench.core import columns
from kernelbench.core.errors import ResultsError
from kernelbench.core.texts import cell
from kernelbench.core.writing import write_whole

COMPARISON_FILE, CLAIMS_TABLE, CLAIMS_FILE = "comparison.csv", "claims.csv", "claims.json"


@dataclass(frozen=True)
class ComparedRow:
    """One implementation on one case with one cache state, against the baseline.

    Fields are the columns of comparison.csv, as `columns.COMPARISON` describes them. None or '': not measured, not
    published or not counted; `reason` says why.
    """

    suite: str
    case: str
    cache: str
    implementation: str
    baseline: str
    method: str = ""
    median_s: float | None = None
    baseline_s: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    verdict: Verdict | Literal[""] = ""
    more_samples: int | None = None
    shared_rounds: int | None = None
    share_of_ceiling: float | None = None
    energy_j: float | None = None
    bytes_per_j: float | None = None
    published_speedup: float | None = None
    published_device: str = ""
    published_share: float | None = None
    claim: str = ""
    reason: str = ""
    global_bytes: int | None = None
    global_bytes_ratio: float | None = None
    distinct_bytes: int | None = None
    distinct_bytes_ratio: float | None = None
    shared_wavefronts: int | None = None
    shared_wavefronts_ratio: float | None = None
    warp_instructions: int | None = None
    warp_instructions_ratio: float | None = None

    @property
    def is_baseline(self) -> bool:
        """Whether this is the measured baseline itself."""
        return self.implementation == self.baseline and self.median_s is not None


Comparison = Sequence[ComparedRow]


def baselines(rows: Iterable[ComparedRow]) -> str:
    """Whom the speed-ups of these rows divide by."""
    return ", ".join(dict.fromkeys(row.baseline for row in rows))


def write_comparison(comparison: Comparison, verdicts: Sequence[ClaimVerdict], folder: Path) -> None:
    """Write comparison.csv, claims.csv and claims.json into `folder`."""
    rows = [asdict(row) for row in comparison]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / COMPARISON_FILE, _csv(rows, columns.COMPARISON))
        write_whole(folder / CLAIMS_TABLE, _csv([claim_row(one) for one in verdicts], columns.CLAIMS))
        write_whole(folder / CLAIMS_FILE, _claims_json(verdicts))
    except OSError as error:
        raise ResultsError(
            f"{folder}: cannot write the comparison ({error.strerror}); choose a folder to write"
        ) from error


def _csv(rows: Iterable[Mapping[str, Any]], listed: tuple[columns.Column, ...]) -> str:
    import pandas

    cells = [{name: cell(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows]
    table = pandas.DataFrame(cells, columns=columns.names(listed))
    return str(table.to_csv(index=False, float_format="%.9g", lineterminator="\n"))


def claim_row(verdict: ClaimVerdict) -> dict[str, str]:
    """A verdict as a row of claims.csv; cells that do not apply are left out."""
    row = {name: getattr(verdict, name) for name in ("id", "title", "verdict", "sentence")}
    for name, part in (("direction", verdict.direction), ("size", verdict.size)):
        if part is not None:
            row[name] = part.answer
            row |= {f"{name}_{word}": getattr(part, word) for word in ("required", "by", "words")}
    return row


def _claims_json(verdicts: Sequence[ClaimVerdict]) -> str:
    """An end of a band without a limit is null: JSON has no infinity."""
    claims = [asdict(verdict) for verdict in verdicts]
    for case in (case for claim in claims for case in claim["cases"]):
        if case["required"] is not None:
            case["required"] = [end if isfinite(end) else None for end in case["required"]]
    return json.dumps(claims, indent=2, ensure_ascii=False) + "\n"
