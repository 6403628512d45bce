"""What a ledger entry must say: keys, types and closed lists. Values are kept as the file has them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelbench.compare.ledger_values import (
    NOT_STATED,
    Check,
    at_least_one,
    bands,
    element_type,
    extents,
    factor,
    fraction,
    integer,
    launches,
    mapping,
    name_or_number,
    names_by_columns,
    one_of,
    positive,
    quotation,
    text,
    texts,
    traffic,
    truth,
    whole,
    whole_or_zero,
)
from kernelbench.compare.verdicts import DECIDED
from kernelbench.core.problems import nearest
from kernelbench.explain import evidence
from kernelbench.explain.counted import METRICS

FLAGS: Mapping[str, str] = {
    "kernel-not-as-described": "the timed code does not compute what the text says it computes",
    "input-constant": "timed on constant input, which can hide wrong results and compresses well",
    "above-peak": "bytes over time exceed the DRAM peak of the GPU: the data came from a cache, or the time is wrong",
    "metric-mismatch": "the published bandwidth or share of peak is not bytes over time",
    "units-mislabelled": "the published bandwidth is right in another unit than the one it is labelled with",
    "traffic-miscounted": "the published traffic is not what the launches it lists read and write",
    "device-not-stated": "the source names no GPU; peak and share rest on the guess that the device's name gives",
    "shape-not-stated": "the source names no shape, so bytes and bandwidth are unknown",
    "dtype-not-stated": "the source names no element type, so bytes and bandwidth are unknown",
    "unit-not-stated": "the source gives numbers without a unit; the entry says how they were read",
    "tool-not-stated": "the source does not say how the times were taken",
    "clock-not-stated": "the source does not say whether GPU clocks were fixed",
    "cache-state-not-stated": "the source does not say whether the L2 was cleared before each timing",
    "end-to-end": "the figure is of a whole program, most of which is not what is compared here",
    "excerpt": "rows or columns of the source are left out because they could not be read",
    "source-not-located": "known from a quotation only; the original page was not found",
}

TRENDS: Mapping[str, str] = {"falls": "falling", "rises": "rising", "any": ""}  # of a curve, and how it is told

# What shows why a claim comes out as it does on the recorded run.
SOURCES: Mapping[str, str] = {
    "counters": "what the simulator counted of the same kernels on the same case",
    "machine code": "the code that ran, as its run recorded it or as nvdisasm shows it",
    "launches": "grid, block and shared memory of what ran, as its run recorded them",
    "times": "other times of the same run",
}


def flag(value: Any) -> str:
    known = isinstance(value, str) and value in FLAGS
    return "" if known else f"unknown flag {value!r:.80}{nearest(str(value), FLAGS)}"


# ---- What an entry holds -------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """A mapping: its keys with what they hold, a check, a record, or a list of either as a list of one."""

    required: Mapping[str, Any]
    optional: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ClaimKind:
    """What a claim of one kind has: its own keys, and whether it asks for a direction and a size; `compare/kinds.py`
    says how each is judged."""

    keys: Mapping[str, Check]
    direction: bool = True
    size: Mapping[str, Check] | None = None  # its number; None: the kind has no size
    size_required: bool = False
    optional: Mapping[str, Check] = field(default_factory=dict)


_WITHIN = {"within": fraction}
_FACTOR = {"factor": factor}

KINDS: Mapping[str, ClaimKind] = {
    "faster": ClaimKind({"faster": text, "slower": text}, size=_FACTOR, optional={"some": truth}),
    "not_faster": ClaimKind({"suspect": text, "than": text}),
    "order": ClaimKind({"order": texts}, size=_FACTOR),
    "step": ClaimKind({}, size=_FACTOR),
    "specimen": ClaimKind({"specimens": texts, "correct": text}, optional={"slower_than": text}),
    "same_code": ClaimKind({"names": texts}),
    "longer_code": ClaimKind({"longer": text, "shorter": text}, size=_FACTOR),
    "more_registers": ClaimKind({"order": texts}),
    "explanation": ClaimKind({}),
    "proportion": ClaimKind(
        {
            **{"unfused": text, "fused": text},
            **dict.fromkeys(("published_unfused", "counted_unfused", "counted_fused"), traffic),
        },
        size=_WITHIN,
        size_required=True,
    ),
    "curve": ClaimKind(
        {"of": text, "along": text, "base": whole_or_zero, "trend": one_of(TRENDS)},
        size={"bands": bands},
        size_required=True,
    ),
    "near_best": ClaimKind(
        {"dispatched": text, "alternatives": texts},
        direction=False,
        size=_WITHIN,
        size_required=True,
        optional={"up_to": names_by_columns},
    ),
    "bandwidth_share": ClaimKind(
        {"reads_thrice": text, "reads_once": text}, direction=False, size={"share": fraction}, size_required=True
    ),
    "level": ClaimKind({"names": texts}, direction=False, size=_WITHIN, size_required=True),
    "under_ceiling": ClaimKind({"yardstick": text}, direction=False, size=_WITHIN, size_required=True),
    "launch": ClaimKind({"of": text}, direction=False, size={"launches": launches}, size_required=True),
}
FIGURES_ONLY = "figures"  # the kind of an entry without a claim
NUMBERS = ("us", "ms", "gb_per_s", "percent_of_peak", "speedup")  # each a mapping of implementation to number

CLAIM = Record(
    {"kind": one_of(KINDS), "suites": texts},
    {
        "labels": mapping,  # names for sentences
        "dtypes": texts,  # only these cases
        "parameters": mapping,  # only cases with these values of the operation's parameters
        "from_columns": whole,  # only rows at least this long
        "caution": text,  # what to know of the published numbers wherever they are quoted
    },
)
# Who asks for it: the source, in a quotation, or this project, with its reason. Exactly one of both.
ASKED = {"stated": quotation, "set": text}
TOLERANCE = {"tolerance": at_least_one, "tolerance_stated": quotation, "tolerance_set": text}
STATEMENT = Record(
    {
        "says": text,
        "of": text,
        "metric": one_of(METRICS),
        "relation": one_of(evidence.RELATIONS),
        "than": name_or_number,
    },
    {"factor": positive, "within": fraction, "from_columns": whole, "parameters": mapping},
)
FIGURE = Record(
    {"shape": extents, "axis": integer, "dtype": element_type},
    {"bytes": whole, "what": text, "moved_bytes": mapping, **dict.fromkeys(NUMBERS, mapping)},
)
WHY = Record(
    {
        "verdict": one_of(dict.fromkeys(DECIDED)),  # of the recorded run, which this explains
        "source": one_of(SOURCES),
        "text": text,
    }
)
ENTRY = Record(
    {
        **dict.fromkeys(("id", "title", "operation", "tool", "clock", "cache", "input", "note"), text),
        "citation": Record(dict.fromkeys(("project", "document", "url", "commit", "section"), text)),
        "device": Record({"name": text, "stated": truth}, {"peak_bytes_per_s": positive, "peak_source": text}),
        "flags": [flag],
    },
    {
        "implementations": mapping,
        "figures": [FIGURE],
        "claim": mapping,  # a CLAIM with the parameters of its kind
        "no_claim": text,  # instead of a claim: why there is none
        "said": quotation,  # where neither direction nor size is stated: what the source says of it
        "bent": text,  # what keeps a compiler from undoing the effect that the claim is about
        "explanation": [STATEMENT],
        "why": [WHY],
    },
)


# ---- What is wrong with one ----------------------------------------------------------------------


def schema_problems(document: Any, file_stem: str) -> Iterator[str]:
    """Everything wrong with one entry, in words that name the key."""
    yield from _problems("", document, ENTRY)
    if not isinstance(document, dict):
        return
    if document.get("id") != file_stem:
        yield f"id: expected '{file_stem}' as the file is named, got {document.get('id')!r:.80}"
    if ("claim" in document) == ("no_claim" in document):
        yield "claim: expected either a claim, or no_claim with the reason why there is none"
    if isinstance(claim := document.get("claim"), dict):
        yield from _claim_problems(claim, document)
    names = document.get("implementations")
    figures = document.get("figures")
    for index, figure in enumerate(figures if isinstance(figures, list) else ()):
        if isinstance(figure, dict):
            yield from _figure_problems(f"figures[{index}]", figure, names if isinstance(names, dict) else {})


def _problems(place: str, value: Any, expected: Any) -> Iterator[str]:
    if isinstance(expected, list):
        if not isinstance(value, list):
            yield f"{place}: expected a list, got {value!r:.80}"
            return
        for index, item in enumerate(value):
            yield from _problems(f"{place}[{index}]", item, expected[0])
    elif not isinstance(expected, Record):
        if wrong := expected(value):
            yield f"{place}: {wrong}"
    elif not isinstance(value, dict):
        yield f"{place}: expected a mapping, got {value!r:.80}"
    else:
        prefix = f"{place}." if place else ""
        known = {**expected.required, **expected.optional}
        yield from (f"{prefix}{name}: missing" for name in expected.required if name not in value)
        for name, item in value.items():
            if name in known:
                yield from _problems(f"{prefix}{name}", item, known[name])
            else:
                yield f"{prefix}{name!s:.60}: unknown key{nearest(str(name), known)}"


def _claim_problems(claim: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    """Wrong keys of the claim's kind; a claim that is an explanation must have statements."""
    name: Any = claim.get("kind")
    if wrong := CLAIM.required["kind"](name):
        yield f"claim.kind: {wrong}"
        return
    kind = KINDS[name]
    has_direction = kind.direction and claim.get("trend") != "any"
    parts = ({"direction": mapping} if has_direction else {}) | ({"size": mapping} if kind.size_required else {})
    optional = {} if kind.size is None or kind.size_required else {"size": mapping}
    expected = Record({**CLAIM.required, **kind.keys, **parts}, {**CLAIM.optional, **kind.optional, **optional})
    yield from _problems("claim", claim, expected)
    if has_direction and isinstance(claim.get("direction"), dict):
        yield from _asked_problems("claim.direction", claim["direction"], Record({}, ASKED))
    if kind.size and isinstance(size := claim.get("size"), dict):
        with_tolerance = TOLERANCE if "factor" in kind.size else {}
        yield from _asked_problems("claim.size", size, Record(kind.size, {**ASKED, **with_tolerance}))
        if "tolerance" in size and ("tolerance_stated" in size) == ("tolerance_set" in size):
            yield "claim.size.tolerance: expected either tolerance_stated, a quotation, or tolerance_set, the reason"
    quoted = [claim[part] for part in ("direction", "size") if isinstance(claim.get(part), dict)]
    if "said" not in document and not any("stated" in part for part in quoted):
        yield "said: missing; expected a quotation, as neither direction nor size is stated"
    if name == "explanation" and not document.get("explanation"):
        yield "explanation: missing; expected statements that counters can decide, as the claim's kind asks for"


def _asked_problems(place: str, asked: Mapping[str, Any], expected: Record) -> Iterator[str]:
    yield from _problems(place, asked, expected)
    if ("stated" in asked) == ("set" in asked):
        yield f"{place}: expected either 'stated', a quotation of the source, or 'set', why this project asks for it"


def _figure_problems(place: str, figure: Mapping[str, Any], names: Mapping[str, Any]) -> Iterator[str]:
    unknown_bytes = not isinstance(figure.get("shape"), list) or figure.get("dtype") == NOT_STATED
    if unknown_bytes == ("bytes" in figure):
        yield f"{place}.bytes: expected exactly where shape and dtype are stated"
    if not any(name in figure for name in NUMBERS):
        yield f"{place}: no number; expected one of {', '.join(NUMBERS)}"
    for unit in (*NUMBERS, "moved_bytes"):
        values = figure.get(unit)
        for name, value in values.items() if isinstance(values, dict) else ():
            if name not in names:
                yield f"{place}.{unit}.{name}: not among 'implementations'{nearest(str(name), [*map(str, names)])}"
            if wrong := positive(value):
                yield f"{place}.{unit}.{name}: {wrong}"
