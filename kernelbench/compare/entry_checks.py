"""Every mistake of one ledger entry at once, for who writes it: its form, and the names that it uses."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from kernelbench.compare import why
from kernelbench.compare.ledger import read_ledger_entry
from kernelbench.core.problems import nearest

# Keys of a claim whose values are implementations, one or several.
_NAMES = (
    *("faster", "slower", "suspect", "than", "order", "specimens", "correct", "slower_than", "names", "longer"),
    *("shorter", "unfused", "fused", "of", "dispatched", "alternatives", "up_to", "reads_thrice", "reads_once"),
    "yardstick",
)


def check_entry(
    path: Path, implementations: Mapping[str, Collection[str]], suites: Mapping[str, Collection[str]]
) -> None:
    """ProblemsError with all that is wrong in the file, each mistake with its line.

    `implementations`: names by operation, specimens among them; `suites`: who each suite measures.
    """
    every = {name for names in implementations.values() for name in names}

    def further(document: Mapping[str, Any]) -> Iterator[str]:
        yield from _name_problems(document, implementations, suites)
        for index, entry in enumerate(document.get("why", ())):
            yield from (f"why[{index}].text: {text}" for text in why.reason_problems(entry["text"], every))

    read_ledger_entry(path, further)


def _name_problems(
    document: Mapping[str, Any], implementations: Mapping[str, Collection[str]], suites: Mapping[str, Collection[str]]
) -> Iterator[str]:
    operation, claim = document["operation"], document.get("claim", {})
    if not claim or claim["kind"] == "step":
        return  # published figures may be of anything, and a step is of several operations
    if operation not in implementations:
        yield f"operation: unknown operation '{operation}'{nearest(operation, implementations)}"
        return
    for index, suite in enumerate(claim.get("suites", ())):
        if suite not in suites:
            yield f"claim.suites[{index}]: unknown suite '{suite}'{nearest(suite, suites)}"
    measured = {name for suite in claim.get("suites", ()) for name in suites.get(suite, ())}
    for place, name in _named(claim):
        if name not in implementations[operation]:
            yield f"{place}: no implementation of {operation}: '{name}'{nearest(name, implementations[operation])}"
        elif measured and name not in measured:
            yield f"{place}: none of the claim's suites measures {name}; they have {', '.join(sorted(measured))}"
    every = {name for names in implementations.values() for name in names}
    for index, statement in enumerate(document.get("explanation", ())):
        for key in ("of", "than"):
            name = statement[key]
            if isinstance(name, str) and name not in every:
                yield f"explanation[{index}].{key}: no implementation: '{name}'{nearest(name, every)}"


def _named(claim: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each implementation that the claim names, with its place."""
    for key in _NAMES:
        value = claim.get(key, ())
        if isinstance(value, str):
            yield f"claim.{key}", value
        elif isinstance(value, Mapping):
            yield from ((f"claim.{key}.{point}", name) for point, name in value.items())
        else:
            yield from ((f"claim.{key}[{index}]", name) for index, name in enumerate(value))
