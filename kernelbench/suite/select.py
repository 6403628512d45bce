"""Reduces a suite to some of its cases or implementations, for --filter and --only."""

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from kernelbench.core import places
from kernelbench.core.distributions import DISTRIBUTIONS
from kernelbench.core.errors import InputError
from kernelbench.core.operations import NORMAL, shape_text
from kernelbench.core.problems import quoted, suggest
from kernelbench.core.records import Case, Operation, Suite

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_TERM = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(==|!=|>=|<=|=|>|<)\s*([^\s=<>!]+)\s*")
_LISTED = 12  # values named in a message


@dataclass(frozen=True)
class _Term:
    text: str
    name: str
    sign: str
    value: int | float | str

    def holds(self, case: Case) -> bool:
        """Whether a case satisfies the term; False if it has no such axis or parameter."""
        got = _values(case).get(self.name)
        return got is not None and _OPERATORS[self.sign](got, self.value)


def select_cases(suite: Suite, filters: Sequence[str]) -> Suite:
    """The suite with the cases that satisfy all filters: 'seq=512', 'seq>=128,dtype=float16'.

    Names are the axes and parameters of the suite, and shape (32x64x16x16), axis, dtype, inputs. Raises InputError for
    a name that no case has, for a value of the wrong kind, and if no case is left.
    """
    terms = [_parse(suite, text) for given in filters for text in given.split(",")]
    cases = tuple(case for case in suite.cases if all(term.holds(case) for term in terms))
    if not cases:
        wanted = ", ".join(term.text for term in terms)
        there = "; ".join(f"{name} is {_listed(suite, name)}" for name in dict.fromkeys(term.name for term in terms))
        raise InputError(f"no case of suite '{suite.name}' has {wanted}; {there}")
    return replace(suite, cases=cases)


def select_part(suite: Suite, part: str) -> Suite:
    """The suite with one part of its cases: '2/4' is the second of four. Each case is in exactly one part.

    Cases are dealt by size to and fro (1 2 3 4, 4 3 2 1, ..), so that parts take about equally long. Raises InputError
    for a part that cannot be read, and for one without a case.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", part)
    number, parts = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= parts:
        raise InputError(f"--part {part}: expected K/N, as in 1/4 for the first of four parts")
    if number > len(suite.cases):
        raise InputError(f"--part {part}: suite '{suite.name}' has {len(suite.cases)} cases, so this part has none")
    turns = [*range(1, parts + 1), *range(parts, 0, -1)]
    by_size = sorted(suite.cases, key=lambda case: -prod(case.shape))
    own = {case.key for place, case in enumerate(by_size) if turns[place % len(turns)] == number}
    return replace(suite, cases=tuple(case for case in suite.cases if case.key in own))


def _suites_with(name: str, operations: Collection[str]) -> list[str]:
    """Shipped suites of these operations that have the implementation in their list."""
    item = re.compile(rf"(?:^ *- |[\[,] *){re.escape(name)} *(?:[],]|$)", re.MULTILINE)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(places.SUITES.glob("*.yaml"))}
    own = {stem: text for stem, text in texts.items() if any(f"\noperation: {one}\n" in text for one in operations)}
    return [stem for stem, text in own.items() if item.search(text.partition("\nimplementations:")[2])]


def select_implementations(suite: Suite, names: Sequence[str]) -> Suite:
    """The suite with only these implementations ('ft,oneflow' are two), in the suite's order, and with the cases that
    any of them runs.

    `baseline` is kept even if it is not among them, because claims refer to it. Raises InputError for a name that the
    suite does not have.
    """
    wanted = [name.strip() for given in names for name in given.split(",") if name.strip()]
    for name in wanted:
        if name not in suite.implementations:
            elsewhere = _suites_with(name, {case.operation for case in suite.cases})
            hint = f"; suites with it: {', '.join(elsewhere)}" if elsewhere else suggest(name, suite.implementations)
            raise InputError(f"suite '{suite.name}' has no implementation {quoted(name)}{hint}")
    if not wanted:
        raise InputError(f"no implementation named; suite '{suite.name}' has {', '.join(suite.implementations)}")
    chosen = replace(suite, implementations=tuple(name for name in suite.implementations if name in wanted))
    return replace(chosen, cases=tuple(case for case in suite.cases if chosen.names_for(case)))


def with_inputs(suite: Suite, operations: Mapping[str, Operation], names: Sequence[str]) -> Suite:
    """Each case of the suite on the named distributions, or on all, as far as its operation has them.

    Raises InputError for an unknown name, and for a distribution that no case has.
    """
    for name in names:
        if name not in DISTRIBUTIONS:
            raise InputError(f"unknown distribution {quoted(name)}{suggest(name, tuple(DISTRIBUTIONS))}")
    cases = tuple(dict.fromkeys(replace(case, inputs=NORMAL) for case in suite.cases))
    found: list[Case] = []
    for name in names or DISTRIBUTIONS:
        own = [replace(case, inputs=name) for case in cases if not operations[case.operation].refusal(name)]
        if names and not own:
            first = operations[cases[0].operation]
            raise InputError(f"{suite.name}: {first.name} has no {name} inputs: {first.refusal(name)}")
        found += own
    return replace(suite, cases=tuple(found))


def _values(case: Case) -> dict[str, int | float | str]:
    """All values of a case that a filter can use; booleans as `true` and `false`."""
    values: dict[str, int | float | str] = {
        "shape": shape_text(case.shape),
        "axis": case.axis,
        "dtype": case.dtype,
        "inputs": case.inputs,
    }
    for name, value in case.axes + case.parameters:
        values[name] = str(value).lower() if isinstance(value, bool) else value
    return values


def _parse(suite: Suite, text: str) -> _Term:
    names = list(dict.fromkeys(name for case in suite.cases for name in _values(case)))
    match = _TERM.fullmatch(text)
    if match is None:
        raise InputError(
            f"filter {quoted(text)} cannot be read; expected a term such as 'seq=512', with one of = != >= <= > <, "
            f"on {', '.join(names)}"
        )
    name, sign, word = match.groups()
    if name not in names:
        near = suggest(name, names)
        listed = "" if "expected one of" in near else f" ({', '.join(names)})"
        raise InputError(f"filter {quoted(text)}: suite '{suite.name}' has no axis {quoted(name)}{near}{listed}")
    known = {type(_values(case)[name]) for case in suite.cases if name in _values(case)}
    if str in known:
        if sign not in ("=", "==", "!="):
            raise InputError(f"filter {quoted(text)}: {name} is a word; expected '{name}=...' or '{name}!=...'")
        return _Term(text.strip(), name, sign, word.lower() if word.lower() in ("true", "false") else word)
    try:
        return _Term(text.strip(), name, sign, float(word))
    except ValueError:
        raise InputError(f"filter {quoted(text)}: {quoted(word)} is not a number") from None


def _listed(suite: Suite, name: str) -> str:
    values = list(dict.fromkeys(str(_values(case)[name]) for case in suite.cases if name in _values(case)))
    return ", ".join(values[:_LISTED]) + (", ..." if len(values) > _LISTED else "")
