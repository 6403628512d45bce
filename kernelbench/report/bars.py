"""The chart of speed-ups: bars measured here, beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernelbench.report import style, view
from kernelbench.report.style import INK, PAPER, SOFT, WIDTH

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kernelbench.results import Run

BARS_PER_PANEL = 40  # bars beside one another that can still be told apart


def speedup_figure(run: Run, comparison: pandas.DataFrame, cache: str) -> Figure:
    """Bars for each case: speed-up over the baseline measured here, the published one hatched beside it."""
    from matplotlib.figure import Figure

    table = comparison[(comparison["cache"] == cache) & comparison["speedup"].notna()]
    own = set(table["baseline"])
    colours = style.colours(view.highlights(run, comparison))  # as in the other charts
    colours = {name: colour for name, colour in colours.items() if name not in own}
    bars = [row for row in view.records(table) if row["implementation"] in colours]
    panels = _panels(bars, run.rows.drop_duplicates("case").set_index("case")["dtype"].to_dict())
    with style.settings():
        figure = Figure(
            figsize=(WIDTH, (2.9 if len(panels) < 3 else 2.4) * max(len(panels), 1) + 0.4), layout="constrained"
        )
        axes = figure.subplots(max(len(panels), 1), 1, squeeze=False, sharey=True)[:, 0]
        widest = max((len(cases) for _, cases in panels), default=1)
        for axis, (dtype, cases) in zip(axes, panels, strict=False):
            labels = view.case_labels(case for other, of_panel in panels for case in of_panel if other == dtype)
            _panel(axis, [row for row in bars if row["case"] in cases], labels, colours, max(widest, 3))
            axis.set_ylabel(f"speed-up over {view.baselines(table)}")
            axis.set_title(f"{dtype}, {cache}")
        _legend(figure, bars, colours)
        style.settle(figure)
    return figure


def _panels(bars: Sequence[dict[str, Any]], dtypes: dict[str, str]) -> list[tuple[str, list[str]]]:
    """(dtype, cases) of each panel: cases of one dtype, as many as leave room for their bars."""
    count: dict[str, int] = {}
    for row in bars:
        count[row["case"]] = count.get(row["case"], 0) + 1 + (row["published_speedup"] is not None)
    room = max(1, BARS_PER_PANEL // max(count.values(), default=1))
    panels = []
    for dtype in dict.fromkeys(dtypes[case] for case in count):
        cases = [case for case in count if dtypes[case] == dtype]
        rows = -(-len(cases) // room)
        each = -(-len(cases) // rows)  # as even as can be
        panels += [(dtype, cases[start : start + each]) for start in range(0, len(cases), each)]
    return panels


def _panel(
    axis: Axes, bars: Sequence[dict[str, Any]], labels: dict[str, str], colours: dict[str, str], room: int
) -> None:
    cases = list(dict.fromkeys(row["case"] for row in bars))
    order = list(colours)
    for place, case in enumerate(cases):
        shown: list[tuple[dict[str, Any], bool]] = []
        of_case = [row for row in bars if row["case"] == case]
        for row in sorted(of_case, key=lambda row: order.index(row["implementation"])):
            shown += [(row, False)] + ([(row, True)] if row["published_speedup"] is not None else [])
        width = min(0.8 / max(len(shown), 1), 0.16)
        for number, (row, published) in enumerate(shown):
            at = place + (number - (len(shown) - 1) / 2) * width
            _bar(axis, at, width, row, colours[row["implementation"]], published)
    axis.axhline(1, color=INK, linewidth=1.0)
    axis.set_xlim(-0.5, room - 0.5)
    style.case_ticks(axis, [labels[case] for case in cases])
    axis.tick_params(axis="x", length=0)
    axis.grid(axis="x", visible=False)


def _bar(axis: Axes, place: float, width: float, row: dict[str, Any], colour: str, published: bool) -> None:
    ratio = row["published_speedup"] if published else row["speedup"]
    if published:
        axis.bar(place, ratio, 0.88 * width, facecolor=PAPER, edgecolor=colour, hatch="////", linewidth=0.9)
    else:
        axis.bar(place, ratio, 0.88 * width, color=colour)
        if row["speedup_low"] is not None and row["speedup_high"] is not None:
            axis.vlines(place, row["speedup_low"], row["speedup_high"], color=INK, linewidth=1.0)
    if published or row["published_speedup"] is not None:
        top = ratio if published else max(ratio, row["speedup_high"] or ratio)
        axis.annotate(
            view.ratio(ratio), (place, top), xytext=(0, 2), textcoords="offset points", ha="center", zorder=5,
            fontsize=7.5, color=SOFT if published else INK,
            # Wider than its bar, it must stay readable before the next one.
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6} if published else None,
        )  # fmt: skip


def _legend(figure: Figure, bars: Sequence[dict[str, Any]], colours: dict[str, str]) -> None:
    """Names of the colours above the panels; hatching named by the GPU that the figures are from."""
    from matplotlib.patches import Patch

    present = {row["implementation"] for row in bars}
    handles = [Patch(color=colour, label=name) for name, colour in colours.items() if name in present]
    devices = dict.fromkeys(
        view.text(row["published_device"]) or "device not stated" for row in bars if row["published_speedup"]
    )
    handles += [
        Patch(facecolor=PAPER, edgecolor=SOFT, hatch="////", label=f"published, {device}") for device in devices
    ]
    if handles:
        length = sum(len(str(handle.get_label())) + 6 for handle in handles)
        ncols = len(handles) if length < 125 else max(1, len(handles) // 2)
        figure.legend(
            handles=handles, loc="outside upper left", ncols=ncols, frameon=False, fontsize=8.5, handlelength=1.2
        )
