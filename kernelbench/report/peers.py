"""Our own kernels beside the libraries, for a run whose baseline is one of these: who is ahead, by how much, and how
near to the copy. Times are cold. Two times are compared by the best method that both have, so that a peer without times
by graphs does not cost the others theirs.

Ours are the kernels whose origin is here. On each case the fastest of ours counts, and the fastest of the peers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING, Any

from kernelbench.core.methods import shared_method
from kernelbench.core.records import WRITTEN_HERE
from kernelbench.core.units import share_text, time_column
from kernelbench.report import copies, sources, view
from kernelbench.report.case_axis import Curve
from kernelbench.report.tables import RIGHT, TEXT, new_table
from kernelbench.runs.records import Row
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from rich.console import RenderableType

POINTS = 5  # fewest sizes of a curve
MANY = 25  # with more sizes a curve is a sweep, along which neighbours should not leap
ByMethod = dict[str, Row]  # rows of an implementation on a case, by method
_SHAPE = ("shape", "axis")  # words of a case that its size determines
FAST = "~"  # mark of fast arithmetic
CASE_HEADERS = ("case", "ours", "time", "error", "best peer", "its time", "its error", "ahead", "of the copy")
PEER_HEADERS = ("peer", "cases", "best of the peers", "its time / ours", "least", "largest error", "version")
WORDS = ("case", "ours", "best peer", "peer", "version")  # headers of columns without numbers
_KINDS = {  # of columns in the terminal; the errors can be spared
    **dict.fromkeys(WORDS, TEXT),
    **{header: {**RIGHT, "spare": 1} for header in ("error", "its error", "largest error")},
}
MEANING = (
    "Ahead: time of the best peer / time of ours. Of the copy: time of the best copy / time of ours. Both times by "
    "graphs where both sides have them, else by events. Error: the largest |got - expected| over all elements. "
    f"{FAST}: fast arithmetic, else accurate. Means are geometric."
)


@dataclass(frozen=True)
class Side:
    """One implementation on a case."""

    name: str
    seconds: float
    ratio: float  # its time / that of ours, by one method
    error: float | None  # largest absolute error
    fast: bool
    ulp: float | None = None  # the same error in ulp
    graded: bool = False  # a library beyond the tolerance by its own rounding


@dataclass(frozen=True)
class Pair:
    """A case: ours, by the method of the best peer; the peers, the best of them first named; the copy's time / ours."""

    case: str
    ours: Side
    best: Side
    peers: Sequence[Side]
    share: float | None

    @property
    def ahead(self) -> float:
        return self.best.ratio


def ours(run: Run) -> list[str]:
    """Our own kernels; none if the run's baseline is not a library."""
    roles = {row.implementation: row.role for row in run.rows}
    if run.simulated or roles.get(str(run.environment.get("baseline"))) != "peer":
        return []
    known = run.environment.get("implementations") or {}
    origins = {name: ((known.get(name) or {}).get("origin") or {}).get("project") for name in roles}
    return [name for name, role in roles.items() if role == "kernel" and origins[name] == WRITTEN_HERE]


def pairs(run: Run) -> list[Pair]:
    """A pair per case in which one of our kernels and a peer have a time."""
    own = ours(run)
    cases: dict[str, dict[str, ByMethod]] = {}
    for row in copies.with_best_copy(run, run.rows) if own else ():
        if row.status == "ok" and row.cache == "cold":
            cases.setdefault(row.case, {}).setdefault(row.implementation, {})[row.method] = row
    found = [_pair(case, timed, own) for case, timed in cases.items()]
    return [pair for pair in found if pair is not None]


def _pair(case: str, timed: Mapping[str, ByMethod], own: Sequence[str]) -> Pair | None:
    kernels = [timed[name] for name in own if name in timed]
    known = shared_method(*kernels) if kernels else None
    if known is None:
        return None
    _, fastest = min((view.seconds(methods[known]), place) for place, methods in enumerate(kernels))
    mine = kernels[fastest]
    held: dict[str, list[tuple[Side, str]]] = {}  # by role, each with the method that both have
    for methods in timed.values():
        if both := shared_method(methods, mine):
            held.setdefault(methods[both].role, []).append((_side(methods, mine, both), both))
    if "peer" not in held:
        return None
    best, method = min(held["peer"], key=lambda side: side[0].ratio)
    share = min((side.ratio for side, _ in held.get("yardstick", ())), default=None)
    return Pair(case, _side(mine, mine, method), best, [side for side, _ in held["peer"]], share)


