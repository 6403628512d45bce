"""Our own kernels beside the libraries, for a run whose baseline is one of these: who is ahead, by how much, and how
near to the copy. Times are cold. Two times are compared by the best method that both have, so that a peer without times
by graphs does not cost the others theirs.

Ours are the kernels whose origin is here. On each case the fastest of ours counts, and the fastest of the peers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import geometric_mean

from kernelbench.core.records import WRITTEN_HERE, shared_method
from kernelbench.report import copies, view
from kernelbench.report.case_axis import Curve
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row

POINTS = 5  # fewest sizes of a curve
MANY = 25  # with more sizes a curve is a sweep, along which neighbours should not leap
ByMethod = dict[str, Row]  # rows of an implementation on a case, by method
_SHAPE = ("shape", "axis")  # words of a case that its size determines


@dataclass(frozen=True)
class PeerTime:
    """One implementation on a case."""

    name: str
    seconds: float
    ratio: float  # its time / that of ours, by one method
    error: float | None  # largest absolute error
    fast: bool
    ulp: float | None = None  # the same error in ulp
    graded: bool = False  # a library beyond the tolerance by its own rounding


@dataclass(frozen=True)
class PeerCase:
    """A case. `ours`: by the method of the best peer. `peers`: in the run's order. `share`: the copy's time / ours."""

    case: str
    ours: PeerTime
    best: PeerTime
    peers: Sequence[PeerTime]
    share: float | None

    @property
    def ahead(self) -> float:
        return self.best.ratio


def own_kernels(run: Run) -> list[str]:
    """Our own kernels; none if the run's baseline is not a library."""
    roles = {row.implementation: row.role for row in run.rows}
    if run.simulated or roles.get(str(run.environment.get("baseline"))) != "peer":
        return []
    known = run.environment.get("implementations") or {}
    origins = {name: ((known.get(name) or {}).get("origin") or {}).get("project") for name in roles}
    return [name for name, role in roles.items() if role == "kernel" and origins[name] == WRITTEN_HERE]


def peer_cases(run: Run) -> list[PeerCase]:
    """A pair per case in which one of our kernels and a peer have a time."""
    own = own_kernels(run)
    cases: dict[str, dict[str, ByMethod]] = {}
    for row in copies.with_best_copy(run, run.rows) if own else ():
        if row.status == "ok" and row.cache == "cold":
            cases.setdefault(row.case, {}).setdefault(row.implementation, {})[row.method] = row
    found = [_pair(case, timed, own) for case, timed in cases.items()]
    return [pair for pair in found if pair is not None]


def _pair(case: str, timed: Mapping[str, ByMethod], own: Sequence[str]) -> PeerCase | None:
    kernels = [timed[name] for name in own if name in timed]
    known = shared_method(*kernels) if kernels else None
    if known is None:
        return None
    _, fastest = min((view.median_seconds(methods[known]), place) for place, methods in enumerate(kernels))
    mine = kernels[fastest]
    held: dict[str, list[tuple[PeerTime, str]]] = {}  # by role, each with the method that both have
    for methods in timed.values():
        if both := shared_method(methods, mine):
            held.setdefault(methods[both].role, []).append((_side(methods, mine, both), both))
    if "peer" not in held:
        return None
    best, method = min(held["peer"], key=lambda side: side[0].ratio)
    share = min((side.ratio for side, _ in held.get("yardstick", ())), default=None)
    return PeerCase(case, _side(mine, mine, method), best, [side for side, _ in held["peer"]], share)


def _side(methods: ByMethod, mine: ByMethod, method: str) -> PeerTime:
    row = methods[method]
    ratio = view.median_seconds(row) / view.median_seconds(mine[method])
    return PeerTime(
        row.implementation,
        view.median_seconds(row),
        ratio,
        row.max_absolute_error,
        row.arithmetic == "fast",
        row.max_error_ulp,
        row.check == "graded",
    )


def curves(run: Run) -> dict[str, list[Curve]]:
    """Cases that differ only in one axis and in the shape that it makes, by axis; none without a peer beside ours."""
    found: dict[str, dict[str, dict[float, str]]] = {}
    for case, words in view.words_by_case(run).items() if own_kernels(run) else ():
        sizes = [name for name, value in words.items() if name not in view.WITHOUT_SIZE and value.isdigit()]
        if len(sizes) == 1:
            along, value = sizes[0], words[sizes[0]]
            rest = " ".join(view.word_texts(dict(view.other_words(words, along, *_SHAPE))))
            found.setdefault(along, {}).setdefault(rest, {})[float(value)] = case
    kept = {
        along: [Curve(rest, dict(sorted(points.items()))) for rest, points in groups.items() if len(points) >= POINTS]
        for along, groups in found.items()
    }
    return {along: some for along, some in kept.items() if some}


def sweep_drops(found: Sequence[PeerCase], drawn: Iterable[Curve]) -> list[tuple[float, str]]:
    """Per two neighbours on a sweep: how far the lower share of the copy is below the other, and its case."""
    shares = {pair.case: pair.share for pair in found if pair.share is not None}
    steps = []
    for curve in drawn:
        known = [case for case in curve.points.values() if case in shares]
        for two in pairwise(known) if len(curve.points) > MANY else ():
            low, high = sorted(two, key=lambda case: shares[case])
            steps.append((1 - shares[low] / shares[high], low))
    return steps


def ratios(found: Sequence[PeerCase]) -> dict[str, list[float]]:
    """Per peer its time over ours on the cases that both have, the nearest peer first."""
    of_peers: dict[str, list[float]] = {}
    for pair in found:
        for side in pair.peers:
            of_peers.setdefault(side.name, []).append(side.ratio)
    return {name: of_peers[name] for name in sorted(of_peers, key=lambda name: geometric_mean(of_peers[name]))}
