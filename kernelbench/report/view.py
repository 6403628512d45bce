"""How a run's tables are read for showing: short names of cases, the method shown, groups of reasons.

Console, charts and page share these, so that they name the same case alike and show the same time.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kernelbench.core.operations import NORMAL
from kernelbench.core.units import digits

if TYPE_CHECKING:
    import pandas

    from kernelbench.runs.results import Run

VERDICTS = ("holds", "holds in part", "does not hold", "not measured")
REJECTED = "rejected"
WITHOUT_SIZE = {"shape", "axis", "dtype", "inputs"}
STATUS_WORDS = {"unsupported": "refused"}  # shown for a status where another word says more


class VerdictCase(Protocol):
    """What one case says about a claim."""

    @property
    def case(self) -> str: ...

    @property
    def measured(self) -> float | None: ...

    @property
    def published(self) -> float | None: ...

    @property
    def holds(self) -> bool | None: ...

    @property
    def text(self) -> str: ...


class Verdict(Protocol):
    """Whether one published claim holds; `verdict` is one of VERDICTS."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def verdict(self) -> str: ...

    @property
    def sentence(self) -> str: ...

    @property
    def cases(self) -> Sequence[VerdictCase]: ...


def number(value: Any) -> float | None:
    """A table's cell as a number; None for an empty one."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(value)


def text(value: Any) -> str:
    """A table's cell as text; '' for an empty one."""
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)


def verdict_text(row: Mapping[str, Any]) -> str:
    """`UNSURE +240` where 240 more samples would decide."""
    more = number(row["more_samples"])
    return f"{row['verdict']} +{more:.0f}" if more else text(row["verdict"])


