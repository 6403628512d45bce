"""The horizontal axis of a chart over cases: where each case stands, and what is written below it.

A suite's cases are seldom a list of names: most come in stretches that differ in one word of their keys alone, be it a
size, an offset or a number of warps. A stretch has its values as ticks and, once below them, what its cases share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, log2
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
CAPTION = 7.5  # size of the text below a stretch
LINE = 8.5  # height of a line of small text
SLANTED = 0.64  # room between two turned labels, as a share of the distance between their ticks
SPREAD = 8.0  # from this ratio of the largest number to the least on, distances are logarithmic
POINTS = 3  # fewest numbers of a stretch whose distances say something


@dataclass(frozen=True)
class CaseStretch:
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
class Curve:
    """Cases that differ in one parameter alone, by its value."""

    title: str
    points: Mapping[float, str]  # case keys, in rising order of the value
    shared: Words = field(default_factory=dict)  # all words of its cases but the parameter's


@dataclass(frozen=True)
class CaseLayout:
    """The cases of a panel, side by side."""

    stretches: Sequence[CaseStretch]
    words: Mapping[str, Words]  # by case: those that tell it from others
    x: Mapping[str, float]  # by case
    captioned: bool  # whether stretches are long enough for captions

    @property
    def right(self) -> float:
        return max(self.x.values())

    def line_of(self, case: str) -> int | None:
        """The index of the stretch whose line goes through this case; None if its cases are mere names."""
        if not self.captioned:
            return None
        return next(
            (index for index, one in enumerate(self.stretches) if case in one.cases and one.numbers is not None), None
        )


def laid_out(cases: Mapping[str, Words], to_scale: bool = False) -> CaseLayout:
    """Place the cases in the given order, with gaps between stretches that have captions.

    With `to_scale`, numbers lie at their true distances, in rising order: logarithmic ones where they span SPREAD.
    """
    words = view.case_words(cases)
    found = _joined(case_stretches(words), words, cases) if to_scale else case_stretches(words)
    captioned = len(cases) >= LONG * len(found)
    captioned |= to_scale and any(one.numbers is not None and len(one.cases) >= POINTS for one in found)
    x: dict[str, float] = {}
    start = 0.0
    for one, distances in zip(found, _distances(found, to_scale and captioned), strict=True):
        x |= {case: start + distance for case, distance in zip(one.cases, distances, strict=True)}
        start += distances[-1] + 1.0 + (GAP if captioned else 0.0)
    return CaseLayout(found, words, x, captioned)


# What the cases of one line share: the word that varies, all others, and the sides of the shape that stay.
_Group = tuple[str, frozenset[tuple[str, str]], tuple[str, ...]]


def _joined(found: Sequence[CaseStretch], words: Mapping[str, Words], cases: Mapping[str, Words]) -> list[CaseStretch]:
    """Merges stretches along the same numbers, wherever their cases are in the order. `cases`: all words of each."""

    def group(case: str, along: str) -> _Group:
        sides = (side for side in cases[case].get("shape", "").split("x") if side != words[case][along])
        return along, frozenset(view.other_words(words[case], along)), tuple(sides)

    known = {group(one.cases[0], one.along) for one in found if one.numbers is not None}
    points: dict[_Group, dict[float, str]] = {}
    joined: dict[_Group | int, CaseStretch] = {}
    for number, one in enumerate(found):
        first = words[one.cases[0]]
        names = [one.along] if one.along else [name for name, value in first.items() if value.isdigit()]
        same = next((key for name in names if (key := group(one.cases[0], name)) in known), None)
        if same is None:
            joined[number] = one
            continue
        along, of_group = same[0], points.setdefault(same, {})
        of_group |= {float(words[case][along]): case for case in one.cases}
        ordered = [of_group[value] for value in sorted(of_group)]
        shared = {name: value for name, value in first.items() if name != along}
        joined[same] = CaseStretch(ordered, along, [words[case][along] for case in ordered], shared)
    return list(joined.values())


def is_logarithmic(cases: Mapping[str, Words]) -> bool:
    """Whether `laid_out` with `to_scale` places all cases at logarithmic distances."""
    layout = laid_out(cases, to_scale=True)
    numbers = layout.captioned and all(one.numbers is not None for one in layout.stretches)
    return numbers and all(scale.logarithmic for scale in _scales(layout.stretches).values())


def _scales(found: Sequence[CaseStretch]) -> dict[str, _Scale]:
    """By what varies along the stretches."""
    known: dict[str, list[Sequence[float]]] = {}
    for one in found:
        if one.numbers is not None:
            known.setdefault(one.along, []).append(one.numbers)
    return {along: _Scale.of(numbers) for along, numbers in known.items()}


def _distances(found: Sequence[CaseStretch], to_scale: bool) -> list[list[float]]:
    """Distance of each case from the first of its stretch; all stretches along the same word have one scale."""
    scales = _scales(found) if to_scale else {}
    return [
        [float(place) for place in range(len(one.cases))]
        if one.numbers is None or one.along not in scales
        else scales[one.along](one.numbers)
        for one in found
    ]


@dataclass(frozen=True)
class _Scale:
    """A function from numbers to distances, so that neighbours are 1 apart on average."""

    logarithmic: bool
    factor: float

    @classmethod
    def of(cls, stretches: Sequence[Sequence[float]]) -> _Scale:
        least, most = min(map(min, stretches)), max(map(max, stretches))
        scale = cls(least > 0 and most >= SPREAD * least, 1.0)
        steps = sum(len(numbers) - 1 for numbers in stretches)
        return cls(scale.logarithmic, steps / sum(scale(numbers)[-1] for numbers in stretches))

    def __call__(self, numbers: Sequence[float]) -> list[float]:
        first = numbers[0]
        return [self.factor * (log2(number / first) if self.logarithmic else number - first) for number in numbers]


def case_stretches(words: Mapping[str, Words]) -> list[CaseStretch]:
    """Start a new stretch where a second word changes, or numbers start again."""
    runs: list[tuple[str, list[str]]] = []
    for case in words:
        along = _differing(words[runs[-1][1][0]], words[case]) if runs else ""
        if along and runs[-1][0] in ("", along) and not _falls(words[runs[-1][1][-1]][along], words[case][along]):
            runs[-1] = (along, [*runs[-1][1], case])
        else:
            runs.append(("", [case]))
    return [
        CaseStretch(
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


def case_ticks(axis: Axes, layout: CaseLayout) -> None:
    room = layout.right + 1  # for so many cases
    if not layout.captioned:
        labels = [word_texts(words, number_text) for words in layout.words.values()]
        _name_ticks(axis, list(layout.x.values()), labels, room)
        return
    texts = {
        case: number_text(value)
        for one in layout.stretches
        for case, value in zip(one.cases, one.values or [""], strict=True)
    }
    size = 8 if room <= 24 else 6.5
    kept = _kept({layout.x[case]: text for case, text in texts.items()}, LINE * room / PANEL)
    longest = max(map(len, kept.values())) * CHARACTER * size
    gap = min((right - left for left, right in pairwise(kept)), default=room)
    turned = longest > 0.92 * gap * PANEL / room
    places = list(layout.x.values())
    axis.set_xticks(places, [kept.get(place, "") for place in places], fontsize=size, rotation=90 if turned else 0)
    alone = [word for one in layout.stretches if not one.along for word in word_texts(one.shared, number_text)]
    apart = (1 + GAP) * PANEL / room  # of two stretches
    crowded = max(map(len, alone), default=0) * CHARACTER * CAPTION > 0.85 * apart
    for one in layout.stretches:
        down = 9 + (longest if turned else size) if one.along else 4
        lines = max(1, int(apart / LINE - 0.5)) if crowded and not one.along else 0
        _caption(axis, layout, one, down, lines)


def _kept(texts: Mapping[float, str], least: float) -> dict[float, str]:
    """The texts by place, without those that would lie on one before: nearer than `least`."""
    kept: dict[float, str] = {}
    for place, text in texts.items():
        if not kept or place - max(kept) >= least:
            kept[place] = text
    return kept


def _caption(axis: Axes, layout: CaseLayout, one: CaseStretch, down: float, most_lines: int = 0) -> None:
    """Write what varies, and below it what the cases share; for a case by itself, its label. A line has one word; if
    `most_lines` is given, the text is turned and has no more lines."""
    places = [layout.x[case] for case in one.cases]
    words = [*filter(None, [one.along]), *word_texts(one.shared, number_text)]
    each = ceil(len(words) / most_lines) if most_lines else 1
    axis.annotate(
        "\n".join(" ".join(words[at : at + each]) for at in range(0, len(words), each)),
        ((places[0] + places[-1]) / 2, 0), xycoords=("data", "axes fraction"), xytext=(0, -down),
        textcoords="offset points", va="top", ha="center", ma="right" if most_lines else "center",
        rotation=90 if most_lines else 0, fontsize=CAPTION, color=style.SOFT, annotation_clip=False,
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
