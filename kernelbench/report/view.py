"""Short names of cases, the rows shown, groups of reasons, ratios as text: console, charts and page share them, so that
all use the same names and show the same times.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median, mode
from typing import TypeVar

from kernelbench.compare.comparison import Comparison
from kernelbench.compare.verdicts import NOT_DECIDED, ClaimPart, ClaimVerdict, Outcome
from kernelbench.core.operations import NORMAL
from kernelbench.core.units import digits, number_of
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row

VERBS: Mapping[Outcome, tuple[str, str]] = {  # for one claim and for several
    "holds": ("holds", "hold"),
    "direction only": ("holds in direction only", "hold in direction only"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    NOT_DECIDED: ("is not decided", "are not decided"),
}
AS_EXPECTED = "wrong, as expected"  # of a specimen, which verification must find wrong
WITHOUT_SIZE = {"shape", "axis", "dtype", "inputs"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")  # in a reason
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
Words = Mapping[str, str]  # of a case, by name: its axes, shape, axis, dtype, parameters and inputs
Key = TypeVar("Key", bound=Hashable)


def text_or_empty(value: object) -> str:
    """A value as text; '' for None."""
    return "" if value is None else str(value)


def verdict_text(verdict: str, more_samples: int | None) -> str:
    """`UNSURE +240` where 240 more samples would decide."""
    return f"{verdict} +{more_samples}" if more_samples else verdict


def case_words(cases: Mapping[Key, Words]) -> dict[Key, Words]:
    """The fewest words of each case that still tell the cases apart. `cases`: all words of each, by its key.

    Words that all cases share are left out; so is a shape that the axes or parameters of its case determine.
    """
    every: Mapping[Key, Words] = cases
    if any("inputs" in words for words in cases.values()):
        every = {key: {**words, "inputs": words.get("inputs", NORMAL)} for key, words in cases.items()}
    if len(every) < 2:
        return {key: _only(words, ("shape", "inputs")) if "shape" in words else words for key, words in every.items()}
    shared = set.intersection(*(set(words.items()) for words in every.values()))
    left = {key: _only(words, dict(words.items() - shared)) for key, words in every.items()}
    # Sizes and parameters may determine the shape; axis, dtype and inputs never do.
    short = {
        key: _only(words, words.keys() - {"shape"}) if words.keys() - WITHOUT_SIZE else words
        for key, words in left.items()
    }
    alike = Counter(tuple(words.items()) for words in short.values())
    unclear = {tuple(words) for words in short.values() if alike[tuple(words.items())] > 1}
    return {key: left[key] if tuple(words) in unclear else words for key, words in short.items()}


def _only(words: Words, names: Container[str]) -> Words:
    return {name: value for name, value in words.items() if name in names}


def word_texts(words: Words, number: Callable[[str], str] = str) -> list[str]:
    """`seq=16`; dtypes and shapes, and words without a name, need none. `number`: how a value is written."""
    return [
        number(value) if name in ("dtype", "shape", value) else f"{name}={number(value)}"
        for name, value in words.items()
    ]


def number_text(value: str) -> str:
    """Write powers of two from 65536 on as 2²⁴, so that they fit into a chart."""
    if value.isdigit() and int(value) >= 1 << 16 and int(value).bit_count() == 1:
        return "2" + str(int(value).bit_length() - 1).translate(SUPERSCRIPTS)
    return value


def case_labels(cases: Mapping[Key, Words], number: Callable[[str], str] = str) -> dict[Key, str]:
    """The shortest text of each case that still tells the cases apart: `seq=16 float32`. A single extent has a name,
    `n=1000` or `shape=1000`, since a bare number reads as a count."""
    return {key: _label(words, cases[key], number) for key, words in case_words(cases).items()}


def _label(words: Words, case: Words, number: Callable[[str], str]) -> str:
    if words.keys() == {"shape"} and words["shape"].isdigit():
        name = next(name for name, value in case.items() if value == words["shape"])  # axes stand before the shape
        return f"{name}={number(words['shape'])}"
    return " ".join(word_texts(words, number)) or _full_text(case.items())


def other_words(words: Words, *names: str) -> tuple[tuple[str, str], ...]:
    """All words but these: what cases that differ only in these share."""
    return tuple((name, value) for name, value in words.items() if name not in names)


def _full_text(words: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{name}={value}" for name, value in words)


def words_by_case(run: Run) -> dict[str, Words]:
    """The words of each case by its key, in the run's order."""
    return {row.case: row.words for row in run.rows}


