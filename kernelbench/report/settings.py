"""Curves over variants of one kernel that are numbered by a setting, for claims that choose one or call all alike.

`waves_1`, `waves_2`, .. are a setting of 1, 2, ..: how fast each is against the one that the claim is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelbench.compare.comparison import Comparison
from kernelbench.core.records import Claim
from kernelbench.report import style, view
from kernelbench.report.style import HEAT, INK, MARKERS, PAPER, SOFT
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEMBERS = 3  # fewest of a family
NARROWEST = 0.1  # the vertical axis reaches at least this far to either side of 1; less would show noise


@dataclass(frozen=True)
class Family:
    """Implementations by their setting, and the one that they are compared with."""

    stem: str
    members: Mapping[int, str]
    against: str
    allowed: float | None  # how many times as fast as `against` the claim allows a variant to be


def families(run: Run, claims: Sequence[Claim]) -> list[Family]:
    """The families that claims of kind `near_best` or `level` are about."""
    present = {row.implementation for row in run.rows if row.status == "ok"}
    baseline = view.text_or_empty(run.environment.get("baseline"))
    found: dict[tuple[str, str], Family] = {}
    for claim in claims:
        stated = claim.document.get("claim", {})
        if claim.kind == "near_best":
            names, against, allowed = stated["alternatives"], stated["dispatched"], 1 + stated["size"]["within"]
        elif claim.kind == "level":
            names, allowed = stated["names"], None
            against = baseline if baseline in names else names[0]
        else:
            continue
        if against in present:
            for stem, members in _numbered([name for name in names if name in present]).items():
                found.setdefault((stem, against), Family(stem, members, against, allowed))
    return list(found.values())


def _numbered(names: Sequence[str]) -> dict[str, dict[int, str]]:
    """Group names by what precedes their number; drop groups of fewer than three."""
    found: dict[str, dict[int, str]] = {}
    for name in names:
        if match := re.fullmatch(r"(.+)_(\d+)", name):
            found.setdefault(match[1], {})[int(match[2])] = name
    return {stem: dict(sorted(members.items())) for stem, members in found.items() if len(members) >= MEMBERS}


def settings_figure(run: Run, comparison: Comparison, shown: Sequence[Family], cache: str) -> Figure:
    """A row of panels per dtype, a panel per family, a line per case."""
    times: dict[str, dict[str, dict[str, float]]] = {}  # by dtype, case and implementation
    for row in view.shown_rows(run, comparison, cache):
        times.setdefault(row.dtype, {}).setdefault(row.case, {})[row.implementation] = view.median_seconds(row)
    words = view.words_by_case(run)
    looks = _looks({case: words[case] for of_dtype in times.values() for case in of_dtype})
    with style.new_figure(2.6 * len(times) + 0.5) as figure:
        grid = figure.subplots(len(times), len(shown), squeeze=False, sharey="row")
        for axes, (dtype, of_dtype) in zip(grid, times.items(), strict=True):
            for axis, family in zip(axes, shown, strict=True):
                _panel(axis, family, of_dtype, looks)
                axis.set_title(f"{family.stem}, {dtype}, {cache}", fontsize=9)
            low, high = axes[0].get_ylim()
            axes[0].set_ylim(min(low, 1 - NARROWEST), max(high, 1 + NARROWEST))
        against = ", ".join(dict.fromkeys(family.against for family in shown))
        figure.supylabel(f"times as fast as {against}", fontsize=9.5, color=SOFT)
        handles = {
            text: line for axis in grid.flat for line, text in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            handles=list(handles.values()), labels=list(handles), loc="outside right upper", frameon=False, fontsize=8,
        )  # fmt: skip
    return figure


def _looks(cases: Mapping[str, view.Words]) -> dict[str, dict[str, Any]]:
    """Cases that differ in their dtype alone look alike: each dtype has panels of its own. One hue for all, the fainter
    the later: colours are the names of implementations."""
    sizes = {case: view.other_words(words, "dtype") for case, words in cases.items()}
    labels = view.case_labels({size: dict(size) for size in sizes.values()}, view.number_text)
    distinct = list(labels)
    return {
        case: {
            "color": HEAT,
            "alpha": 1 - 0.7 * distinct.index(size) / len(distinct),
            "marker": MARKERS[distinct.index(size) % len(MARKERS)],
            "label": labels[size],
        }
        for case, size in sizes.items()
    }


def _panel(
    axis: Axes, family: Family, times: Mapping[str, Mapping[str, float]], looks: Mapping[str, Mapping[str, Any]]
) -> None:
    for case, of_case in times.items():
        base = of_case.get(family.against)
        points = {setting: base / of_case[name] for setting, name in family.members.items() if base and name in of_case}
        if points:
            axis.plot(
                list(points), list(points.values()), linewidth=1.5, markersize=4.5, markeredgecolor=PAPER,
                markeredgewidth=0.4, **looks[case],
            )  # fmt: skip
    axis.axhline(1, color=INK, linewidth=1.0, zorder=1)
    if family.allowed is not None:
        axis.axhline(family.allowed, color=SOFT, linewidth=1.0, linestyle=":", zorder=1)
        axis.annotate(
            "allowed", (0.995, family.allowed), xycoords=("axes fraction", "data"), xytext=(0, 2),
            textcoords="offset points", ha="right", fontsize=7.5, color=SOFT,
        )  # fmt: skip
    axis.set_xscale("log", base=2)
    axis.set_xticks(list(family.members), [str(setting) for setting in family.members])
    axis.set_xticks([], minor=True)
    axis.set_xlabel(family.stem)
