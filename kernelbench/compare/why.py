"""Why a claim comes out as it does on the recorded run: sentences of the ledger, with numbers out of the run.

An entry lists them under `why:`, each for one verdict, so that none is shown beside another one:

    why:
      - verdict: does not hold
        source: machine code           # one of ledger_schema.SOURCES: what shows it
        text: >
          Both are {remainder.instructions} instructions, and take {remainder.time@rows=1024}.

No number is typed. `{NAME.VALUE}` is that of an implementation over all cases of the claim, as one number or from the
least to the largest; `@WORD WORD` narrows it to cases whose key has these words; `{NAME/OTHER.VALUE}` is a ratio. VALUE
is one of FACTS or a metric of the simulator's counters. `{TERM over TERM}` divides two that are one number each.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from math import prod

from kernelbench.compare import verdicts
from kernelbench.compare.code import code_of
from kernelbench.compare.judging import CACHE
from kernelbench.compare.measured import MeasuredCase, MeasuredRun, Timed
from kernelbench.core import units
from kernelbench.core.errors import InputError, ResultsError
from kernelbench.core.problems import nearest, suggest
from kernelbench.core.records import Claim
from kernelbench.explain.counted import METRICS
from kernelbench.runs.row_records import Row

_TERM = r"\w+(?:/\w+)?\.\w+(?:@[^{}]+?)?"
_PLACE = re.compile(rf"\{{({_TERM})(?: over ({_TERM}))?\}}")
_PARTS = re.compile(r"(\w+)(?:/(\w+))?\.(\w+)(?:@(.+))?")

Value = Callable[[MeasuredRun, MeasuredCase, str], float | None]


def _of_times(value: Callable[[MeasuredCase, Timed], float | None]) -> Value:
    def found(measured: MeasuredRun, case: MeasuredCase, name: str) -> float | None:
        timed = measured.best_method(case.key, name, CACHE)
        return value(case, timed) if timed else None

    return found


def _of_row(value: Callable[[Row], float | None]) -> Value:
    def found(measured: MeasuredRun, case: MeasuredCase, name: str) -> float | None:
        row = measured.first_row(case.key, name)
        return value(row) if row else None

    return found


def _instructions(measured: MeasuredRun, case: MeasuredCase, name: str) -> float | None:
    code = code_of(measured, case.key, name)
    return float(sum(count for _, count in code)) if code else None


def _whole(value: float) -> str:
    return units.count_text(round(value))


# What a run on a GPU says of an implementation beside its counts: a value, and how it is written.
FACTS: Mapping[str, tuple[Value, Callable[[float], str]]] = {
    "time": (_of_times(lambda case, timed: timed.median_s), units.time_text),
    # Least bytes over time.
    "rate": (_of_times(lambda case, timed: (case.bytes_moved or 0) / timed.median_s or None), units.rate_text),
    "share": (_of_times(lambda case, timed: timed.share_of_ceiling), units.share_text),  # of the ceiling
    "instructions": (_instructions, _whole),  # of the machine code of all launches
    "registers": (_of_row(lambda row: row.registers), _whole),
    "blocks": (_of_row(lambda row: prod(row.launches[0].grid) if row.launches else None), _whole),
    "threads": (_of_row(lambda row: row.launches[0].threads if row.launches else None), _whole),  # of a block
}


def ledger_reason(measured: MeasuredRun, claim: Claim, verdict: str) -> str:
    """What the ledger says of this verdict, with the run's numbers; '' where it says nothing of it.

    A text of which the runs have not every number is left out, and a sentence says so.
    """
    told = []
    for entry in claim.document.get("why", ()):
        if entry["verdict"] != verdict:
            continue
        try:
            told.append(_filled(measured, claim, entry["text"]))
        except ResultsError as error:
            told.append(f"Not explained: {error}.")
    return " ".join(told)


def reason_problems(text: str, names: Collection[str]) -> Iterator[str]:
    """What is wrong with the places of a text: unknown implementations, unknown values, braces of no place."""
    for first, second in _PLACE.findall(text):
        for term in filter(None, (first, second)):
            match = _PARTS.fullmatch(term)
            assert match is not None, term  # _PLACE has it
            name, other, what, _ = match.groups()
            yield from (
                f"{{{term}}}: no implementation: '{one}'{nearest(one, names)}"
                for one in filter(None, (name, other))
                if one not in names
            )
            if what not in FACTS and what not in METRICS:
                yield f"{{{term}}}: unknown value '{what}'{suggest(what, [*FACTS, *METRICS])}"
    if braces := re.findall(r"[{}][^{}]{0,40}", _PLACE.sub("", text)):
        yield f"expected places such as {{NAME.time}}, got {braces[0]!r}"


def _filled(measured: MeasuredRun, claim: Claim, text: str) -> str:
    def number(match: re.Match[str]) -> str:
        place = f"{claim.id}.yaml: why: {match[0]}"
        first, second = match.groups()
        values, written = _values(measured, first, place)
        if second is None:
            return verdicts.range_text(values, written)
        divisors, _ = _values(measured, second, place)
        if len(values) > 1 or len(divisors) > 1:
            raise InputError(f"{place}: {len(values)} numbers over {len(divisors)}; expected one over one")
        return units.digits(values[0] / divisors[0], 3)

    return _PLACE.sub(number, " ".join(text.split()))


def _values(measured: MeasuredRun, term: str, place: str) -> tuple[list[float], Callable[[float], str]]:
    """The numbers that a term stands for, and how one is written."""
    match = _PARTS.fullmatch(term)
    assert match is not None, term  # _PLACE has it
    name, other, what, words = match.groups()
    if what not in FACTS and what not in METRICS:
        known = ", ".join((*FACTS, *METRICS))
        raise InputError(f"{place}: unknown value '{what}'; expected one of {known}")
    wanted = set((words or "").split())
    found = [
        value
        for case in measured.cases
        if wanted <= {f"{word}={value}" for word, value in case.words.items()}
        for value in _numbers(measured, case, name, other, what)
    ]
    if not found:
        whose = "simulator's run" if what in METRICS else "run"
        raise ResultsError(f"the recorded {whose} of {measured.run.suite} has no {what} of {name}")
    return found, _text(what, ratio=other is not None)


def _numbers(measured: MeasuredRun, case: MeasuredCase, name: str, other: str | None, what: str) -> Iterator[float]:
    value = _number(measured, case, name, what)
    if value is None:
        return
    if other is None:
        yield value
    elif divisor := _number(measured, case, other, what):
        yield value / divisor


def _number(measured: MeasuredRun, case: MeasuredCase, name: str, what: str) -> float | None:
    if what in FACTS:
        return FACTS[what][0](measured, case, name)
    counted = measured.counted.get(case.key, {}).get(name)
    return counted.value(what) if counted else None


def _text(what: str, *, ratio: bool) -> Callable[[float], str]:
    if ratio:
        return lambda value: units.digits(value, 3)
    return FACTS[what][1] if what in FACTS else METRICS[what].text
