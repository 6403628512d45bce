"""The contents of a suite that a run keeps, so that it is never mixed with another suite of the same name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernelbench.core.records import Suite


def contents_of(suite: Suite) -> dict[str, Any]:
    """The suite of the file, before --only and --filter: the operation of every case by its key, which has shape, axis,
    dtype, inputs and parameters; implementations, baseline and step."""
    whole = suite.whole or suite
    return {
        "cases": {case.key: case.operation for case in whole.cases},
        "implementations": list(whole.implementations),
        "baseline": whole.baseline,
        "step": [[part.name, part.calls, part.unfused, part.fused] for part in whole.step.parts] if whole.step else [],
    }


def suite_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Each difference between two suites in a few words; both are `contents_of` a suite."""
    if other := list(_other_operation(then["cases"], now["cases"])):
        yield from other  # all other differences follow from it
        return
    for what in ("case", "implementation"):
        before, after = then[f"{what}s"], now[f"{what}s"]
        known, there = set(before), set(after)
        yield from _changed(what, "was added", [one for one in after if one not in known])
        yield from _changed(what, "was removed", [one for one in before if one not in there])
    if then.get("baseline") != now["baseline"]:
        yield f"its baseline was {then.get('baseline') or 'none'}, now it is {now['baseline'] or 'none'}"
    if then.get("step") != now["step"]:
        yield "the parts of its step have other calls or other implementations"


def suite_contradictions(then: Mapping[str, str], now: Mapping[str, Any]) -> Iterator[str]:
    """Signs that a run belongs to another suite, if its environment.json has no contents. `then`: operations of its
    rows, by case."""
    yield from _other_operation(then, now["cases"])
    yield from _changed("case", "is not in it", [one for one in then if one not in now["cases"]])


def _other_operation(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    if not set(then.values()) <= set(now.values()):
        before, after = (", ".join(sorted(set(one.values()))) for one in (then, now))
        yield f"its operation was {before}, now it is {after}"
    elif other := [case for case in then if case in now and now[case] != then[case]]:
        yield f"case '{other[0]}' was of {then[other[0]]}, now it is of {now[other[0]]}"


def _changed(what: str, became: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        more = f", as well as {len(names) - 1} more" if len(names) > 1 else ""
        yield f"{what} '{names[0]}' {became}{more}"
