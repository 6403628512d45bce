"""Checks of what kernel folders define: fields of implementations and operations, and results of the functions of an
operation."""

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite, prod
from pathlib import Path
from typing import Any, get_args

from kernelbench.core import dtypes
from kernelbench.core.argument_checks import described
from kernelbench.core.cost_model import CostModel
from kernelbench.core.operations import BROADCAST, ArraySpec, Case, Fill, Operation, SpecialValues, Tolerance
from kernelbench.core.records import Deviation, Implementation, Origin
from kernelbench.core.tunable import Tunable
from kernelbench.planning.plan_checks import Known, fields_problem, is_c_name, is_whole, tuple_of


def _text(value: object) -> bool:
    return type(value) is str


def _number(value: object) -> bool:
    return type(value) in (int, float) and isfinite(value)  # type: ignore[arg-type]


def _one_of(*known: str) -> tuple[Callable[[Any], bool], str]:
    return lambda value: _text(value) and value in known, f"one of {', '.join(known)}"


def _or_none(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or holds(value)


def _tolerance(value: object) -> bool:
    return type(value) is Tolerance and all(_number(one) and one >= 0 for one in (value.relative, value.absolute))


def _deviation(value: object) -> bool:
    return type(value) is Deviation and _text(value.inputs) and _text(value.reason)


def _origin(value: object) -> bool:
    return type(value) is Origin and all(map(_text, (value.project, value.url, value.commit, value.differs)))


def _tunable(value: object) -> bool:
    return (
        type(value) is Tunable
        and isinstance(value.values, Mapping)
        and all(_text(name) and tuple_of(int)(tried) for name, tried in value.values.items())
        and tuple_of(str)(value.restrictions)
        and callable(value.layout)
        and tuple_of(Case)(value.cases)
        and _or_none(callable)(value.candidates)
        and _or_none(lambda one: type(one) is CostModel)(value.model)
    )


def _texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(_text(name) and _text(one) for name, one in value.items())


def _settings(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        _text(name) and type(one) in (int, float, str, bool) for name, one in value.items()
    )


_FUNCTION = (callable, "a function")
_FUNCTION_OR_NONE = (_or_none(callable), "a function or None")
IMPLEMENTATION: Known = {
    "name": (_text, "a text"),
    "summary": (_text, "a text"),
    "origin": (_origin, "an Origin of texts"),
    "plan": _FUNCTION_OR_NONE,
    "prepare": _FUNCTION_OR_NONE,
    "arithmetic": _one_of("accurate", "fast"),
    "role": _one_of("kernel", "peer", "yardstick", "specimen"),
    "extra_tolerance": (_or_none(_tolerance), "a Tolerance of numbers from 0 on, or None"),
    "reference": _FUNCTION_OR_NONE,
    "deviations": (
        lambda value: tuple_of(Deviation)(value) and all(map(_deviation, value)),
        "a tuple of Deviation(inputs, reason)",
    ),
    "tunable": (_or_none(_tunable), "a Tunable, its values tuples of ints by name, or None"),
    "source": (_or_none(lambda value: isinstance(value, Path)), "a Path or None"),
    "other_sources": (
        lambda value: tuple_of(str)(value) and all(re.fullmatch(r"\w{1,64}\.cu", one) for one in value),
        "a tuple of names like 'other.cu'",
    ),
}
OPERATION: Known = {
    "name": (_text, "a text"),
    "summary": (_text, "a text"),
    **dict.fromkeys(("arrays", "reference", "bytes_moved", "flops", "tolerance"), _FUNCTION),
    "large": _FUNCTION_OR_NONE,
    "parameters": (_settings, "a mapping of names to a number, True, False or a word"),
    "refused": (_texts, "a mapping of distributions to reasons"),
    "special": (_or_none(lambda value: type(value) is SpecialValues), "SpecialValues or None"),
    "moves": (lambda value: type(value) is bool, "True or False"),
}


def missing_source(implementation: Implementation, source: Path) -> Path | None:
    """The first of its sources that does not exist."""
    every = (source, *map(source.with_name, implementation.other_sources))
    return next((one for one in every if not one.exists()), None)


# ---- Results of the functions of an operation ----------------------------------------------------


_SPEC: Known = {
    "name": (is_c_name, "a name of C"),
    "shape": (lambda value: tuple_of(int)(value) and min(value, default=1) >= 1, "a tuple of ints from 1 on"),
    "dtype": _one_of(*dtypes.NAMES),
    "role": _one_of("input", "output"),
    "fill": _one_of(*get_args(Fill)),
    "largest": (_number, "a number"),
    "row": (lambda value: tuple_of(int)(value) and len(value) == 2, "a tuple of two ints"),
    "split": (lambda value: value == BROADCAST or (is_whole(value) and value >= 1), "an int from 1 on, or BROADCAST"),
}


def _arrays(operation: Operation, found: Any, case: Case) -> str:
    if type(found) not in (tuple, list) or not found or any(type(one) is not ArraySpec for one in found):
        return f"expected a tuple of ArraySpec, got {described(found)}"
    for number, spec in enumerate(found):
        if problem := fields_problem(spec, _SPEC):
            return f"[{number}].{problem}"
    names = [spec.name for spec in found]
    if len(set(names)) < len(names) or all(spec.role == "input" for spec in found):
        return f"expected names that differ and an output, got {', '.join(names)}"
    return _split(found)


def _split(specs: Sequence[ArraySpec]) -> str:
    """Outputs define the slices: inputs are cut alike, or every slice reads all of them."""
    outputs = [spec for spec in specs if spec.role == "output"]
    first = outputs[0]
    for spec in (*outputs, *specs):
        if spec.split == BROADCAST and spec.role == "output":
            return f"'{spec.name}' is an output, of which each slice makes a part: expected split=an int, got BROADCAST"
        if spec.split == BROADCAST:
            continue
        way_out = "" if spec.role == "output" else ", or split=BROADCAST where every slice reads all of it"
        if (elements := prod(spec.shape)) % spec.split:
            return f"'{spec.name}' has {elements} elements: expected split=a divisor of it{way_out}, got {spec.split}"
        if spec.split != first.split:
            return (
                f"'{spec.name}' is cut into {spec.split} and the output '{first.name}' into {first.split}: "
                f"expected the same split{way_out}"
            )
    inputs = [spec for spec in specs if spec.role == "input"]
    if first.split != 1 and all(spec.split == BROADCAST for spec in inputs):
        text = "no input is cut, so a slice cannot tell which it is"
        return f"{text}: expected split=1 of '{first.name}', got {first.split}"
    return ""


def _value(holds: Callable[[Any], bool], expected: str) -> Callable[..., str]:
    return lambda operation, found, case: "" if holds(found) else f"expected {expected}, got {described(found)}"


def _reference(operation: Operation, found: Any, xp: Any, case: Case, inputs: Mapping[str, Any]) -> str:
    """Each output must have the same fraction of its elements as the inputs that are cut; tried on some slices."""
    if not isinstance(found, Mapping):
        return f"expected outputs by name, got {described(found)}"
    specs = operation.arrays(case)
    expected = {str(one.dtype) for one in inputs.values()} if operation.moves else {"float64"}
    cut = (spec for spec in specs if spec.name in inputs and spec.split != BROADCAST)
    whole = next(((inputs[spec.name].size, prod(spec.shape)) for spec in cut), (1, 1))
    for spec in specs:
        if spec.role == "output":
            wanted = prod(spec.shape) * whole[0] // whole[1]
            got: Any = found.get(spec.name)
            dtype, size = getattr(got, "dtype", None), getattr(got, "size", None)
            if str(dtype) not in expected or size != wanted:
                what = described(got) if dtype is None or size is None else f"{size} of {dtype}"
                return f"expected {wanted} elements of {' or '.join(expected)} as '{spec.name}', got {what}"
    return ""


# By name of a function: what is wrong with its result for these arguments; '' if nothing.
RESULTS: Mapping[str, Callable[..., str]] = {
    "arrays": _arrays,
    "reference": _reference,
    "bytes_moved": _value(lambda found: is_whole(found) and found >= 1, "an int from 1 on"),
    "flops": _value(lambda found: is_whole(found) and found >= 0, "an int from 0 on"),
    "tolerance": _value(_tolerance, "a Tolerance of numbers from 0 on"),
    "large": _value(lambda found: _number(found) and found > 0, "a number above 0"),
}
