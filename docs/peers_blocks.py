"""The tables of docs/kernels.md of our own kernels beside libraries, from the recorded runs of suites `peers_*`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import geometric_mean

from kernelbench.core.units import time_column
from kernelbench.report import peer_texts, peers, view
from kernelbench.runs.results import Run, read_run
from kernelbench.runs.row_records import Row

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
ELEMENTWISE = ("relu", "multiply", "dropout_add", "relu_grad", "bias_add")
MOST_CASES = 30  # of a table: a sweep has a page of its own
SHORT_SHARE, BEHIND = 0.85, 0.97  # a case is short below this share of the copy, or this ratio to the best peer
DRAWS = "draw_"  # what the names of suites drawn at random begin with
FAR_BEHIND = 0.95  # of a run with more cases, only those below this ratio to the best peer have a line
LITTLE_BEHIND = 0.98  # counted beside FAR_BEHIND where two GPUs are compared
# Recorded on two GPUs:
BOTH = (
    "peers_softmax",
    "peers_softmax_sweep",
    "peers_log_softmax",
    "draw_rows",
    "draw_rows_unseen",
    "draw_axis_unseen",
)


def peers_blocks(results: Path = RESULTS) -> Mapping[str, str]:
    """A block for each recorded suite, and one for what element-wise ones say first."""
    runs = shown_runs(results)
    blocks = {name: peers_block(run) for name, run in runs.items()}
    both = both_gpus_block(results)
    return {**blocks, "elementwise": elementwise_block(runs), "short": short_block(runs), "both_gpus": both}


def shown_runs(results: Path) -> Mapping[str, Run]:
    """The latest run of each suite in RESULTS/<gpu>/peers, by name."""
    found = results.glob("*/peers/*/environment.json")
    started = sorted((json.loads(path.read_text())["started"], path.parent) for path in found)
    by_name = {folder.name: folder for _, folder in started}  # the last of a name stays
    return {name: read_run(by_name[name]) for name in sorted(by_name)}


def both_gpus_block(results: Path) -> str:
    """A line per suite of BOTH and GPU: how often the best peer is ahead, and by how much."""
    lines = ["| suite | GPU | cases | ahead, mean | least | a peer more than 2 % ahead | 5 % |"]
    lines.append("|---|---|--:|--:|--:|--:|--:|")
    for name in BOTH:
        for run in map(read_run, sorted(path.parent for path in results.glob(f"*/peers/{name}/environment.json"))):
            ahead = [pair.ahead for pair in peers.peer_cases(run)]
            ratios = (view.ratio_text(geometric_mean(ahead)), view.ratio_text(min(ahead)))
            behind = (str(sum(one < limit for one in ahead)) for limit in (LITTLE_BEHIND, FAR_BEHIND))
            lines.append(f"| `{name}` | {run.device} | {len(ahead)} | {' | '.join((*ratios, *behind))} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def elementwise_block(runs: Mapping[str, Run]) -> str:
    """A line per element-wise operation: how its best peer and the copy compare, over all cases of the recorded run."""
    lines = ["| operation | GPU | cases | ahead, mean | least | of the copy, least |", "|---|---|--:|--:|--:|--:|"]
    for name in ELEMENTWISE:
        run = runs.get(f"peers_{name}")
        if run and (found := peers.peer_cases(run)):
            ahead, shares = [pair.ahead for pair in found], [pair.share for pair in found if pair.share]
            ratios = (view.ratio_text(geometric_mean(ahead)), view.ratio_text(min(ahead)))
            share = f"{min(shares):.2f}" if shares else ""
            lines.append(f"| `{name}` | {run.device} | {len(found)} | {' | '.join(ratios)} | {share} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def short_block(runs: Mapping[str, Run]) -> str:
    """A line per case of any recorded suite `peers_*` in which ours are far from the copy or behind a peer; those of
    the draws are only counted."""
    lines = ["| operation | case | of the copy | best peer | ahead |", "|---|---|--:|---|--:|"]
    total = 0
    for run in (run for name, run in runs.items() if name.startswith("peers_")):
        rows, found = {row.case: row for row in run.rows}, peers.peer_cases(run)
        total += len(found)
        for pair in filter(_is_short, found):
            share = f"{pair.share:.2f}" if pair.share else ""
            cells = (_case_text(rows[pair.case]), share, f"`{pair.best.name}`", view.ratio_text(pair.ahead))
            lines.append(f"| `{rows[pair.case].operation}` | {' | '.join(cells)} |")
    if not total:
        return ""
    said = f"Ours reach less than {SHORT_SHARE} of the copy, or the best peer takes less than {BEHIND} of our time, on"
    said += f" {len(lines) - 2} of {total} cases of the suites `peers_*`"
    return "\n".join([f"{said}{_short_draws(runs)}:", "", *lines])


def _is_short(pair: peers.PeerCase) -> bool:
    return _is_far_from_copy(pair) or pair.ahead < BEHIND


def _is_far_from_copy(pair: peers.PeerCase) -> bool:
    return pair.share is not None and pair.share < SHORT_SHARE


def _short_draws(runs: Mapping[str, Run]) -> str:
    """How many cases drawn at random are short: the table of the others would be too long with them."""
    drawn = [pair for name, run in runs.items() if name.startswith(DRAWS) for pair in peers.peer_cases(run)]
    far = [pair.share for pair in drawn if pair.share is not None and _is_far_from_copy(pair)]
    if not far:
        return ""
    behind = sum(pair.ahead < BEHIND for pair in drawn)
    return (
        f". The same holds on {sum(map(_is_short, drawn))} of the {len(drawn)} cases of the draws: "
        f"{len(far)} reach less than {SHORT_SHARE} of the copy, {min(far):.2f} at the lowest, "
        f"and on {behind} a peer is that far ahead. "
        "The table leaves the draws out"
    )


def peers_block(run: Run) -> str:
    """What the report says first, and a line per case: ours, the copy, the best peer."""
    found, labels = peers.peer_cases(run), view.case_labels(view.words_by_case(run))
    said = " ".join(peer_texts.peer_sentences(run, found, labels))
    said = f"On an {run.device}: {said[0].lower()}{said[1:]}"
    if run.stopped:
        said += f" The run was stopped: {len(found)} of the suite's cases are in it."
    if missing := sorted({row.implementation for row in run.rows if row.role == "peer" and row.status == "skipped"}):
        said += f" Skipped there: {', '.join(missing)}."
    if len(found) > MOST_CASES:
        found = [pair for pair in found if pair.ahead < FAR_BEHIND]
        if not found:
            return said
        said += f" A peer is more than {1 / FAR_BEHIND - 1:.0%} faster on:".replace("%", " %")
    lines = ["| case | ours | of the copy | best peer | its time | ahead |", "|---|--:|--:|---|--:|--:|"]
    rows = {row.case: row for row in run.rows}
    time = time_column(side.seconds for pair in found for side in (pair.ours, pair.best))
    for pair in found:
        share = f"{pair.share:.2f}" if pair.share else ""
        cells = (
            _case_text(rows[pair.case]), time(pair.ours.seconds), share,
            f"`{pair.best.name}`", time(pair.best.seconds), view.ratio_text(pair.ahead),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([said, "", *lines])


def _case_text(row: Row) -> str:
    """`8192x4096 float32`; the axis where it is not the last, and nothing that the shape says."""
    words = {name: value for name, value in row.words.items() if f"{name}={value}" not in row.axes.split()}
    axis = f"axis {words['axis']}" if words.get("axis", "-1") != "-1" else ""
    rest = [f"{name} {value}" for name, value in words.items() if name not in ("shape", "axis", "dtype")]
    return " ".join(filter(None, (words["shape"], axis, *rest, words.get("dtype", ""))))
