"""Which charts a run has, and their files: time by size, speed-ups beside published ones, share of the ceiling, and
what the kinds of its claims call for; for a run of the simulator, what it counted."""

import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from kernelbench.compare.comparison import ComparedRow, Comparison, baseline_names
from kernelbench.compare.step_sums import sum_of
from kernelbench.compare.verdicts import ClaimVerdict
from kernelbench.core.errors import ResultsError, RunWarning
from kernelbench.core.records import Claim
from kernelbench.core.writing import write_whole
from kernelbench.explain.counted import CountedCases
from kernelbench.report import (
    claim_chart,
    copies,
    counts,
    ladders,
    palette,
    peers,
    settings,
    shares,
    step,
    style,
    sweeps,
    view,
)
from kernelbench.report.claim_chart import CLAIM_CHART, claim_figure
from kernelbench.report.drawing import Chart, draw_all
from kernelbench.report.heat import ceiling_figure
from kernelbench.report.line_charts import logarithmic_cases, time_figure
from kernelbench.report.origins import Published
from kernelbench.report.speedups import drawn_rows, speedup_figure
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row

# More would take minutes to draw, and nobody could read it. Recorded runs have up to 22, 110 and 440.
MOST_NAMES, MOST_CASES, MOST_ROWS = 200, 300, 2_000


def all_charts(
    run: Run,
    comparison: Comparison,
    published: Published | None = None,
    counted: CountedCases | None = None,
    verdicts: Sequence[ClaimVerdict] = (),
) -> list[Chart]:
    """Every chart that the run has data for. The kinds of its claims decide which charts fit: curves for a curve,
    ladders for an order, curves over numbered variants for the best or for all alike; bars else. And one per claim.


    `published` is the ledger, `counted` what the simulator counted of these cases, by case and implementation.
    """
    if problem := _too_many(run):
        warnings.warn(f"{run.folder}: no charts: {problem}", RunWarning, stacklevel=2)
        return []
    style.load_matplotlib()
    if summed := sum_of(run):  # a step's parts mean nothing but in their sum
        caption = "All calls of each operation, added up."
        return [Chart("step", step.title(summed), caption, partial(step.figure, summed))]
    published = published or Published()
    wanted = set(map(str, run.environment.get("claims") or ()))
    own = [claim for claim in published.claims if claim.id in wanted]
    rows = view.shown_rows(run, comparison)
    made = _curve_charts(run, comparison, own, counted or {}, _caches(rows))
    made += _peer_charts(run, comparison) + _ladder_charts(run, comparison, published) + _share_charts(run, comparison)
    on_curves = {case for sweep in sweeps.case_sweeps(view.words_by_case(run), own) for case in sweep.cases}
    on_curves |= shares.followed(run)
    families = settings.families(run, own)
    in_families = {name for family in families for name in (*family.members.values(), family.against)}
    yardsticks = {row.implementation for row in run.rows if row.role == "yardstick"}
    for cache in _caches(rows) if families else []:
        made.append(_settings_chart(run, comparison, families, cache))
    for cache in _caches(rows):
        if not {row.case for row in rows if row.cache == cache} <= on_curves:  # else every case is on a curve
            title = f"Time by size, {cache}"
            logarithmic = "both axes are" if logarithmic_cases(rows, cache) else "the axis of times is"
            caption = (
                f"Median time; {logarithmic} logarithmic. Hollow: timed by graph, else by events. Dashed: the copy, a "
                "yardstick. Dotted: an empty kernel by each method."
            )
            made.append(Chart(f"time-{cache}", title, caption, partial(time_figure, run, comparison, cache)))
    for cache in _caches([row for row in comparison if row.speedup is not None]):
        of_cache = [row for row in comparison if row.cache == cache]
        on_other_charts = {row.case for row in of_cache} <= on_curves
        if not (on_other_charts or {row.implementation for row in of_cache} <= in_families | yardsticks):
            made.append(_speedup_chart(run, comparison, cache))
    if any(row.share_of_ceiling is not None for row in rows):
        caption = (
            "Least traffic over time, in per cent of the ceiling, that of the best large copy in this run; cold. "
            "n/a: unsupported, or no time by the method that the others of its case are timed by."
        )
        made.append(Chart("ceiling", "Share of the ceiling", caption, partial(ceiling_figure, run, comparison)))
    made += counts.charts(run) + _claim_charts(verdicts, published)
    return list({chart.name: chart for chart in made}.values())


def _too_many(run: Run) -> str:
    """Why its charts would take minutes and gigabytes, or ''."""
    counts = (
        ("implementations", len(view.implementation_names(run)), MOST_NAMES),
        ("cases", len(view.words_by_case(run)), MOST_CASES),
        ("rows", len(run.rows), MOST_ROWS),
    )
    return next(
        (f"it has {count} {what}, charts show at most {most}" for what, count, most in counts if count > most), ""
    )


def _peer_charts(run: Run, comparison: Comparison) -> list[Chart]:
    """Who is ahead, for a run of our kernels and their peers."""
    found = peers.peer_cases(run)
    drawn = partial(shares.peer_figure, found, palette.looks(run, comparison))
    return [Chart(shares.PEER_CHART, shares.PEER_TITLE, shares.PEER_CAPTION, drawn)] if found else []


