"""The explanation of a case: metrics that differ, one sentence per rule that applies, bounds, and published
statements."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from kernelbench.core.counters import GROUPED
from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.records import Claim
from kernelbench.explain import evidence
from kernelbench.explain.bounds import tightest_bound
from kernelbench.explain.counted import METRICS, Counted
from kernelbench.explain.evidence import Evidence
from kernelbench.explain.findings import CaseExplanation, Link, Sentence
from kernelbench.explain.rules import RULES, Facts
from kernelbench.explain.source_lines import source_listings

APART = 1.05  # smallest ratio of the largest to the smallest value for which a metric has a column


def explain_case(
    case: str,
    counted: Mapping[str, Counted],
    gpu: DeviceProperties,
    claims: Iterable[Claim] = (),
    missing: Mapping[str, str] | None = None,
    *,
    lines: bool = False,
) -> CaseExplanation:
    """Explain one case on `gpu`. `claims`: entries of the ledger whose statements are decided; `missing`:
    implementations that were not counted, with the reason; `lines`: with their source lines."""
    found = evidence.decide_all(claims, counted, {*counted, *(missing or {})})
    bounds = {name: limit for name, one in counted.items() if (limit := tightest_bound(one, gpu))}
    return CaseExplanation(
        case=case,
        counted=counted,
        metrics=differing_metrics(list(counted.values())),
        sentences=tuple(case_sentences(counted, found)),
        bounds=bounds,
        evidence=tuple(found),
        missing=missing or {},
        listings=[listing for one in counted.values() for listing in source_listings(one)] if lines else (),
    )


def differing_metrics(counted: Sequence[Counted]) -> tuple[str, ...]:
    """Metrics that differ, or that only some have; for a single implementation all its metrics."""
    return tuple(name for name, metric in METRICS.items() if metric.shown and _differs(name, counted))


def _differs(metric: str, counted: Sequence[Counted]) -> bool:
    values = [one.value(metric) for one in counted]
    known = [value for value in values if value is not None]
    if not any(known):
        return False
    return len(values) == 1 or len(known) < len(values) or max(known) > APART * min(known)


def case_sentences(counted: Mapping[str, Counted], found: Sequence[Evidence] = ()) -> Iterable[Sentence]:
    """What the rules say of each implementation; `found`: decided statements to which sentences are relevant."""
    for name, one in counted.items():
        facts = Facts(one, counted)
        for rule in RULES:
            text = rule.says(facts)
            if text:
                yield Sentence(rule.name, name, text, _links(name, rule.about, found))
        for text in dict.fromkeys(_machine_code(one)):
            yield Sentence("machine_code", name, text)


def _machine_code(one: Counted) -> Iterable[str]:
    """How the machine code of each launch differs from its PTX, and whether counts follow it."""
    for shape, launch in zip_longest(one.shapes, one.launches):
        note, grouping = (shape.machine_code if shape else ""), (launch.grouping if launch else "")
        if note and not note.startswith("not available"):
            alone = grouping == GROUPED and "; " not in note
            if not grouping:
                yield f"{note} (counts here are of the PTX, a GPU's differ there)"
            else:
                others = "" if alone else "; other counts are of the PTX, a GPU's differ"
                yield f"{note}: shared accesses are {grouping}{others}"


def _links(name: str, about: Sequence[str], found: Sequence[Evidence]) -> tuple[Link, ...]:
    """Decided published statements about this implementation and one of these metrics."""
    links = [
        Link(one.statement.claim, one.decision)
        for one in found
        if one.statement.of == name and one.statement.metric in about and one.decision != "not visible here"
    ]
    return tuple(dict.fromkeys(links))
