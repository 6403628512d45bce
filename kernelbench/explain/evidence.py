"""Published explanations as statements that counters can decide.

An entry of the ledger lists them under `explanation:`, each about one metric of one implementation:

    explanation:
      - says: neighbouring threads with a strided index collide in banks
        of: tree_strided
        metric: bank_conflicts
        relation: more                  # more, less, at_most or times
        than: tree_sequential           # an implementation, or a number
        factor: 1.1                     # for more and less: at least so many times; for the others: the stated ratio

The right side of `times` may deviate by `within`, 5 % by default. `from_columns` restricts a statement to rows of at
least that length, `parameters` to cases with these values; `dtypes` and `parameters` of the claim apply too.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Literal

from kernelbench.core.operations import NORMAL
from kernelbench.core.records import Claim
from kernelbench.core.units import digits
from kernelbench.explain.counted import METRICS, Counted

Decision = Literal["confirmed", "contradicted", "not visible here"]

APART = 1.02  # default factor for `more` and `less`
WITHIN = 0.05


@dataclass(frozen=True)
class Statement:
    """A comparison of `metric` of the implementation `of` with that of another, or with a number."""

    claim: str  # id in the ledger
    says: str
    of: str
    metric: str
    relation: str
    than: str | float
    factor: float
    within: float
    from_columns: int = 0  # only rows of at least this length
    dtypes: tuple[str, ...] = ()  # only these types; empty for all
    parameters: tuple[tuple[str, object], ...] = ()  # only cases with these values

    @property
    def names(self) -> tuple[str, ...]:
        return (self.of, self.than) if isinstance(self.than, str) else (self.of,)


@dataclass(frozen=True)
class Evidence:
    """The decision of a statement by the counters of one case."""

    statement: Statement
    decision: Decision
    text: str  # both numbers, or why one is missing
    left: float = nan  # both sides, where it was decided
    right: float = nan


def claim_statements(claim: Claim) -> tuple[Statement, ...]:
    """The statements of a ledger entry, in the order of the file."""
    return tuple(_statement(claim, entry) for entry in claim.document.get("explanation", ()))


def _statement(claim: Claim, entry: Mapping[str, Any]) -> Statement:
    default = APART if entry["relation"] in ("more", "less") else 1.0
    return Statement(
        claim=claim.id,
        says=entry["says"],
        of=entry["of"],
        metric=entry["metric"],
        relation=entry["relation"],
        than=entry["than"],
        factor=entry.get("factor", default),
        within=entry.get("within", WITHIN),
        from_columns=entry.get("from_columns", 0),
        dtypes=tuple(claim.document.get("claim", {}).get("dtypes", ())),
        parameters=tuple(
            {**claim.document.get("claim", {}).get("parameters", {}), **entry.get("parameters", {})}.items()
        ),
    )


def _is_times(left: float, right: float, statement: Statement) -> bool:
    stated = right * statement.factor
    return abs(left - stated) <= statement.within * abs(stated)


# Relations between two numbers; a new one is one more entry.
RELATIONS: Mapping[str, Callable[[float, float, Statement], bool]] = {
    "more": lambda left, right, statement: left > right and left >= right * statement.factor,
    "less": lambda left, right, statement: left < right and left * statement.factor <= right,
    "at_most": lambda left, right, statement: left <= right * statement.factor,
    "times": _is_times,
}


BOUNDS = {"more": "at least", "less": "at most", "at_most": "at most"}  # words before an expected number


def decide(statement: Statement, case: Mapping[str, Counted]) -> Evidence:
    """Decide a statement on one case; `case` has the counted implementations by name."""
    sides = statement.names
    missing = [name for name in sides if name not in case]
    if missing:
        return Evidence(statement, "not visible here", f"{' and '.join(missing)}: not counted on this case")
    if reason := _out_of_scope(statement, case[statement.of]):
        return Evidence(statement, "not visible here", reason)
    values = [case[name].value(statement.metric) for name in sides]
    metric = METRICS[statement.metric]
    if None in values:
        nothing = " and ".join(name for name, value in zip(sides, values, strict=True) if value is None)
        return Evidence(statement, "not visible here", f"{nothing}: nothing to count ({metric.meaning})")
    left = float(values[0] or 0.0)
    right = float(values[1] or 0.0) if isinstance(statement.than, str) else float(statement.than)
    holds = RELATIONS[statement.relation](left, right, statement)
    return Evidence(statement, "confirmed" if holds else "contradicted", _text(statement, left, right), left, right)


def _out_of_scope(statement: Statement, one: Counted) -> str:
    """Why a statement does not apply to this case; '' if it does."""
    if one.columns is not None and one.columns < statement.from_columns:
        return f"rows of {one.columns}, but it is about rows of at least {statement.from_columns}"
    if statement.dtypes and one.dtype and one.dtype not in statement.dtypes:
        return f"{one.dtype}, but it is about {' and '.join(statement.dtypes)}"
    if not has_parameters(one.words, dict(statement.parameters)):
        return f"it is about cases with {', '.join(f'{name}={value}' for name, value in statement.parameters)}"
    return ""


def has_parameters(words: Mapping[str, str], wanted: Mapping[str, object]) -> bool:
    """Whether the case whose key has these words has these parameter values; parameters that its suite does not set
    count as false."""
    return all(words.get(name, str(False)) == str(value) for name, value in wanted.items())


def inputs_of(words: Mapping[str, str]) -> str:
    """The distribution of the inputs of the case whose key has these words."""
    return words.get("inputs", NORMAL)


def has_published_inputs(inputs: str, claim: Claim) -> bool:
    """Whether the source used such inputs: normal numbers by default, ones where it is flagged for constants."""
    return inputs == NORMAL or (inputs == "ones" and "input-constant" in claim.document["flags"])


def decide_all(claims: Iterable[Claim], case: Mapping[str, Counted], asked: Collection[str]) -> list[Evidence]:
    """Decide every statement of these entries that applies to this case, and names only implementations in `asked`."""
    return [
        decide(statement, case)
        for claim in claims
        for statement in claim_statements(claim)
        if all(has_published_inputs(inputs_of(one.words), claim) for one in case.values())
        and all(name in asked for name in statement.names)
        and not (statement.of in case and _out_of_scope(statement, case[statement.of]))
    ]


@dataclass(frozen=True)
class Across:
    """A statement over several cases: what the cases say on which it was decided."""

    statement: Statement
    decided: Sequence[Evidence]

    @property
    def seen(self) -> int:
        return len(self.decided)

    @property
    def decision(self) -> str:
        """`confirmed`, `confirmed on 2 of 3`, `contradicted`, `not visible here`."""
        confirmed = sum(one.decision == "confirmed" for one in self.decided)
        if not self.decided:
            return "not visible here"
        if confirmed == self.seen:
            return "confirmed"
        return f"confirmed on {confirmed} of {self.seen}" if confirmed else "contradicted"

    @property
    def numbers(self) -> str:
        """Both sides, from least to most: `strided 4.0 to 8.0, expected at least 4.0`. '' where nothing was visible."""
        if not self.decided:
            return ""
        text, than = METRICS[self.statement.metric].text, self.statement.than
        factor = 1.0 if isinstance(than, str) else self.statement.factor
        lefts, rights = ([one.left for one in self.decided], [factor * one.right for one in self.decided])
        left, right = (" to ".join(dict.fromkeys((text(min(values)), text(max(values))))) for values in (lefts, rights))
        expected = f"expected {BOUNDS.get(self.statement.relation, '')}".strip()
        return f"{self.statement.of} {left}, {than if isinstance(than, str) else expected} {right}"


def across(found: Iterable[Evidence]) -> list[Across]:
    """The statements over several cases, in the order in which they first occur."""
    by_statement: dict[Statement, list[Evidence]] = {}
    for one in found:
        by_statement.setdefault(one.statement, []).append(one)
    return [
        Across(statement, [one for one in own if one.decision != "not visible here"])
        for statement, own in by_statement.items()
    ]


def all_confirmed(found: Sequence[Evidence]) -> bool | None:
    """Whether all decided statements are confirmed; None if none was decided."""
    seen = [one.decision == "confirmed" for one in found if one.decision != "not visible here"]
    return all(seen) if seen else None


def _text(statement: Statement, left: float, right: float) -> str:
    """`tree_strided 3.30, tree_sequential 1.00`, and of `times` the ratio beside the expected one."""
    text = METRICS[statement.metric].text
    if not isinstance(statement.than, str):
        expected = f"expected {BOUNDS.get(statement.relation, '')} {text(right * statement.factor)}"
        return f"{statement.of} {text(left)}, {' '.join(expected.split())}"
    both = f"{statement.of} {text(left)}, {statement.than} {text(right)}"
    if statement.relation != "times" or not right:
        return both
    return f"{both}: {digits(left / right, 3)} times, expected {digits(statement.factor, 3)}"