def _side(methods: ByMethod, mine: ByMethod, method: str) -> Side:
    row = methods[method]
    ratio = view.seconds(row) / view.seconds(mine[method])
    return Side(
        row.implementation,
        view.seconds(row),
        ratio,
        row.max_absolute_error,
        row.arithmetic == "fast",
        row.max_error_ulp,
        row.check == "graded",
    )


def curves(run: Run) -> dict[str, list[Curve]]:
    """By axis: the cases that differ only in it and in the shape that it makes; none without a peer beside ours."""
    found: dict[str, dict[str, dict[float, str]]] = {}
    for case, words in view.cases(run).items() if ours(run) else ():
        sizes = [name for name, value in words.items() if name not in view.WITHOUT_SIZE and value.isdigit()]
        if len(sizes) == 1:
            along, value = sizes[0], words[sizes[0]]
            rest = " ".join(view.word_texts(dict(view.without(words, along, *_SHAPE))))
            found.setdefault(along, {}).setdefault(rest, {})[float(value)] = case
    kept = {
        along: [Curve(rest, dict(sorted(points.items()))) for rest, points in groups.items() if len(points) >= POINTS]
        for along, groups in found.items()
    }
    return {along: some for along, some in kept.items() if some}


def falls(found: Sequence[Pair], drawn: Iterable[Curve]) -> list[tuple[float, str]]:
    """Per two neighbours on a sweep: how far the lower share of the copy is below the other, and its case."""
    shares = {pair.case: pair.share for pair in found if pair.share is not None}
    steps = []
    for curve in drawn:
        known = [case for case in curve.points.values() if case in shares]
        for two in pairwise(known) if len(curve.points) > MANY else ():
            low, high = sorted(two, key=lambda case: shares[case])
            steps.append((1 - shares[low] / shares[high], low))
    return steps


def ratios(found: Sequence[Pair]) -> dict[str, list[float]]:
    """Per peer its time over ours on the cases that both have, the nearest peer first."""
    of_peers: dict[str, list[float]] = {}
    for pair in found:
        for side in pair.peers:
            of_peers.setdefault(side.name, []).append(side.ratio)
    return {name: of_peers[name] for name in sorted(of_peers, key=lambda name: mean(of_peers[name]))}


def ahead(found: Sequence[Pair]) -> str:
    """Who is ahead, in a sentence: geometric means over the cases that two sides have in common."""
    every = ratios(found)
    faster = {name: of_name for name, of_name in every.items() if mean(of_name) < 1}
    name, of_name = next(iter(every.items()))
    slower = {0: "none of", len(every): "all"}.get(len(every) - len(faster), f"{len(every) - len(faster)} of")
    return (
        f"Ours is ahead of {slower} {len(every)} peers: the {'fastest' if faster else 'nearest'}, {name}, takes "
        f"{view.ratio_text(mean(of_name))} our time over {cases_text(len(of_name))} in common (geometric mean). "
        f"Case by case, a peer is faster on {sum(pair.ahead < 1 for pair in found)} of {len(found)}."
    )


def cases_text(number: int) -> str:
    return "1 case" if number == 1 else f"{number} cases"


def sentences(run: Run, found: Sequence[Pair], labels: Mapping[str, str]) -> list[str]:
    """The answer first."""
    least = min(found, key=lambda pair: pair.ahead)
    behind = sum(pair.ahead < 1 for pair in found)
    in_mean = view.ratio_text(mean([pair.ahead for pair in found]))
    lines = [
        f"The best peer takes {in_mean} our time over {cases_text(len(found))} (geometric mean), and "
        f"{view.ratio_text(least.ahead)} at the lowest ({labels[least.case]}: {least.best.name}); "
        f"a peer is faster on {behind} of them."
    ]
    if copied := [pair for pair in found if pair.share is not None]:
        lowest = min(copied, key=lambda pair: pair.share or 0.0)
        lines.append(
            f"Ours reaches at least {_share(lowest.share)} of the copy ({labels[lowest.case]}); {copies.note(run)}."
        )
    if steps := falls(found, (curve for drawn in curves(run).values() for curve in drawn)):
        fall, case = max(steps)
        lines.append(f"From one size to the next it falls by at most {share_text(fall)} ({labels[case]}).")
    return [*lines, *_grades(found)]