def implementation_names(run: Run) -> list[str]:
    """Their names, in the run's order."""
    return list(dict.fromkeys(row.implementation for row in run.rows))


def shared_words(cases: Mapping[str, Words]) -> str:
    """What all cases have in common, as `case_labels` leaves it out; '' for a single case."""
    first, *others = cases.values() or [{}]
    return _full_text(item for item in first.items() if others and all(item in words.items() for words in others))


def shown_methods(rows: Iterable[Row], comparison: Comparison = ()) -> dict[tuple[str, str], str]:
    """The one timing method to show per (case, cache).

    That of the comparison where there is one; else graphs where every implementation has them, since two methods must
    not stand side by side in one row; else events.
    """
    timed: dict[tuple[str, str], dict[str, set[str]]] = {}
    for row in rows:
        if row.status == "ok":
            timed.setdefault((row.case, row.cache), {}).setdefault(row.implementation, set()).add(row.method)
    chosen = {
        place: "graph" if all("graph" in methods for methods in of_place.values()) else "events"
        for place, of_place in timed.items()
    }
    compared: dict[tuple[str, str], list[str]] = {}
    for one in comparison:
        if one.method:
            compared.setdefault((one.case, one.cache), []).append(one.method)
    return chosen | {place: mode(sorted(methods)) for place, methods in compared.items()}


def shown_rows(run: Run, comparison: Comparison = (), cache: str = "") -> list[Row]:
    """The measured rows by the method of `shown_methods`: at most one per case, cache and implementation. `cache`:
    only rows of this state."""
    methods = shown_methods(run.rows, comparison)
    return [
        row
        for row in run.rows
        if row.status == "ok" and methods[row.case, row.cache] == row.method and cache in ("", row.cache)
    ]


def median_seconds(row: Row) -> float:
    """The median time of a row that `shown_rows` has."""
    assert row.median_s is not None, row
    return row.median_s


def shown_status(status: str, role: str) -> str:
    """The status of an implementation of that role on a case."""
    return AS_EXPECTED if (status, role) == ("wrong", "specimen") else status


def right_text(checked: Iterable[tuple[str, str]], sampled: int = 0) -> str:
    """`10 of 12 right; 1 wrong; 1 skipped`, from status and role. `sampled`: right rows of which a sample ran."""
    counts = Counter(shown_status(status, role) for status, role in checked)
    others = (f"; {count} {status}" for status, count in counts.items() if status != "ok")
    where = f", {sampled} of them in a sample of the blocks" if sampled else ""
    return f"{counts['ok']} of {counts.total()} right{where}{''.join(others)}"


@dataclass(frozen=True)
class ReasonGroup:
    """Rows of one implementation without a time, for the same reason."""

    implementation: str
    status: str  # as `shown_status` has it
    reason: str  # of the first of them
    cases: list[str]
    reasons: set[str]  # of all

    def said(self, labels: Mapping[str, str]) -> str:
        """The reason, and whose it is where the others' differ from it."""
        if len(self.reasons) < 2:
            return self.reason
        return f"{labels.get(self.cases[0], self.cases[0])}: {self.reason}; others alike"


def reason_groups(rows: Iterable[Row]) -> list[ReasonGroup]:
    """What has no time, grouped by reason."""
    return grouped_reasons(
        (row.implementation, shown_status(row.status, row.role), row.case, row.reason)
        for row in rows
        if row.status != "ok"
    )


def grouped_reasons(entries: Iterable[tuple[str, str, str, str]]) -> list[ReasonGroup]:
    """`entries`: implementation, status as shown, case, reason.

    Reasons that differ in their numbers alone ("got 2048", "got 4096") count as alike, and so do all of a specimen: the
    first is shown.
    """
    groups: dict[tuple[str, str, str], ReasonGroup] = {}
    for name, status, case, reason in entries:
        pattern = "" if status == AS_EXPECTED else without_numbers(reason)
        group = groups.setdefault((name, status, pattern), ReasonGroup(name, status, reason, [], set()))
        group.reasons.add(reason)
        if case not in group.cases:
            group.cases.append(case)
    return list(groups.values())


