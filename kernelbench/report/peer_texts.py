"""Our own kernels beside the libraries, in words and tables; `peers` has the numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from kernelbench.core.units import number_of, share_text, time_column
from kernelbench.report import copies, origins, peers, view
from kernelbench.report.peers import PeerCase, PeerTime
from kernelbench.report.tables import RIGHT, TEXT, new_table
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from rich.console import RenderableType

FAST = "~"  # mark of fast arithmetic
CASE_HEADERS = ("case", "ours", "time", "error", "best peer", "its time", "its error", "ahead", "of the copy")
PEER_HEADERS = ("peer", "cases", "fastest peer on", "mean time / ours", "least time / ours", "largest error", "version")
WORDS = ("case", "ours", "best peer", "peer", "version")  # headers of columns without numbers
SPARE = (
    "ours",
    "error",
    "its error",
    "of the copy",
    "fastest peer on",
    "largest error",
    "version",
)  # in narrow windows
_KINDS = {  # of columns in the terminal; the errors can be spared
    **dict.fromkeys(WORDS, TEXT),
    **{header: {**RIGHT, "spare": 1} for header in ("error", "its error", "largest error")},
}
MEANING = (
    "Ahead: time of the best peer / time of ours. Of the copy: time of the best copy / time of ours. Both times by "
    "graphs where both sides have them, else by events. Error: the largest |got - expected| over all elements. "
    f"{FAST}: fast arithmetic, else accurate. Means are geometric."
)


def peers_headline(found: Sequence[PeerCase]) -> str:
    """Who is ahead, in a sentence: geometric means over the cases that two sides have in common."""
    every = peers.ratios(found)
    faster = {name: of_name for name, of_name in every.items() if geometric_mean(of_name) < 1}
    name, of_name = next(iter(every.items()))
    return (
        f"Ours is ahead of {_of(len(every) - len(faster), len(every))}: the {'fastest' if faster else 'nearest'}, "
        f"{name}, takes {view.ratio_text(geometric_mean(of_name))} our time "
        f"(geometric mean over {number_of(len(of_name), 'case')} in common). "
        f"Case by case, a peer is faster on {sum(pair.ahead < 1 for pair in found) or 'none'} of {len(found)}."
    )


def _of(number: int, total: int) -> str:
    """`both peers`, `all 5 peers`, `2 of 5 peers`."""
    if number == total <= 2:
        return "the peer" if total == 1 else "both peers"
    return f"{number or 'none'} of {total} peers" if number < total else f"all {total} peers"


def peer_sentences(run: Run, found: Sequence[PeerCase], labels: Mapping[str, str]) -> list[str]:
    least = min(found, key=lambda pair: pair.ahead)
    behind = sum(pair.ahead < 1 for pair in found)
    in_mean = view.ratio_text(geometric_mean([pair.ahead for pair in found]))
    lines = [
        f"The best peer takes {in_mean} our time over {number_of(len(found), 'case')} (geometric mean), and "
        f"{view.ratio_text(least.ahead)} at the lowest ({labels[least.case]}: {least.best.name}); "
        f"a peer is faster on {behind or 'none'} of them."
    ]
    if copied := [pair for pair in found if pair.share is not None]:
        lowest = min(copied, key=lambda pair: pair.share or 0.0)
        lines.append(
            f"Ours is at least {_share(lowest.share)} times as fast as the copy ({labels[lowest.case]}); "
            f"the yardstick is {copies.note(run)}."
        )
    if steps := peers.sweep_drops(found, (curve for drawn in peers.curves(run).values() for curve in drawn)):
        fall, case = max(steps)
        lines.append(f"From one size to the next it falls by at most {share_text(fall)} ({labels[case]}).")
    return [*lines, *_grades(found)]


def _grades(found: Sequence[PeerCase]) -> list[str]:
    """A sentence per library that is graded on a case."""
    graded: dict[str, list[tuple[PeerTime, PeerTime]]] = {}
    ran = Counter(side.name for pair in found for side in pair.peers)
    for pair in found:
        for side in pair.peers:
            if side.graded:
                graded.setdefault(side.name, []).append((side, pair.ours))
    return [
        f"{name} rounds beyond the tolerance on {len(sides)} of its {number_of(ran[name], 'case')}: there it is off by "
        f"up to {_ulp([side for side, _ in sides])}, and ours by up to {_ulp([own for _, own in sides])}."
        for name, sides in graded.items()
    ]


def case_lines(found: Sequence[PeerCase], labels: Mapping[str, str]) -> list[tuple[str, ...]]:
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


def peer_lines(run: Run, found: Sequence[PeerCase]) -> list[tuple[str, ...]]:
    """A line per peer, the nearest first, under PEER_HEADERS."""
    errors: dict[str, list[PeerTime]] = {}
    for pair in found:
        for side in (pair.ours, *pair.peers):
            errors.setdefault(side.name, []).append(side)
    of_peers = peers.ratios(found)
    own = [name for name in errors if name not in of_peers]
    lines: list[tuple[str, ...]] = [
        (f"{name} (ours)", str(len(errors[name])), "", "", "", _error(*errors[name]), "") for name in own
    ]
    for name, of_name in of_peers.items():
        best = sum(pair.best.name == name for pair in found)
        least = view.ratio_text(min(of_name))
        lines.append(
            (name, str(len(of_name)), str(best), view.ratio_text(geometric_mean(of_name)), least, _error(*errors[name]),
             origins.version(run, name))
        )  # fmt: skip
    return lines


def section(run: Run) -> dict[str, Any] | None:
    found, labels = peers.peer_cases(run), view.case_labels(view.words_by_case(run))
    if not found:
        return None
    return {
        "ahead": peers_headline(found),
        "sentences": peer_sentences(run, found, labels),
        "tables": ((PEER_HEADERS, peer_lines(run, found)), (CASE_HEADERS, case_lines(found, labels))),
        "classes": {
            header: f"{'name' if header in WORDS else 'n'}{' spare' if header in SPARE else ''}"
            for header in (*PEER_HEADERS, *CASE_HEADERS)
        },
        "meaning": MEANING,
    }


def table(run: Run) -> RenderableType | None:
    """For the terminal; None where the run is not one beside peers."""
    from rich.console import Group
    from rich.text import Text

    found, labels = peers.peer_cases(run), view.case_labels(view.words_by_case(run))
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


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}"


def _error(*sides: PeerTime) -> str:
    """The largest error; in ulp, too, where a library is graded."""
    known = [side for side in sides if side.error is not None]
    if not known:
        return ""
    largest = max(known, key=lambda side: side.error or 0.0)
    graded = [side for side in sides if side.graded]
    return f"{largest.error:.0e}{FAST if largest.fast else ''}" + (f" {_ulp(graded)}" if graded else "")


def _ulp(sides: Sequence[PeerTime]) -> str:
    known = [side.ulp for side in sides if side.ulp is not None]
    return f"{max(known):.2g} ulp" if known else "unknown ulp"