def records(table: pandas.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries, empty cells as None."""
    rows: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return rows


def case_words(keys: Iterable[str]) -> dict[str, dict[str, str]]:
    """For each case key the fewest words that still tell the cases apart, as name and value.

    Words that all cases share are left out; so is a shape that the axes or parameters of its case determine.
    """
    unique = list(dict.fromkeys(keys))
    every = {key: _named_words(key) for key in unique}
    if any("inputs" in words for words in every.values()):
        every = {key: {**words, "inputs": words.get("inputs", NORMAL)} for key, words in every.items()}
    if len(unique) < 2:
        return {key: _size(words) if "shape" in words else words for key, words in every.items()}
    shared = set.intersection(*(set(words.items()) for words in every.values()))
    left = {
        key: {name: value for name, value in words.items() if (name, value) not in shared}
        for key, words in every.items()
    }
    # Sizes and parameters may determine the shape, for all cases that have the same; axis, dtype and inputs do not.
    short = {
        key: {name: value for name, value in words.items() if name != "shape" or not words.keys() - WITHOUT_SIZE}
        for key, words in left.items()
    }
    alike = Counter(tuple(words.items()) for words in short.values())
    unclear = {tuple(words) for words in short.values() if alike[tuple(words.items())] > 1}
    return {key: left[key] if tuple(words) in unclear else words for key, words in short.items()}


def _size(words: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in words.items() if name in ("shape", "inputs")}


def _named_words(key: str) -> dict[str, str]:
    """The words of a case key by their names; one without a name is its own."""
    parts = (word.partition("=") for word in key.split(" "))
    return {name: value if equals else name for name, equals, value in parts}


def word_text(name: str, value: str) -> str:
    """`seq=16`; dtypes and shapes, and words without a name, need none."""
    return value if name in ("dtype", "shape", value) else f"{name}={value}"


def case_labels(keys: Iterable[str]) -> dict[str, str]:
    """The shortest text for each case key that still tells the cases apart: `seq=16 float32`."""
    return {
        key: " ".join(word_text(name, value) for name, value in words.items()) or key
        for key, words in case_words(keys).items()
    }


def shared_words(keys: Iterable[str]) -> str:
    """What all cases have in common, as `case_labels` leaves it out; '' for a single case."""
    unique = list(dict.fromkeys(keys))
    if len(unique) < 2:
        return ""
    return " ".join(word for word in unique[0].split(" ") if all(word in key.split(" ") for key in unique))


def shown_methods(rows: pandas.DataFrame, comparison: pandas.DataFrame | None = None) -> dict[tuple[str, str], str]:
    """The one timing method to show for each (case, cache).

    That of the comparison where there is one; else graphs where every implementation has them, for
    two methods must not stand side by side in one row; else events.
    """
    chosen: dict[tuple[str, str], str] = {}
    for (case, cache), group in rows[rows["status"] == "ok"].groupby(["case", "cache"], sort=False):
        sets = [set(methods) for _, methods in group.groupby("implementation")["method"]]
        chosen[str(case), str(cache)] = "graph" if all("graph" in methods for methods in sets) else "events"
    if comparison is not None and len(comparison):
        timed = comparison[comparison["method"].isin(["events", "graph"])]
        for (case, cache), group in timed.groupby(["case", "cache"], sort=False):
            chosen[str(case), str(cache)] = str(group["method"].mode().iloc[0])
    return chosen


def shown_rows(rows: pandas.DataFrame, methods: Mapping[tuple[str, str], str]) -> pandas.DataFrame:
    """The measured rows by the method of `shown_methods`: at most one for a case, cache and implementation."""
    keep = [
        status == "ok" and methods.get((case, cache)) == method
        for case, cache, method, status in zip(rows["case"], rows["cache"], rows["method"], rows["status"], strict=True)
    ]
    return rows[keep]


def shown_status(rows: pandas.DataFrame) -> pandas.Series[Any]:
    """Each row's status; a specimen that verification found wrong, as it must, is called rejected."""
    return rows["status"].mask((rows["status"] == "wrong") & (rows["role"] == "specimen"), REJECTED)


def reason_groups(rows: pandas.DataFrame) -> list[tuple[str, str, list[str], str]]:
    """(implementation, status, case keys, reason) of what has no time; alike reasons gathered.

    Refusals that differ in their numbers alone ("got 2048", "got 4096") count as alike, and so do all
    rejections of a specimen: the first reason is shown.
    """
    groups: dict[tuple[str, str, str], tuple[list[str], str]] = {}
    missing = rows[rows["status"] != "ok"].assign(status=shown_status)
    for name, status, case, reason in missing[["implementation", "status", "case", "reason"]].itertuples(index=False):
        pattern = "" if status == REJECTED else f"{case} {reason}"
        if status in ("unsupported", "skipped"):
            pattern = re.sub(r"\d+", "#", reason)
        cases, _ = groups.setdefault((name, status, pattern), ([], reason))
        if case not in cases:
            cases.append(case)
    return [(name, status, cases, reason) for (name, status, _), (cases, reason) in groups.items()]


def disturbed_groups(rows: pandas.DataFrame) -> list[tuple[str, str, list[str]]]:
    """(case, cache and what its samples were taken beside or under, implementations); counts of samples apart, alike
    rows are gathered with the words of the first."""
    groups: dict[tuple[str, str], tuple[str, list[str]]] = {}
    marked = rows[rows["disturbed"] != ""]
    for case, name, cache, said in marked[["case", "implementation", "cache", "disturbed"]].itertuples(index=False):
        _, names = groups.setdefault((case, re.sub(r"\d+", "#", f"{cache} {said}")), (f"{cache}: {said}", []))
        names.append(name)
    return [(case, what, names) for (case, _), (what, names) in groups.items()]


def ratio(value: float) -> str:
    """Two decimals, fewer from 10 on and three digits below 0.1: 2.05, 19.3, 0.052."""
    if value < 0.1:
        return digits(value, 2)
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def ratio_text(value: float | None) -> str:
    """`2.05x`; '' for None."""
    return "" if value is None else f"{ratio(value)}x"


def parse_loads(cell: str) -> dict[str, int]:
    """`x=4 mask=0` as {"x": 4, "mask": 0}."""
    return {name: int(count) for name, count in re.findall(r"([^\s=;,]+)=(\d+)", cell)}


def never_read(loads: Mapping[str, int]) -> str:
    """`never reads x`, or ''."""
    unread = [name for name, count in loads.items() if count == 0]
    return f"never reads {', '.join(unread)}" if unread else ""


def answer(verdicts: Sequence[Verdict], device: str) -> str:
    """The answer in a sentence: how many of the published claims hold on this GPU."""
    if not verdicts:
        return f"No published claim belongs to this suite; the times below are those of {device}."
    counts = {word: sum(verdict.verdict == word for verdict in verdicts) for word in VERDICTS}
    if len(verdicts) == 1:
        word = {"not measured": "was not measured"}.get(verdicts[0].verdict, verdicts[0].verdict)
        return f"The published claim {word} on {device}."
    verbs = {
        "holds": ("holds", "hold"),
        "holds in part": ("holds in part", "hold in part"),
        "does not hold": ("does not hold", "do not hold"),
        "not measured": ("was not measured", "were not measured"),
    }
    parts = [f"{counts[word]} {verbs[word][counts[word] != 1]}" for word in VERDICTS if counts[word]]
    return f"Of {len(verdicts)} published claims, {', '.join(parts)} on {device}."


def baselines(comparison: pandas.DataFrame) -> str:
    """Whom the speed-ups of a comparison divide by."""
    return ", ".join(dict.fromkeys(comparison["baseline"]))


def highlights(run: Run, comparison: pandas.DataFrame, limit: int = 6) -> list[str]:
    """The implementations that a chart colours: the baseline, those with published figures, then the fastest."""
    cited = comparison[comparison["published_speedup"].notna()]["implementation"].tolist()
    wanted = [*comparison["baseline"].tolist(), str(run.environment.get("baseline") or ""), *cited]
    timed = run.table[(run.table["status"] == "ok") & (run.table["role"] != "yardstick")]
    relative = timed["median_s"] / timed.groupby(["case", "cache", "method"])["median_s"].transform("min")
    by_speed = relative.groupby(timed["implementation"]).median().sort_values(kind="stable").index.tolist()
    present = set(timed["implementation"])
    return [name for name in dict.fromkeys([*wanted, *by_speed]) if name in present][:limit]