def _share_charts(run: Run, comparison: Comparison) -> list[Chart]:
    """For a run of our kernels and their peers: a chart per size that its cases vary."""
    caption = f"Cold time of the copy ({copies.note(run)}) over that of each. 1: as fast as a copy of the same bytes."
    return [
        Chart(
            f"share-{sweeps.name_in_file(along)}", f"Share of the copy by {along}", caption,
            partial(shares.share_figure, run, comparison, along, drawn),
        )
        for along, drawn in peers.curves(run).items()
    ]  # fmt: skip


def _claim_charts(verdicts: Sequence[ClaimVerdict], published: Published) -> list[Chart]:
    """One for each claim whose kind has a number per case, if any case has one."""
    kinds = {claim.id: claim.kind for claim in published.claims}
    return [
        Chart(
            f"{CLAIM_CHART}{one.id}", one.title, claim_chart.QUANTITIES[kinds[one.id]],
            partial(claim_figure, kinds[one.id], one),
        )
        for one in verdicts
        if kinds.get(one.id) in claim_chart.QUANTITIES and any(case.measured is not None for case in one.cases)
    ]  # fmt: skip


def _curve_charts(
    run: Run, comparison: Comparison, claims: Sequence[Claim], counted: CountedCases, caches: Sequence[str]
) -> list[Chart]:
    """Bandwidth along each parameter that a claim is about; counts alone where nothing was timed."""
    made = []
    for sweep in sweeps.case_sweeps(view.words_by_case(run), claims):
        below = " Below: counts of the simulator." if any(sweep.metrics) and counted else ""
        for cache in caches:
            if {row.case for row in run.rows if row.cache == cache and row.status == "ok"} & sweep.cases:
                title = f"Bandwidth by {sweep.along}, {cache}"
                ranges = " Grey bars: the range that the published claim allows." if cache == sweeps.JUDGED else ""
                caption = f"Least traffic over median time. Dashed: the copy, a yardstick.{ranges}{below}"
                figure = partial(sweeps.sweep_figure, run, comparison, sweep, cache, counted)
                made.append(Chart(f"bandwidth-{sweep.name}-{cache}", title, caption, figure))
        if not caches and sweeps.has_counts(sweep, counted):
            title, caption = f"Counts by {sweep.along}", "What the published explanation counts."
            figure = partial(sweeps.sweep_figure, run, comparison, sweep, "", counted)
            made.append(Chart(f"counts-{sweep.name}", title, caption, figure))
    return made


def _ladder_charts(run: Run, comparison: Comparison, published: Published) -> list[Chart]:
    made, looks = [], palette.looks(run, comparison)
    for number, ladder in enumerate(ladders.published_ladders(run, published.claims)):
        shown, cases = ladders.ladder_panels(run, comparison, ladder)
        measured = sum(not panel.published for panel in shown)
        if measured:
            ids = ", ".join(claim.id for claim in ladder.claims)
            some = f" {measured} of {cases} cases that are not near the floor." if measured < cases else ""
            hatched = " Hatched: published." if measured < len(shown) else ""
            caption = (
                f"Median time, cold, in the published order ({ids}), and how many times as fast each step makes it. "
                f"Each panel has its own scale.{hatched}{some}"
            )
            title = f"Step by step, {ladder.order[0]} to {ladder.order[-1]}"
            name = "ladder" if not number else f"ladder-{number + 1}"
            made.append(Chart(name, title, caption, partial(ladders.ladder_figure, ladder, shown, looks)))
    return made


def _settings_chart(run: Run, comparison: Comparison, families: Sequence[settings.Family], cache: str) -> Chart:
    against = ", ".join(dict.fromkeys(family.against for family in families))
    caption = f"Time of {against} over that of each variant, by the variant's setting. Above 1: the variant is faster."
    if any(family.allowed for family in families):
        caption += " Dotted: as fast as the published claim allows a variant to be."
    title = f"{' and '.join(family.stem for family in families)} against {against}, {cache}"
    figure = partial(settings.settings_figure, run, comparison, families, cache)
    return Chart(f"settings-{cache}", title, caption, figure)


def _speedup_chart(run: Run, comparison: Comparison, cache: str) -> Chart:
    title = f"Speed-up over {baseline_names(comparison)}, {cache}"
    caption = "Measured here, with the 95 % interval."
    if any(row.published_speedup for row in drawn_rows(run, comparison, cache)):
        caption += " Joined by dotted lines: published, on the GPU that the figures are from."
    return Chart(f"speedup-{cache}", title, caption, partial(speedup_figure, run, comparison, cache))


def _caches(rows: Iterable[Row | ComparedRow]) -> list[str]:
    """The cache states of these rows; only the two known ones, since they become file names."""
    return sorted({row.cache for row in rows} & {"cold", "warm"})


def write_charts(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Write charts as PNG and SVG into `folder`; the same data give the same bytes."""
    if folder.is_symlink():
        raise ResultsError(f"{folder}: a link; charts are written beside the page, so delete it or choose --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draw_all(charts)
        paths = []
        for chart in charts:
            png, svg = chart.drawn
            paths += [write_whole(folder / f"{chart.name}.png", png), write_whole(folder / f"{chart.name}.svg", svg)]
        return paths
    except OSError as error:
        raise ResultsError(
            f"{folder}: cannot write charts ({error.strerror}); choose another place with --out"
        ) from error
