"""The comparison within a run as text for programs and pull requests: CSV, JSON, Markdown."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kernelbench.compare import ClaimVerdict, ComparedRow
from kernelbench.compare.comparison import COMPARISON, baseline_names
from kernelbench.core import columns
from kernelbench.core.units import share_text, time_text
from kernelbench.report import formats, view
from kernelbench.runs.results import Run


def as_text(run: Run, rows: Sequence[ComparedRow], verdicts: Sequence[ClaimVerdict], form: str) -> str:
    """CSV: the rows, with the columns of comparison.csv. JSON: also the claims, as in claims.json. Markdown: both as
    tables for people."""
    if form == "markdown":
        return _markdown(run, rows, verdicts)
    names = columns.column_names(COMPARISON)
    records = [{name: getattr(row, name) for name in names} for row in rows]
    if form == "csv":
        return formats.as_csv(records, names)
    return formats.as_json(
        {
            "run": str(run.folder),
            "suite": run.suite,
            "device": run.device,
            "rows": records,
            "claims": list(map(asdict, verdicts)),
        }
    )


def _markdown(run: Run, rows: Sequence[ComparedRow], verdicts: Sequence[ClaimVerdict]) -> str:
    claims = [{"claim": one.id, "verdict": one.verdict, "on this GPU": one.sentence} for one in verdicts]
    labels = view.case_labels(view.words_by_case(run))
    parts = [formats.escaped(f"{run.suite} on {run.device}, speed-up over {baseline_names(rows)}")]
    parts += [formats.as_markdown(claims)] if claims else []
    parts += [formats.as_markdown([_cells(row, labels[row.case]) for row in rows])] if rows else []
    return "\n\n".join(parts)


def _cells(row: ComparedRow, case: str) -> dict[str, Any]:
    between = f"{row.speedup_low:.2f} .. {row.speedup_high:.2f}" if row.speedup_low and row.speedup_high else ""
    return {
        "case": case,
        "implementation": row.implementation,
        "cache": row.cache,
        "time": time_text(row.median_s),
        "speed-up": view.ratio_text(row.speedup),
        "95 % interval": between,
        "share of ceiling": share_text(row.share_of_ceiling),
        "published": view.ratio_text(row.published_speedup),
        "verdict": "baseline" if row.is_baseline else view.verdict_text(row.verdict, row.more_samples),
        "remark": row.reason,
    }
