"""What README.md and the tutorial show of the recorded run: chart, table of times, and the terminal's answer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench.core.units import rate_text, share_text, time_column, time_text

if TYPE_CHECKING:
    from kernelbench.compare import ComparedRow
    from kernelbench.compare.answer import Answer

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "results" / "h200" / "softmax"
CHART = "docs/speedup.svg"
BASELINE, RIVAL = "ft", "oneflow"
TOLD = "seq=128"  # the case that the tutorial tells in words
SHOWN = ("compare", "results/h200/softmax", "--baseline", BASELINE, "--only", f"{RIVAL},copy")  # in the tutorial


def readme_blocks(run: Path) -> Mapping[str, str]:
    """Text of every block of README.md by name; each is empty while there is no such run."""
    if not run.is_dir():
        return dict.fromkeys(("chart", "times"), "")
    chart = f"![How many times as fast as FasterTransformer each softmax is on an H200]({CHART})"
    return {"chart": chart, "times": times_block(_answer(run))}


@cache
def _answer(run: Path) -> Answer:
    from kernelbench.compare.answer import judge_run
    from kernelbench.runs.results import read_run

    return judge_run(read_run(run), BASELINE)


def readme_chart(run: Path) -> Mapping[Path, str]:
    """README.md's chart by its path; nothing while there is no such run."""
    from kernelbench.report import style
    from kernelbench.report.speedups import speedup_figure

    if not run.is_dir():
        return {}
    return {ROOT / CHART: style.svg(speedup_figure(_answer(run).run, _answer(run).comparison, "cold"))}


def times_block(answer: Answer) -> str:
    """A row a case: both sides' times, their ratio, the published one, and how near a copy comes."""
    rows = [
        row
        for row in answer.comparison
        if row.cache == "cold" and row.implementation == RIVAL and row.speedup is not None
    ]
    shapes = {row.case: row.shape for row in answer.run.rows}
    time = time_column(seconds for row in rows for seconds in (row.baseline_s, row.median_s))
    published_on = next((row.published_device for row in rows if row.published_device), "elsewhere")
    lines = [
        f"| shape | FasterTransformer | OneFlow | speed-up | published, {published_on} | OneFlow, share of ceiling |",
        "|---|--:|--:|--:|--:|--:|",
        *(_times_line(row, shapes[row.case], time) for row in rows),
    ]
    return "\n".join([*lines, "", _conditions(answer, rows)])


def _times_line(row: ComparedRow, shape: tuple[int, ...], time: Callable[[float | None], str]) -> str:
    from kernelbench.report import view

    cells = (
        f"({', '.join(map(str, shape))})",
        time(row.baseline_s),
        time(row.median_s),
        f"**{view.ratio_text(row.speedup)}**",
        view.ratio_text(row.published_speedup) or "not published",
        share_text(row.share_of_ceiling),
    )
    return f"| {' | '.join(cells)} |"


def _conditions(answer: Answer, rows: Sequence[ComparedRow]) -> str:
    """Where and how the times of the table were taken."""
    state, limits = answer.run.environment, answer.run.environment["limits"]
    driver = f", driver {state['device']['driver']}" if "driver" in state["device"] else ""
    floors = {"graph": limits["graph_floor_s"], "events": limits["floor_s"]}
    counts = {method: sum(row.method == method for row in rows) for method in floors}
    methods = " and ".join(
        f"{count} rows by {method} (an empty kernel: {time_text(floors[method])})"
        for method, count in counts.items()
        if count
    )
    return (
        f"Medians on an {answer.run.device}{driver}, CUDA {state['versions']['nvcc']}, {state['started'][:10]}. "
        f"float32, the L2 cleared before every sample; {methods}. Ceiling: the best of several copies, "
        f"{rate_text(limits['dram_bytes_per_s'])}."
    )


def tutorial_blocks() -> Mapping[str, str]:
    return {"terminal": _terminal_block(), "walkthrough": _walkthrough_block()}


def _walkthrough_block() -> str:
    """One case of the table in words, with its numbers."""
    from kernelbench.report import view

    rows = {row.implementation: row for row in _answer(RECORDED).comparison
            if row.case.startswith(f"{TOLD} ") and row.cache == "cold"}  # fmt: skip
    own, copy = rows[RIVAL], rows["copy"]
    speedup, low, high = (value or 0.0 for value in (own.speedup, own.speedup_low, own.speedup_high))
    half = 100 * max(high - speedup, speedup - low) / speedup
    return (
        f"Take `{TOLD}`. OneFlow's kernel needs {time_text(own.median_s)} where FasterTransformer's needs "
        f"{time_text(own.baseline_s)},\nso the **speed-up** is {view.ratio_text(own.speedup)}. Its 95 % interval is "
        f"±{half:.1f} %, so the **verdict** is {own.verdict}.\nThe source published "
        f"{view.ratio_text(own.published_speedup)}, on an A100.\n\n`copy` moves the same bytes and computes nothing. "
        f"It needs {time_text(copy.median_s)}. The **ceiling** is the best bandwidth of several copies\nof 4 GiB on "
        f"this GPU: OneFlow's kernel runs at {share_text(own.share_of_ceiling)} of it, `copy` at "
        f"{share_text(copy.share_of_ceiling)}. What is left to gain is the rest."
    )


def _terminal_block() -> str:
    """What the tutorial's `kernelbench compare` prints, down to the verdicts on claims."""
    command = [sys.executable, "-m", "kernelbench", *SHOWN]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [line.rstrip() for line in printed.partition("\nPublished claims\n")[0].strip().splitlines()]
    return "\n".join(["```text", *lines, "```"])
