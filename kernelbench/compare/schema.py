"""What a ledger entry must say: keys, types and closed lists. Values are kept as the file has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from kernelbench.core import dtypes
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

Check = Callable[[Any], str]  # what is wrong with a value, "" for nothing


def text(value: Any) -> str:
    return "" if isinstance(value, str) and value.strip() else f"expected text, got {value!r:.80}"


def texts(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return ""
    return f"expected a list of words, got {value!r:.80}"


def positive(value: Any) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "" if number and 0 < value < float("inf") else f"expected a positive number, got {value!r:.80}"


def fraction(value: Any) -> str:
    return positive(value) or ("" if value <= 1 else f"expected a share of at most 1, got {value!r:.80}")


def whole(value: Any) -> str:
    good = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return "" if good else f"expected a positive whole number, got {value!r:.80}"


def whole_or_zero(value: Any) -> str:
    return "" if value == 0 and not _integer(value) else whole(value).replace("positive ", "")


def shape(value: Any) -> str:
    if value in (NOT_STATED, SEVERAL) or (isinstance(value, list) and value and not any(map(whole, value))):
        return ""
    return f"expected a list of extents, '{NOT_STATED}' or '{SEVERAL}', got {value!r:.80}"


def traffic(value: Any) -> str:
    good = isinstance(value, list) and len(value) == 2 and all(not positive(v) or v == 0 for v in value)
    return "" if good else f"expected [arrays, rows], as in 7 D + 4, got {value!r:.80}"


def bands(value: Any) -> str:
    good = isinstance(value, dict) and value and not any(map(_integer, value)) and all(map(_is_band, value.values()))
    return "" if good else f"expected a mapping of whole numbers to [low, high], got {value!r:.80}"


def _is_band(item: Any) -> bool:
    if not isinstance(item, list) or len(item) != 2 or any(number != 0 and positive(number) for number in item):
        return False
    return bool(item[0] < item[1])


def launches(value: Any) -> str:
    good = isinstance(value, list) and value and all(map(_is_launch, value))
    return "" if good else f"expected a list of mappings of shape, axis, grid and block, got {value!r:.80}"


def _is_launch(item: Any) -> bool:
    if not isinstance(item, dict) or set(item) != {"shape", "axis", "grid", "block"} or _integer(item["axis"]):
        return False
    return all(isinstance(item[name], list) and not shape(item[name]) for name in ("shape", "grid", "block"))


def _integer(value: Any) -> str:
    return (
        "" if isinstance(value, int) and not isinstance(value, bool) else f"expected a whole number, got {value!r:.80}"
    )


def _truth(value: Any) -> str:
    return "" if isinstance(value, bool) else f"expected true or false, got {value!r:.80}"


def _element_type(value: Any) -> str:
    return "" if value in (*dtypes.NAMES, NOT_STATED) else f"expected a dtype or '{NOT_STATED}', got {value!r:.80}"


def _mapping(value: Any) -> str:
    return "" if isinstance(value, dict) else f"expected a mapping, got {value!r:.80}"


def _list(value: Any) -> str:
    return "" if isinstance(value, list) else f"expected a list, got {value!r:.80}"


def _word_of(known: Mapping[str, Any]) -> Check:
    def check(value: Any) -> str:
        expected = f"expected one of {', '.join(known)}, got {value!r:.80}"
        return "" if isinstance(value, str) and value in known else expected + _nearest(value, known)

    return check


def _name_or_number(value: Any) -> str:
    """Whom or what a count is set against; 0 is a number like others."""
    return (
        "" if not text(value) or value == 0 or not positive(value) else f"expected a name or number, got {value!r:.80}"
    )


# Parameters of a claim by kind; `compare/kinds.py` says how each is judged.
KINDS: Mapping[str, Mapping[str, Check]] = {
    "faster": {"faster": text, "slower": text},
    "near_best": {"dispatched": text, "alternatives": texts, "within": fraction},
    "not_faster": {"suspect": text, "than": text},
    "bandwidth_share": {"reads_thrice": text, "reads_once": text, "share": fraction},
    "proportion": {
        "unfused": text,
        "fused": text,
        "published_unfused": traffic,
        "counted_unfused": traffic,
        "counted_fused": traffic,
        "tolerance": fraction,
    },
    "order": {"order": texts, "within": fraction},
    "level": {"names": texts, "within": fraction},
    "curve": {"of": text, "along": text, "base": whole_or_zero, "bands": bands, "trend": _word_of(TRENDS)},
    "under_ceiling": {"yardstick": text, "within": fraction},
    "step": {},
    "specimen": {"specimens": texts, "correct": text},
    "same_code": {"names": texts},
    "longer_code": {"longer": text, "shorter": text},
    "launch": {"of": text, "launches": launches},
    "explanation": {},
}
FIGURES_ONLY = "figures"  # the kind of an entry without a claim

_CLAIM: Mapping[str, Check] = {"kind": text, "suites": texts, "expected": text}
_CLAIM_OPTIONAL: Mapping[str, Check] = {
    "labels": _mapping,  # names for sentences
    "dtypes": texts,  # only these cases
    "parameters": _mapping,  # only cases with these values of the operation's parameters
    "from_columns": whole,  # only rows at least this long
    "caution": text,  # what to know of the published numbers wherever they are quoted
}
_ENTRY: Mapping[str, Check] = {
    "id": text,
    "title": text,
    "operation": text,
    "citation": _mapping,
    "device": _mapping,
    "tool": text,
    "clock": text,
    "cache": text,
    "input": text,
    "flags": _list,
    "note": text,
}
_ENTRY_OPTIONAL: Mapping[str, Check] = {
    "implementations": _mapping,
    "figures": _list,
    "claim": _mapping,
    "no_claim": text,  # instead of a claim: why there is none
    "explanation": _list,
    "why": _list,
}
VERDICTS = ("holds", "holds in part", "does not hold")
_WHY: Mapping[str, Check] = {
    "verdict": _word_of(dict.fromkeys(VERDICTS, "")),  # of the recorded run, which this explains
    "source": _word_of(SOURCES),
    "text": text,
}
_STATEMENT: Mapping[str, Check] = {
    "says": text,
    "of": text,
    "metric": _word_of(METRICS),
    "relation": _word_of(evidence.RELATIONS),
    "than": _name_or_number,
}
_STATEMENT_OPTIONAL: Mapping[str, Check] = {
    "factor": positive,
    "within": fraction,
    "from_columns": whole,
    "parameters": _mapping,
}
_CITATION: Mapping[str, Check] = dict.fromkeys(("project", "document", "url", "commit", "section"), text)
_DEVICE: Mapping[str, Check] = {"name": text, "stated": _truth}
_DEVICE_OPTIONAL: Mapping[str, Check] = {"peak_bytes_per_s": positive, "peak_source": text}
_FIGURE: Mapping[str, Check] = {"shape": shape, "axis": _integer, "dtype": _element_type}
_NUMBERS = ("us", "ms", "gb_per_s", "percent_of_peak", "speedup")  # each a mapping of implementation to number
_FIGURE_OPTIONAL: Mapping[str, Check] = {
    "bytes": whole,
    "what": text,
    "moved_bytes": _mapping,
    **dict.fromkeys(_NUMBERS, _mapping),
}


def problems(document: Any, file_stem: str) -> Iterator[str]:
    """Everything wrong with one entry, in words that name the key."""
    if not isinstance(document, dict):
        yield f"expected a mapping with id, title, citation, .., got {type(document).__name__}"
        return
    yield from _keys("", document, _ENTRY, _ENTRY_OPTIONAL)
    if document.get("id") != file_stem:
        yield f"id: expected '{file_stem}' as the file is named, got {document.get('id')!r:.80}"
    yield from _keys("citation", document.get("citation"), _CITATION, {})
    yield from _keys("device", document.get("device"), _DEVICE, _DEVICE_OPTIONAL)
    yield from _flag_problems(document.get("flags"))
    if isinstance(document.get("claim"), dict):
        yield from _claim_problems(document["claim"])
    if ("claim" in document) == ("no_claim" in document):
        yield "claim: expected either a claim, or no_claim with the reason why there is none"
    yield from _statement_problems(document)
    for index, entry in enumerate(document["why"] if isinstance(document.get("why"), list) else []):
        yield from _entry_problems(f"why[{index}]", entry, _WHY, {})
    figures = document.get("figures", [])
    names = document.get("implementations", {})
    for index, figure in enumerate(figures if isinstance(figures, list) else []):
        yield from _figure_problems(f"figures[{index}]", figure, names if isinstance(names, dict) else {})


def _keys(place: str, value: Any, required: Mapping[str, Check], optional: Mapping[str, Check]) -> Iterator[str]:
    if not isinstance(value, dict):
        return  # reported where the mapping itself is checked
    prefix = f"{place}." if place else ""
    for name in required:
        if name not in value:
            yield f"{prefix}{name}: missing"
    known = {**required, **optional}
    for name, item in value.items():
        if name not in known:
            yield f"{prefix}{name!s:.60}: unknown key{_nearest(name, known)}"
        elif wrong := known[name](item):
            yield f"{prefix}{name}: {wrong}"


def _flag_problems(flags: Any) -> Iterator[str]:
    for flag in flags if isinstance(flags, list) else []:
        if not isinstance(flag, str) or flag not in FLAGS:
            yield f"flags: unknown flag {flag!r:.80}{_nearest(flag, FLAGS)}"


def _claim_problems(claim: dict[str, Any]) -> Iterator[str]:
    kind = claim.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        yield f"claim.kind: expected one of {', '.join(KINDS)}, got {kind!r:.80}{_nearest(kind, KINDS)}"
        return
    yield from _keys("claim", claim, {**_CLAIM, **KINDS[kind]}, _CLAIM_OPTIONAL)


def _statement_problems(document: Mapping[str, Any]) -> Iterator[str]:
    """Wrong statements of the explanation; a claim that is an explanation must have some."""
    entries, claim = document.get("explanation", []), document.get("claim")
    if isinstance(claim, dict) and claim.get("kind") == "explanation" and not entries:
        yield "explanation: missing; expected statements that counters can decide, as the claim's kind asks for"
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        yield from _entry_problems(f"explanation[{index}]", entry, _STATEMENT, _STATEMENT_OPTIONAL)


def _entry_problems(
    place: str, entry: Any, required: Mapping[str, Check], optional: Mapping[str, Check]
) -> Iterator[str]:
    if isinstance(entry, dict):
        yield from _keys(place, entry, required, optional)
    else:
        yield f"{place}: expected a mapping, got {entry!r:.80}"


def _figure_problems(place: str, figure: Any, names: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(figure, dict):
        yield f"{place}: expected a mapping, got {figure!r:.80}"
        return
    yield from _keys(place, figure, _FIGURE, _FIGURE_OPTIONAL)
    unknown_bytes = not isinstance(figure.get("shape"), list) or figure.get("dtype") == NOT_STATED
    if unknown_bytes == ("bytes" in figure):
        yield f"{place}.bytes: expected exactly where shape and dtype are stated"
    if not any(name in figure for name in _NUMBERS):
        yield f"{place}: no number; expected one of {', '.join(_NUMBERS)}"
    for unit in (*_NUMBERS, "moved_bytes"):
        values = figure.get(unit, {})
        for name, value in values.items() if isinstance(values, dict) else ():
            if name not in names:
                yield f"{place}.{unit}.{name}: not among 'implementations'{_nearest(name, names)}"
            if wrong := positive(value):
                yield f"{place}.{unit}.{name}: {wrong}"


def _nearest(name: Any, known: Mapping[str, Any]) -> str:
    matches = get_close_matches(str(name)[:60], list(known), n=1)
    return f"; did you mean '{matches[0]}'?" if matches else ""
