"""What a plan hands to compiler and kernels, looked at before it gets there: defines and scalars.

Plans may be anybody's code. A define becomes an option of nvcc, so it may hold nothing that is more than a name
and a value; a scalar that its C type cannot hold would arrive as another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from kernelbench import dtypes
from kernelbench.launching import Scalar

_DEFINE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_DEFINE_VALUE = re.compile(r"[A-Za-z0-9_.]{1,200}")


def define_problem(defines: Sequence[tuple[str, str | int]]) -> str:
    """What is wrong with the first define that is no C identifier with an integer or a word, or ''."""
    names = [name for name, _ in defines]
    for name, value in defines:
        if not isinstance(name, str) or not _DEFINE_NAME.fullmatch(name) or names.count(name) > 1:
            return f"define {name!r:.60}: expected a C identifier, each one once"
        if not isinstance(value, int) and not (isinstance(value, str) and _DEFINE_VALUE.fullmatch(value)):
            return f"define {name}={value!r:.60}: expected an integer, or letters, digits, '_' and '.'"
    return ""


def scalar_problem(scalar: Scalar) -> str:
    """What is wrong with an argument by value, or ''."""
    if scalar.dtype not in dtypes.NAMES or not isinstance(scalar.value, int | float):
        return f"Scalar({scalar.dtype!r:.40}, {scalar.value!r:.40}): expected a type such as 'int32', and a number"
    if "int" in scalar.dtype:
        limits = np.iinfo(dtypes.storage(scalar.dtype))
        if not isinstance(scalar.value, int) or not limits.min <= scalar.value <= limits.max:
            return f"Scalar('{scalar.dtype}', {scalar.value!r:.40}): expected {limits.min} to {limits.max}"
    return ""


def extent_problem(name: str, extent: object) -> str:
    """What is wrong with a grid or block, or ''."""
    if isinstance(extent, tuple) and len(extent) == 3 and all(isinstance(one, int) for one in extent):
        return ""
    return f"{name} must be three whole numbers, got {extent!r:.60}"
