"""What a ledger entry must say: keys, types and closed lists. Values are kept as the file has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelbench.compare.verdicts import DECIDED
from kernelbench.core import dtypes
from kernelbench.core.problems import nearest
from kernelbench.explain import evidence
from kernelbench.explain.counted import METRICS

NOT_STATED = "not stated"  # written out wherever the source says nothing
SEVERAL = "several"  # shape of a mean over shapes that `what` names

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

# ---- What a value may be -------------------------------------------------------------------------

Check = Callable[[Any], str]  # what is wrong with a value, "" for nothing


def _check(expected: str, is_good: Callable[[Any], object]) -> Check:
    return lambda value: "" if is_good(value) else f"expected {expected}, got {value!r:.80}"


def _one_of(known: Mapping[str, Any]) -> Check:
    plain = _check(f"one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known)
    return lambda value: (wrong := plain(value)) and wrong + nearest(str(value), known)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_whole(value: Any, least: float = float("-inf")) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_list(value: Any, is_good: Callable[[Any], object], length: int | None = None) -> bool:
    """Whether it is a list with at least one item, `length` where that is given, and only good ones."""
    return isinstance(value, list) and len(value) > 0 and length in (None, len(value)) and all(map(is_good, value))


def _is_extents(value: Any) -> bool:
    return value in (NOT_STATED, SEVERAL) or _is_list(value, lambda item: _is_whole(item, 1))


def _is_band(value: Any) -> bool:
    return _is_list(value, _is_number, 2) and bool(value[0] < value[1])


def _is_launch(item: Any) -> bool:
    if not isinstance(item, dict) or set(item) != {"shape", "axis", "grid", "block"} or not _is_whole(item["axis"]):
        return False
    return all(isinstance(item[name], list) and _is_extents(item[name]) for name in ("shape", "grid", "block"))


text = _check("text", lambda value: isinstance(value, str) and value.strip())
texts = _check("a list of words", lambda value: _is_list(value, lambda item: isinstance(item, str)))
truth = _check("true or false", lambda value: isinstance(value, bool))
positive = _check("a positive number", lambda value: _is_number(value) and value > 0)
at_least_one = _check("a factor of at least 1", lambda value: _is_number(value) and value >= 1)
fraction = _check("a share of at most 1", lambda value: _is_number(value) and 0 < value <= 1)
integer = _check("a whole number", _is_whole)
whole = _check("a positive whole number", lambda value: _is_whole(value, 1))
whole_or_zero = _check("a whole number from 0 on", lambda value: _is_whole(value, 0))
name_or_number = _check("a name or number", lambda value: not text(value) or _is_number(value))
mapping = _check("a mapping", lambda value: isinstance(value, dict))
extents = _check(f"a list of extents, '{NOT_STATED}' or '{SEVERAL}'", _is_extents)
element_type = _check(f"a dtype or '{NOT_STATED}'", lambda value: value in (*dtypes.NAMES, NOT_STATED))
traffic = _check("[arrays, rows], as in 7 D + 4", lambda value: _is_list(value, _is_number, 2))
bands = _check(
    "a mapping of whole numbers to [low, high]",
    lambda value: isinstance(value, dict) and value and all(_is_whole(key) and _is_band(value[key]) for key in value),
)
factor = _check(
    "a positive number, a range [low, high] or 'figures'",
    lambda value: value == "figures" or _is_band(value) or (_is_number(value) and value > 0),
)
quotation = _check(
    "a quotation of at most 15 words",
    lambda value: isinstance(value, str) and 0 < len(value.split()) <= QUOTED_WORDS,
)
names_by_columns = _check(
    "a mapping of whole numbers to names, in rising order",
    lambda value: (
        isinstance(value, dict)
        and value
        and all(_is_whole(key, 1) and isinstance(value[key], str) for key in value)
        and list(value) == sorted(value)
    ),
)
launches = _check("a list of mappings of shape, axis, grid and block", lambda value: _is_list(value, _is_launch))


def flag(value: Any) -> str:
    known = isinstance(value, str) and value in FLAGS
    return "" if known else f"unknown flag {value!r:.80}{nearest(str(value), FLAGS)}"


# ---- What an entry holds -------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """A mapping: its keys with what they hold, a check, a record, or a list of either as a list of one."""

    required: Mapping[str, Any]
    optional: Mapping[str, Any] = field(default_factory=dict)


QUOTED_WORDS = 15  # the most that a quotation may have

# The number of a size may be 2, a range [1.4, 2.7], or the ratio that the entry's own figures give for the case.
FIGURES_OF_CASE = "figures"


@dataclass(frozen=True)
class Kind:
    """What a claim of one kind has: its own keys, and whether it asks for a direction and a size; `compare/kinds.py`
    says how each is judged."""

    keys: Mapping[str, Check]
    direction: bool = True
    size: Mapping[str, Check] | None = None  # its number; None: the kind has no size
    size_required: bool = False
    optional: Mapping[str, Check] = field(default_factory=dict)


_WITHIN = {"within": fraction}
_FACTOR = {"factor": factor}

KINDS: Mapping[str, Kind] = {
    "faster": Kind({"faster": text, "slower": text}, size=_FACTOR),
    "not_faster": Kind({"suspect": text, "than": text}),
    "order": Kind({"order": texts}, size=_FACTOR),
    "step": Kind({}, size=_FACTOR),
    "specimen": Kind({"specimens": texts, "correct": text}, optional={"slower_than": text}),
    "same_code": Kind({"names": texts}),
    "longer_code": Kind({"longer": text, "shorter": text}, size=_FACTOR),
    "more_registers": Kind({"order": texts}),
    "explanation": Kind({}),
    "proportion": Kind(
        {
            **{"unfused": text, "fused": text},
            **dict.fromkeys(("published_unfused", "counted_unfused", "counted_fused"), traffic),
        },
        size=_WITHIN,
        size_required=True,
    ),
    "curve": Kind(
        {"of": text, "along": text, "base": whole_or_zero, "trend": _one_of(TRENDS)},
        size={"bands": bands},
        size_required=True,
    ),
    "near_best": Kind(
        {"dispatched": text, "alternatives": texts},
        direction=False,
        size=_WITHIN,
        size_required=True,
        optional={"up_to": names_by_columns},
    ),
    "bandwidth_share": Kind(
        {"reads_thrice": text, "reads_once": text}, direction=False, size={"share": fraction}, size_required=True
    ),
    "level": Kind({"names": texts}, direction=False, size=_WITHIN, size_required=True),
    "under_ceiling": Kind({"yardstick": text}, direction=False, size=_WITHIN, size_required=True),
    "launch": Kind({"of": text}, direction=False, size={"launches": launches}, size_required=True),
}
FIGURES_ONLY = "figures"  # the kind of an entry without a claim
NUMBERS = ("us", "ms", "gb_per_s", "percent_of_peak", "speedup")  # each a mapping of implementation to number

CLAIM = Record(
    {"kind": _one_of(KINDS), "suites": texts},
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
        "metric": _one_of(METRICS),
        "relation": _one_of(evidence.RELATIONS),
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
        "verdict": _one_of(dict.fromkeys(DECIDED)),  # of the recorded run, which this explains
        "source": _one_of(SOURCES),
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
        "bent": text,  # what keeps a compiler from undoing the effect that the claim is about
        "explanation": [STATEMENT],
        "why": [WHY],
    },
)


# ---- What is wrong with one ----------------------------------------------------------------------


def problems(document: Any, file_stem: str) -> Iterator[str]:
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
