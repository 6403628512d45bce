"""The horizontal axis of a chart over cases: where each case stands, and what is written below it.

A suite's cases are seldom a list of names: most come in stretches that differ in one word of their keys alone, be it a
size, an offset or a number of warps. A stretch has its values as ticks and, once below them, what its cases share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from kernelbench.report import style, view
from kernelbench.report.view import Words, number_text, word_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.6  # gap between two stretches, as a share of the distance between two cases
LONG = 2.5  # mean number of cases per stretch that gives stretches captions
# Points: width of a character in a tick's label per point of font size, and the narrowest panel.
CHARACTER = 0.66
PANEL = 520
LINE = 8.5  # height of a line of small text
SLANTED = 0.64  # room between two turned labels, as a share of the distance between their ticks


@dataclass(frozen=True)
class Stretch:
    """Cases beside one another that differ in the word `along` alone; '' for a case by itself."""

    cases: Sequence[str]
    along: str
    values: Sequence[str]  # of `along`; none for a case by itself
    shared: Words  # what tells this stretch from others; for a case by itself, all its words

    @property
    def numbers(self) -> list[float] | None:
        """The values, if all are numbers in rising order."""
        try:
            found = [float(value) for value in self.values]
        except ValueError:
            return None
        rising = len(found) > 1 and all(left < right for left, right in pairwise(found))
        return found if self.along and rising else None


@dataclass(frozen=True)
class Layout:
    """The cases of a panel, side by side."""

    stretches: Sequence[Stretch]
    words: Mapping[str, Words]  # by case: those that tell it from others
    x: Mapping[str, float]  # by case
    captioned: bool  # whether stretches are long enough for captions

    @property
    def right(self) -> float:
        return max(self.x.values())

    def line_of(self, case: str) -> int | None:
        """The index of the stretch whose line goes through this case; None if its cases are mere names."""
        return next(
            (index for index, one in enumerate(self.stretches) if case in one.cases and one.numbers is not None), None
        )


def laid_out(cases: Mapping[str, Words]) -> Layout:
    """Place the cases in the given order, with gaps between stretches that have captions."""
    words = view.case_words(cases)
    found = stretches(words)
    captioned = len(cases) >= LONG * len(found)
    x: dict[str, float] = {}
    at = 0.0
    for one in found:
        for case in one.cases:
            x[case] = at
            at += 1.0
        at += GAP if captioned else 0.0
    return Layout(found, words, x, captioned)


def stretches(words: Mapping[str, Words]) -> list[Stretch]:
    """Start a new stretch where a second word changes, or numbers start again."""
    runs: list[tuple[str, list[str]]] = []
    for case in words:
        along = _differing(words[runs[-1][1][0]], words[case]) if runs else ""
        if along and runs[-1][0] in ("", along) and not _falls(words[runs[-1][1][-1]][along], words[case][along]):
            runs[-1] = (along, [*runs[-1][1], case])
        else:
            runs.append(("", [case]))
    return [
        Stretch(
            of_run,
            along,
            [words[case][along] for case in of_run if along],
            {name: value for name, value in words[of_run[0]].items() if name != along},
        )
        for along, of_run in runs
    ]


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> str:
    """The one word in which two cases differ, or ''."""
    if one.keys() != other.keys():
        return ""
    names = [name for name in one if one[name] != other[name]]
    return names[0] if len(names) == 1 else ""


def _falls(before: str, after: str) -> bool:
    return before.isdigit() and after.isdigit() and int(after) < int(before)


def ticks(axis: Axes, layout: Layout, room: float | None = None) -> None:
    """Draw ticks and captions on a panel that has room for `room` cases."""
    room = room or layout.right + 1
    if not layout.captioned:
        labels = [word_texts(words, number_text) for words in layout.words.values()]
        _name_ticks(axis, list(layout.x.values()), labels, room)
        return
    texts = [number_text(value) for one in layout.stretches for value in one.values or [""]]
    size = 8 if room <= 24 else 6.5
    longest = max(map(len, texts)) * CHARACTER * size
    turned = longest > 0.92 * PANEL / room
    axis.set_xticks(list(layout.x.values()), texts, fontsize=size, rotation=90 if turned else 0)
    for one in layout.stretches:
        _caption(axis, layout, one, 4 if not one.along else 9 + (longest if turned else size))


def _caption(axis: Axes, layout: Layout, one: Stretch, down: float) -> None:
    """Write what varies, and below it what the cases share; for a case by itself, its label."""
    places = [layout.x[case] for case in one.cases]
    lines = [one.along, *word_texts(one.shared, number_text)] if one.along else word_texts(one.shared)
    axis.annotate(
        "\n".join(lines), ((places[0] + places[-1]) / 2, 0), xycoords=("data", "axes fraction"), xytext=(0, -down),
        textcoords="offset points", ha="center", va="top", fontsize=7.5, color=style.SOFT, annotation_clip=False,
    )  # fmt: skip


def _name_ticks(axis: Axes, places: Sequence[float], labels: Sequence[Sequence[str]], room: float) -> None:
    """Draw a tick per case with its words stacked, or turned if they would run into the next label."""
    widest = max((len(word) for words in labels for word in words), default=0)
    turned = widest * CHARACTER * 8 > 0.95 * PANEL / room
    stacked = not turned or max(map(len, labels), default=1) * LINE < SLANTED * PANEL / room
    axis.set_xticks(
        places,
        [("\n" if stacked else " ").join(words) for words in labels],
        fontsize=7 if turned else 8,
        rotation=40 if turned else 0,
        ha="right" if turned else "center",
        rotation_mode="anchor" if turned else "default",
    )