def _grades(found: Sequence[Pair]) -> list[str]:
    """A sentence per library that is graded on a case."""
    graded: dict[str, list[tuple[Side, Side]]] = {}
    for pair in found:
        for side in pair.peers:
            if side.graded:
                graded.setdefault(side.name, []).append((side, pair.ours))
    return [
        f"{name} is off by its own rounding on {len(sides)} of {len(found)} cases: by up to "
        f"{_ulp([side for side, _ in sides])}, ours by up to {_ulp([own for _, own in sides])} there."
        for name, sides in graded.items()
    ]


def case_lines(found: Sequence[Pair], labels: Mapping[str, str]) -> list[tuple[str, ...]]:
    """A line per case, under CASE_HEADERS."""
    time = time_column(side.seconds for pair in found for side in (pair.ours, pair.best))
    return [
        (
            labels[pair.case], pair.ours.name, time(pair.ours.seconds), _error(pair.ours),
            pair.best.name, time(pair.best.seconds), _error(pair.best),
            view.ratio_text(pair.ahead), _share(pair.share),
        )
        for pair in found
    ]  # fmt: skip


def peer_lines(run: Run, found: Sequence[Pair]) -> list[tuple[str, ...]]:
    """A line per peer, the nearest first, under PEER_HEADERS."""
    errors: dict[str, list[Side]] = {}
    for pair in found:
        for side in (pair.ours, *pair.peers):
            errors.setdefault(side.name, []).append(side)
    of_peers = ratios(found)
    own = [name for name in errors if name not in of_peers]
    lines: list[tuple[str, ...]] = [
        (name, str(len(errors[name])), "", "", "", _error(*errors[name]), "") for name in own
    ]
    for name, of_name in of_peers.items():
        best = sum(pair.best.name == name for pair in found)
        least = view.ratio_text(min(of_name))
        lines.append(
            (name, str(len(of_name)), str(best), view.ratio_text(mean(of_name)), least, _error(*errors[name]),
             sources.version(run, name))
        )  # fmt: skip
    return lines


def section(run: Run) -> dict[str, Any] | None:
    """For the page."""
    found, labels = pairs(run), view.case_labels(view.cases(run))
    if not found:
        return None
    return {
        "ahead": ahead(found),
        "sentences": sentences(run, found, labels),
        "tables": ((PEER_HEADERS, peer_lines(run, found)), (CASE_HEADERS, case_lines(found, labels))),
        "words": WORDS,
        "meaning": MEANING,
    }


def table(run: Run) -> RenderableType | None:
    """For the terminal; None where the run is not one beside peers."""
    from rich.console import Group
    from rich.text import Text

    found, labels = pairs(run), view.case_labels(view.cases(run))
    if not found:
        return None
    single = len({pair.ours.name for pair in found}) == 1
    parts: list[RenderableType] = []
    for title, headers, lines in (
        ("Ours beside the best peer, cold", CASE_HEADERS, case_lines(found, labels)),
        ("Each peer beside ours, cold", PEER_HEADERS, peer_lines(run, found)),
    ):
        kept = [place for place, header in enumerate(headers) if header != "ours" or not single]
        kinds = [(headers[place], _KINDS.get(headers[place], RIGHT)) for place in kept]
        name = f": {found[0].ours.name}" if len(kept) < len(headers) else ""
        parts.append(new_table(title + name, kinds, [[line[place] for place in kept] for line in lines]))
    return Group(*parts, Text(MEANING, "dim"))


def mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, ratios)) / len(ratios))


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}"


def _error(*sides: Side) -> str:
    """The largest error; in ulp, too, where a library is graded."""
    known = [side for side in sides if side.error is not None]
    if not known:
        return ""
    largest = max(known, key=lambda side: side.error or 0.0)
    graded = [side for side in sides if side.graded]
    return f"{largest.error:.0e}{FAST if largest.fast else ''}" + (f" {_ulp(graded)}" if graded else "")


def _ulp(sides: Sequence[Side]) -> str:
    known = [side.ulp for side in sides if side.ulp is not None]
    return f"{max(known):.2g} ulp" if known else "unknown ulp"
