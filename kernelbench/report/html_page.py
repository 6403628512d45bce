"""The HTML page of a run, rendered and written: self-contained, offline, readable without scripts.

Suites, kernels and ledger may come from anywhere, so all their text is escaped, links must be http(s), and the page
forbids itself to load anything or to run any script but its own.
"""

import base64
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from kernelbench.compare.comparison import Comparison, baseline_names
from kernelbench.compare.step_sums import sum_of
from kernelbench.compare.verdicts import NOT_DECIDED, ClaimVerdict
from kernelbench.core.units import bytes_text, rate_text, share_text, time_text
from kernelbench.explain.findings import CaseExplanation
from kernelbench.report import counts, explanation, origins, page_sections, peer_texts, self_test, step, strips, view
from kernelbench.report.claim_chart import CLAIM_CHART
from kernelbench.report.claim_story import claim_story
from kernelbench.report.drawing import Chart
from kernelbench.report.origins import Published
from kernelbench.report.pages import page_asset, render_template, write_page
from kernelbench.report.shares import PEER_CHART
from kernelbench.report.speedups import SPEEDUP_CHART
from kernelbench.runs.results import ENVIRONMENT_FILE, SAMPLES_FILE, Run, results_file

MAX_BYTES = 3_000_000
PAGE_FILES = ("comparison.csv", "claims.csv")


def write_report(
    run: Run,
    comparison: Comparison,
    verdicts: Sequence[ClaimVerdict],
    out: Path,
    published: Published | None = None,
    drawn: Sequence[Chart] = (),
    explained: tuple[Sequence[CaseExplanation], str] = ((), ""),
) -> Path:
    """Write the page to `out`, below 3 MB: a run that is too large goes without the strips of its samples.

    `comparison` may be empty; so may `verdicts`. `published` may be the whole ledger,
    `drawn` are the charts of charts.all_charts, `explained` what the simulator counted.
    """
    given = run, comparison, verdicts, published or Published(), drawn, explained, data_files(run, out)
    text = render(*given)
    if len(text.encode()) >= MAX_BYTES:
        text = render(*given, with_strips=False)
    return write_page(out, text)


def render(
    run: Run,
    comparison: Comparison,
    verdicts: Sequence[ClaimVerdict],
    published: Published,
    drawn: Sequence[Chart] = (),
    explained: tuple[Sequence[CaseExplanation], str] = ((), ""),
    data: Sequence[tuple[str, str]] = (),
    with_strips: bool = True,
) -> str:
    """The page as text; `data` are names and addresses of the run's files."""
    labels = view.case_labels(view.words_by_case(run))
    charts = {chart.name: chart for chart in drawn}
    script = page_asset("page.js")
    values = {
        "script": script,
        "script_hash": "sha256-" + base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode(),
        "version": view.text_or_empty(run.environment.get("kernelbench")),
        "head": page_sections.header(run, comparison, verdicts),
        "data": data,
        "baseline": baseline_names(comparison),
        "claims": _claims(verdicts, published, run, labels, charts),
        "self_test": self_test.section(run),
        "step": step.section(sum_of(run)),
        "peers": peer_texts.section(run),
        "peer_chart": charts.get(PEER_CHART),
        "charts": _other_charts(drawn, with_answer=not verdicts),
        "explained": explanation.section(run, *explained),
        "rows": [] if run.simulated else page_sections.measurements(run, comparison, labels, with_strips),
        "counts": counts.page_table(run) if run.simulated else {},
        "counts_note": counts.note(run) if run.simulated else "",
        "with_strips": with_strips,
        "reach": f"{100 * strips.REACH:.0f} %",
        "problems": page_sections.problem_groups(run),
        "labels": labels,
        "launches": page_sections.launch_rows(run),
        "cases": [(label, key) for key, label in labels.items()],
        "implementations": origins.implementation_origins(run),
        "published": origins.published(published, run, verdicts, comparison),
        "environment": page_sections.environment(run),
        "commands": page_sections.repeat_commands(run, comparison),
    }
    return render_template("template.html.j2", values, {**_FILTERS, "label": lambda case: labels.get(case, case)})


def _claims(
    verdicts: Sequence[ClaimVerdict],
    published: Published,
    run: Run,
    labels: Mapping[str, str],
    charts: Mapping[str, Chart],
) -> list[dict[str, Any]]:
    """Each claim's story, with its chart where there is one; claims with a chart first, those not decided last."""
    entries = {claim.id: claim for claim in published.claims}
    found = [
        {
            "story": claim_story(entries[one.id], one, published.whys.get(one.id, ""), run.suite, labels),
            "chart": charts.get(f"{CLAIM_CHART}{one.id}"),
        }
        for one in verdicts
        if one.id in entries
    ]
    return sorted(found, key=lambda one: (one["story"].verdict.verdict == NOT_DECIDED, one["chart"] is None))


def _other_charts(drawn: Sequence[Chart], with_answer: bool) -> list[Chart]:
    """The charts that belong to no other section; if they hold the answer, the speed-ups come first."""
    others = [chart for chart in drawn if chart.name != PEER_CHART and not chart.name.startswith(CLAIM_CHART)]
    return sorted(others, key=lambda chart: chart.name != SPEEDUP_CHART) if with_answer else others


def data_files(run: Run, page: Path) -> list[tuple[str, str]]:
    """Names of the run's files, and of those beside the page, with their addresses as seen from the page."""
    places = [results_file(run.folder), run.folder / SAMPLES_FILE, run.folder / ENVIRONMENT_FILE]
    places += [page.parent / name for name in PAGE_FILES]
    start = page.parent.resolve()
    return [(path.name, quote(os.path.relpath(path.resolve(), start))) for path in places if path.is_file()]


def safe_link(url: str) -> str:
    """The address if it is a web page's, else '': `javascript:` and the like never become links."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:  # an unpaired bracket
        return ""
    return url.strip() if parts.scheme in ("http", "https") and parts.netloc else ""


_FILTERS: Mapping[str, Callable[[Any], Any]] = {
    "link": safe_link,
    "text": view.text_or_empty,
    "ratio": lambda value: "" if value is None else view.shown_ratio(value),
    "error": lambda value: "" if value is None else f"{value:.1e}",
    "loads": lambda loads: " ".join(f"{name}={count}" for name, count in loads.items()),
    "never_read": view.never_read,
    "tone": lambda decision: explanation.DECISIONS[decision].replace(" ", "-"),
    "time": time_text,
    "bytes": bytes_text,
    "rate": rate_text,
    "share": share_text,
}