def without_numbers(reason: str) -> str:
    """What alike reasons have in common."""
    return NUMBER.sub("#", reason)


def disturbed_groups(rows: Iterable[Row]) -> list[tuple[str, str, list[str]]]:
    """(case, cache and what disturbed its samples, implementations). Rows that differ only in counts of samples form
    one group, which shows the words of the first."""
    groups: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for row in rows:
        if row.disturbed:
            said = f"{row.cache}: {row.disturbed}"
            _, names = groups.setdefault((row.case, re.sub(r"\d+", "#", said)), (said, []))
            names.append(row.implementation)
    return [(case, said, names) for (case, _), (said, names) in groups.items()]


def shown_ratio(value: float) -> str:
    """Two decimals, fewer from 10 on, two significant digits below 0.1: 2.05, 19.3, 0.052."""
    if value < 0.1:
        return digits(value, 2)
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def ratio_text(value: float | None) -> str:
    """`2.05x`; '' for None; `0`, without the x, for 0."""
    return "" if value is None else f"{shown_ratio(value)}x" if value else "0"


def never_read(loads: Mapping[str, int]) -> str:
    """`never reads x`, or ''."""
    unread = [name for name, count in loads.items() if count == 0]
    return f"never reads {', '.join(unread)}" if unread else ""


def claims_answer(verdicts: Sequence[ClaimVerdict], device: str) -> str:
    """The answer in a sentence: how many of the published claims hold on this GPU."""
    if not verdicts:
        return f"No published claim belongs to this suite; the times below are those of {device}."
    if len(verdicts) == 1:
        return f"The published claim {VERBS[verdicts[0].verdict][0]} on {device}."
    counts = Counter(verdict.verdict for verdict in verdicts)
    (first, one), *others = ((counts[word], verbs[counts[word] != 1]) for word, verbs in VERBS.items() if counts[word])
    rest = f"; {', '.join(f'{count} {verb}' for count, verb in others)}" if others else ""
    return f"{first} of {len(verdicts)} published claims {one} on {device}{rest}."


def nothing_counted(run: Run) -> str:
    """Why a run of the simulator has no counts: `12 of 12 rows are wrong or failed (reason of the first)`; '' if it has
    some."""
    rows = [row for row in run.rows if row.role != "specimen"]
    broken = [row for row in rows if row.status in ("wrong", "failed")]
    if len(broken) < len(rows) or not rows:
        return ""
    first = " ".join(broken[0].reason.partition("\n")[0].split())
    return broken_text(len(rows), len(rows)) + (f" ({first})" if first else "")


def broken_text(broken: int, total: int) -> str:
    """`1 of 12 rows is wrong or failed`."""
    return f"{broken} of {number_of(total, 'row')} {'is' if broken == 1 else 'are'} wrong or failed"


def asked_by(part: ClaimPart) -> str:
    """`stated: “twice as fast”`, `set here: two runs differ by as much`."""
    return f"{part.by}: " + (f"“{part.words}”" if part.by == "stated" else part.words)


def highlights(run: Run, comparison: Comparison) -> list[str]:
    """The implementations that a chart colours: the baseline, those with published figures, then the fastest."""
    cited = [row.implementation for row in comparison if row.published_speedup is not None]
    wanted = [*(row.baseline for row in comparison), str(run.environment.get("baseline") or ""), *cited]
    timed = [row for row in run.rows if row.status == "ok" and row.role != "yardstick"]
    best: dict[tuple[str, str, str], float] = {}
    for row in timed:
        if row.median_s is not None:
            place = row.case, row.cache, row.method
            best[place] = min(best.get(place, inf), row.median_s)
    relative: dict[str, list[float]] = {row.implementation: [] for row in timed}
    for row in timed:
        if row.median_s is not None:
            relative[row.implementation].append(row.median_s / best[row.case, row.cache, row.method])
    by_speed = sorted(sorted(relative), key=lambda name: median(relative[name] or [inf]))
    return [name for name in dict.fromkeys([*wanted, *by_speed]) if name in relative][:6]
