"""Choices as arguments of a plan: whole numbers by name, as searches try and tables keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, TypeVar

from kernelbench import Unsupported

Choice = TypeVar("Choice")  # a dataclass


def choice_values(choice: Any) -> dict[str, int]:
    """`{held: 1, lanes: 32, warps: 4, ..}`: the technique, then its fields. Words count 1, zeros are left out."""
    found = {type(choice).__name__.lower(): 1}
    for field in fields(choice):
        value = getattr(choice, field.name)
        if isinstance(value, str):
            found[value.replace("-", "_")] = 1
        elif isinstance(value, tuple):
            found |= {f"{field.name}_{number}": int(one) for number, one in enumerate(value, 1)}
        elif value:
            found[field.name] = int(value)
    return found


def choice_of_values(values: Mapping[str, int], candidates: Sequence[Choice]) -> Choice:
    """The candidate that has these values. Unsupported where none has."""
    wanted = dict(values)
    for one in candidates:
        if _values_once(one) == wanted:
            return one
    raise Unsupported("no candidate for this shape on this GPU has these values")


@lru_cache(maxsize=256)
def _values_once(choice: Any) -> dict[str, int]:
    """For `choice_of_values`, which compares a candidate's with those of each of the others."""
    return choice_values(choice)
