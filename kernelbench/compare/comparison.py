"""The comparison within a run: its rows, and the files comparison.csv, claims.csv and claims.json."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

from kernelbench.compare.changes import Verdict
from kernelbench.compare.verdicts import ClaimVerdict
from kernelbench.core import columns
from kernelbench.core.columns import Count, Number, csv_column
from kernelbench.core.errors import ResultsError
from kernelbench.core.texts import csv_cell
from kernelbench.core.writing import write_whole

COMPARISON_FILE, CLAIMS_TABLE, CLAIMS_FILE = "comparison.csv", "claims.csv", "claims.json"


@dataclass(frozen=True, kw_only=True)
class ComparedRow:
    """One implementation on one case with one cache state, against the baseline.

    Fields are the columns of comparison.csv. None or '': not measured, not published or not counted; `reason` says why.
    """

    suite: Annotated[str, csv_column("name of the suite")]
    case: Annotated[str, csv_column("key of the case")]
    cache: Annotated[str, csv_column("cold or warm")]
    method: Annotated[str, csv_column("timing method of both sides")] = ""
    implementation: Annotated[str, csv_column("implementation that is compared")]
    baseline: Annotated[str, csv_column("implementation that it is compared with")]
    median_s: Annotated[Number, csv_column("median time of the implementation", "s")] = None
    baseline_s: Annotated[Number, csv_column("median time of the baseline", "s")] = None
    speedup: Annotated[Number, csv_column("baseline_s / median_s")] = None
    speedup_low: Annotated[Number, csv_column("lower end of its 95 % interval")] = None
    speedup_high: Annotated[Number, csv_column("upper end of its 95 % interval")] = None
    verdict: Annotated[Verdict | Literal[""], csv_column("FASTER or SLOWER than the baseline, the SAME, or UNSURE")] = (
        ""
    )
    more_samples: Annotated[
        Count, csv_column("further samples per side that would decide an UNSURE verdict; empty above 10000")
    ] = None
    shared_rounds: Annotated[Count, csv_column("rounds by which the interval is paired; empty if too few")] = None
    share_of_ceiling: Annotated[Number, csv_column("bandwidth over the bandwidth of the best copy on this GPU")] = None
    energy_j: Annotated[
        Number, csv_column("energy per call of the whole board, back to back; empty without run --energy", "J")
    ] = None
    bytes_per_j: Annotated[Number, csv_column("bytes_moved / energy_j", "B/J")] = None
    published_speedup: Annotated[
        Number, csv_column("published time of the baseline over published time of the implementation")
    ] = None
    published_device: Annotated[str, csv_column("GPU of the published figure")] = ""
    published_share: Annotated[Number, csv_column("bandwidth of the published time over the peak of that GPU")] = None
    claim: Annotated[str, csv_column("id of the ledger entry with the published figure")] = ""
    reason: Annotated[str, csv_column("why cells are empty, or a remark on the verdict")] = ""
    global_bytes: Annotated[
        Count, csv_column("simulator: global sectors loaded, stored and in atomics, times 32 bytes", "B")
    ] = None
    global_bytes_ratio: Annotated[
        Number, csv_column("global_bytes over those of the baseline; below 1 is less traffic")
    ] = None
    distinct_bytes: Annotated[Count, csv_column("simulator: read_once_bytes + written_once_bytes", "B")] = None
    distinct_bytes_ratio: Annotated[Number, csv_column("distinct_bytes over those of the baseline")] = None
    shared_wavefronts: Annotated[
        Count, csv_column("simulator: passes over the banks of shared memory, over all accesses")
    ] = None
    shared_wavefronts_ratio: Annotated[Number, csv_column("shared_wavefronts over those of the baseline")] = None
    warp_instructions: Annotated[Count, csv_column("simulator: PTX instructions executed, counted per warp")] = None
    warp_instructions_ratio: Annotated[Number, csv_column("warp_instructions over those of the baseline")] = None

    @property
    def is_baseline(self) -> bool:
        """Whether this is the measured baseline itself."""
        return self.implementation == self.baseline and self.median_s is not None


Comparison = Sequence[ComparedRow]
COMPARISON = columns.columns_of(ComparedRow)


def baseline_names(rows: Iterable[ComparedRow]) -> str:
    """Whom the speed-ups of these rows divide by."""
    return ", ".join(dict.fromkeys(row.baseline for row in rows))


def write_comparison(comparison: Comparison, verdicts: Sequence[ClaimVerdict], folder: Path) -> None:
    """Write comparison.csv, claims.csv and claims.json into `folder`."""
    rows = [asdict(row) for row in comparison]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / COMPARISON_FILE, _csv(rows, COMPARISON))
        write_whole(folder / CLAIMS_TABLE, _csv([claim_row(one) for one in verdicts], columns.CLAIMS))
        write_whole(folder / CLAIMS_FILE, _claims_json(verdicts))
    except OSError as error:
        raise ResultsError(
            f"{folder}: cannot write the comparison ({error.strerror}); choose a folder to write"
        ) from error


def _csv(rows: Iterable[Mapping[str, Any]], listed: tuple[columns.Column, ...]) -> str:
    import pandas

    cells = [
        {name: csv_cell(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    ]
    table = pandas.DataFrame(cells, columns=columns.column_names(listed))
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
