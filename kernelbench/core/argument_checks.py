"""Checks of the defines and scalars of a plan, before they reach the compiler and the kernels.

Plans may be anybody's code. A define becomes an option of nvcc, so it may hold only a name and a value; a scalar that
does not fit its C type would arrive as another value.
"""

import re
from collections.abc import Sequence

import numpy as np

from kernelbench.core import dtypes
from kernelbench.core.launching import Scalar, TensorMap
from kernelbench.core.tensor_maps import Tiling

_DEFINE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_DEFINE_VALUE = re.compile(r"[A-Za-z0-9_.]{1,200}")
_INTEGERS = range(-(2**63), 2**64)  # integers of 64 bits, signed or not
_SCALARS = tuple(name for name in dtypes.NAMES if name != "bfloat16")  # NumPy has no bfloat16


def described(value: object) -> str:
    """Any value as a short text, with its type where needed: `'yes'`, `1.5`, `list [1]`."""
    try:
        text = f"{value!r:.60}"
    except Exception:  # repr() fails for an integer of 5,000 digits, and may fail for a class of the user's
        return f"{type(value).__name__} that cannot be shown"
    return text if value is None or type(value) in (str, bool, int, float) else f"{type(value).__name__} {text}"


def define_problem(defines: Sequence[tuple[str, str | int]]) -> str:
    """What is wrong with the first define that is not a C identifier with an integer or a word; '' if nothing."""
    names = [name for name, _ in defines]
    for name, value in defines:
        if type(name) is not str or not _DEFINE_NAME.fullmatch(name) or names.count(name) > 1:
            return f"define {described(name)}: expected a C identifier, each one once"
        number = type(value) in (int, bool) and value in _INTEGERS
        if not number and not (type(value) is str and _DEFINE_VALUE.fullmatch(value)):
            return f"define {name}={described(value)}: expected an integer of 64 bits, or letters, digits, '_' and '.'"
    return ""


def scalar_problem(scalar: Scalar) -> str:
    """What is wrong with an argument passed by value; '' if nothing."""
    dtype, value = scalar.dtype, scalar.value
    text = f"Scalar({described(dtype)}, {described(value)})"
    if type(dtype) is not str or dtype not in _SCALARS:
        return f"{text}: expected a type of {', '.join(_SCALARS)}"
    if type(value) not in (int, float):
        return f"{text}: expected a number, an int or a float"
    if "int" in dtype:
        limits = np.iinfo(dtypes.storage(dtype))
        if type(value) is not int or not limits.min <= value <= limits.max:
            return f"{text}: expected {limits.min} to {limits.max}"
        return ""
    most = dtypes.overflow(dtype) if dtype != "float64" else 2**1024
    infinite = type(value) is float and not np.isfinite(value)  # every floating-point type holds inf and NaN
    return "" if infinite or -most < value < most else f"{text}: more than {dtype} holds"


def tensor_map_problem(one: TensorMap) -> str:
    """What is wrong with a tensor map; '' if nothing."""
    tiling = one.tiling
    if type(one.array) is not str or type(tiling) is not Tiling:
        return f"TensorMap({described(one.array)}, {described(tiling)}): expected the name of an array and a Tiling"
    tuples = (tiling.shape, tiling.box, tiling.strides or (), tiling.steps or ())
    if any(type(axes) is not tuple or any(type(size) is not int for size in axes) for axes in tuples):
        return f"TensorMap of {one.array}: expected shape, box, strides and steps as tuples of whole numbers"
    problem = tiling.problem()
    return f"TensorMap of {one.array}: {problem}" if problem else ""
