"""Times of the GPUs of a fleet: shares of each GPU's own ceiling, and the spread among GPUs of one kind.

Absolute times are never set side by side between kinds of GPUs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log
from statistics import geometric_mean, median

from kernelbench.compare.answer import Answer
from kernelbench.compare.comparison import baseline_names
from kernelbench.compare.runs import compare_runs
from kernelbench.core.errors import InputError
from kernelbench.core.units import number_of, share_text
from kernelbench.report import view
from kernelbench.runs.row_records import Row

_OUTLIERS = 6  # rows that are named
Place = tuple[str, str, str, str]  # case, implementation, cache, method


@dataclass(frozen=True)
class SuiteAnswer(Answer):
    """The answer of one suite on one GPU, or on several that shared its cases."""

    label: str


@dataclass(frozen=True)
class MeanLine:
    """An implementation on the rows that every GPU has of it: geometric means by GPU."""

    suite: str
    implementation: str
    rows: int
    shares: Mapping[str, float]  # of each GPU's own ceiling, cold
    speedups: Mapping[str, float]  # over its baseline; {} without common ones
    baseline: str  # of its own cases; '' for a yardstick, which is compared with none


@dataclass(frozen=True)
class Spread:
    """A GPU against another one of its kind on one suite; `verdicts` counts rows."""

    suite: str
    kind: str
    label: str
    against: str
    mean: float | None  # time over that of the other, geometric mean over common rows
    verdicts: Mapping[str, int]
    named: Sequence[str]  # the farthest rows, in the words of the suite
    reason: str = ""  # why they cannot be compared


def mean_lines(suite: str, of: Mapping[str, SuiteAnswer]) -> Iterator[MeanLine]:
    """Each implementation over the rows that all GPUs have; none where GPUs have no row in common."""
    shares = {label: _shares(one) for label, one in of.items()}
    speedups = {label: _speedups(one) for label, one in of.items()}
    for name in dict.fromkeys(place[1] for own in shares.values() for place in own):
        common = [place for place in _common(shares.values()) if place[1] == name]
        faster = [place for place in _common(speedups.values()) if place[1] == name]
        if not common:
            continue
        yield MeanLine(
            suite, name, len(common), _means_of(shares, common), _means_of(speedups, faster),
            baseline_names(row for one in of.values() for row in one.comparison if row.implementation == name),
        )  # fmt: skip


def _means_of(of_gpus: Mapping[str, Mapping[Place, float]], places: Sequence[Place]) -> dict[str, float]:
    return {label: geometric_mean(own[place] for place in places) for label, own in of_gpus.items() if places}


def _common(of_gpus: Iterable[Mapping[Place, float]]) -> list[Place]:
    """Places that all GPUs have, in the order of the first one."""
    first, *others = of_gpus
    return [place for place in first if all(place in other for other in others)]


def _place(row: Row) -> Place:
    return row.case, row.implementation, row.cache, row.method


def _shares(member: SuiteAnswer) -> dict[Place, float]:
    rows = view.shown_rows(member.run, member.comparison, "cold")
    return {_place(row): row.share_of_ceiling for row in rows if row.share_of_ceiling}


def _speedups(member: SuiteAnswer) -> dict[Place, float]:
    rows = (row for row in member.comparison if row.cache == "cold" and row.speedup and not row.is_baseline)
    return {(row.case, row.implementation, row.cache, row.method): row.speedup or 1.0 for row in rows}


def gpu_spreads(suite: str, of: Mapping[str, SuiteAnswer]) -> Iterator[Spread]:
    """GPUs of each kind against the one of them that is in the middle."""
    members = sorted(of.values(), key=lambda one: one.run.device)
    for kind, group in groupby(members, key=lambda one: one.run.device):
        own = list(group)
        if len(own) < 2:
            continue
        middle = _in_the_middle(own)
        yield from (_spread(suite, kind, one, middle) for one in own if one is not middle)


def _in_the_middle(members: Sequence[SuiteAnswer]) -> SuiteAnswer:
    """The GPU whose times, over all rows in common, are the median; of an even number the faster of the two."""
    times = [{_place(row): view.median_seconds(row) for row in view.shown_rows(one.run)} for one in members]
    common = _common(times)
    if not common:
        return members[0]
    means = [geometric_mean(own[place] for place in common) for own in times]
    return min(zip(means, members, strict=True), key=lambda one: abs(one[0] - median(means)))[1]


def _spread(suite: str, kind: str, one: SuiteAnswer, middle: SuiteAnswer) -> Spread:
    try:
        changes = compare_runs(middle.run, one.run)
    except InputError as error:
        return Spread(suite, kind, one.label, middle.label, None, {}, (), str(error))
    judged = changes.judged
    far = sorted((row for row in judged if row.verdict in ("SLOWER", "FASTER")), key=lambda row: -abs(log(row.ratio)))
    verdicts = {verdict: len(changes.of(verdict)) for verdict in ("SLOWER", "FASTER", "SAME", "UNSURE")}
    labels = view.case_labels(view.words_by_case(one.run))
    named = [
        f"{row.implementation} on {labels[row.case]}, {row.cache} by {row.method} ({view.ratio_text(row.ratio)})"
        for row in far[:_OUTLIERS]
    ]
    mean = geometric_mean(row.ratio for row in judged)
    return Spread(suite, kind, one.label, middle.label, mean, verdicts, named)


def spread_sentences(found: Iterable[Spread]) -> Iterator[str]:
    for one in found:
        if one.named:
            count = one.verdicts["SLOWER"] + one.verdicts["FASTER"]
            yield (
                f"{one.suite}: {one.label} differs from {one.against}, another {one.kind}, on "
                f"{number_of(count, 'row')}, most on {one.named[0]}."
            )


def mean_texts(line: MeanLine, labels: Iterable[str]) -> dict[str, str]:
    """`73 %, 2.05x` by GPU; '' where there is none."""
    return {
        label: ", ".join(filter(None, (share_text(line.shares.get(label)), view.ratio_text(line.speedups.get(label)))))
        for label in labels
    }
