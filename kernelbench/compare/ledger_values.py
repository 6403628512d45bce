"""What a value of a ledger entry may be: each check says what is wrong with a value, "" for nothing."""

from collections.abc import Callable, Mapping
from typing import Any

from kernelbench.core import dtypes
from kernelbench.core.problems import nearest

NOT_STATED = "not stated"  # written out wherever the source says nothing
SEVERAL = "several"  # shape of a mean over shapes that `what` names
FIGURES_OF_CASE = "figures"  # a factor: the ratio that the entry's own figures give for the case
QUOTED_WORDS = 15  # the most that a quotation may have

Check = Callable[[Any], str]  # what is wrong with a value, "" for nothing


def _check(expected: str, is_good: Callable[[Any], object]) -> Check:
    return lambda value: "" if is_good(value) else f"expected {expected}, got {value!r:.80}"


def one_of(known: Mapping[str, Any]) -> Check:
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
    lambda value: value == FIGURES_OF_CASE or _is_band(value) or (_is_number(value) and value > 0),
)
quotation = _check(
    f"a quotation of at most {QUOTED_WORDS} words",
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
