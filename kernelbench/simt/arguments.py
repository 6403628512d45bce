"""Arguments of a launch that are described by texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbench.core.errors import InputError
from kernelbench.core.tensor_maps import BYTES
from kernelbench.simt.ir import Parameter
from kernelbench.simt.tensor_maps import TensorMap

FILLS = ("random", "zeros", "ones", "arange")
TYPES = ("float64", "float32", "float16", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (64, 32, 16, 8)))
MOST_BYTES = 1 << 34  # of one array
MOST_INTEGER = 100  # random integers are below it
_ARRAY = re.compile(r"(\w+)=(\w+)\[([\d, ]+)\]:(.+?)(?::box\[([\d, ]+)\](?::(32B|64B|128B))?)?")
_SCALAR = re.compile(r"(\w+)=(?:(\w+):)?([-+.\w]+)")


def kernel_arguments(texts: Sequence[str], parameters: Sequence[Parameter], seed: int) -> dict[str, Any]:
    """The arguments of a kernel's parameters by name, from texts in their order: `x=float32[1024]:random`, `n=1024`.

    InputError for a text that cannot be understood, or that does not suit its parameter.
    """
    if len(texts) != len(parameters):
        raise InputError(
            f"the kernel takes {len(parameters)} arguments, got {len(texts)}; "
            "give an --array or a --scalar for each, in order"
        )
    random = np.random.default_rng(seed)
    values: dict[str, Any] = {}
    for text, parameter in zip(texts, parameters, strict=True):
        name, value = _argument(text, parameter, random)
        if name in values:
            raise InputError(f"'{text}': the name {name} is used twice")
        values[name] = value
    return values


def _argument(text: str, parameter: Parameter, random: np.random.Generator) -> tuple[str, Any]:
    if found := _ARRAY.fullmatch(text):
        name, dtype, shape, fill, box, swizzle = found.groups()
        if parameter.bytes != 8 and not (box and parameter.bytes == BYTES):
            what = f"{BYTES} or 8 for a tensor map" if box else "8 for the address of an array"
            raise InputError(f"'{text}': the parameter takes {parameter.bytes} bytes; expected {what}")
        array = _array(text, dtype, shape, fill, random)
        return name, TensorMap(array, _sizes(text, box), swizzle=swizzle or "none") if box else array
    if found := _SCALAR.fullmatch(text):
        return found[1], _scalar(text, found[2], found[3], parameter)
    raise InputError(f"'{text}': expected NAME=TYPE[SHAPE]:FILL for an array, or NAME=VALUE for a scalar")


def _array(text: str, dtype: str, shape: str, fill: str, random: np.random.Generator) -> npt.NDArray[Any]:
    kind = _type(text, dtype)
    sizes = _sizes(text, shape)
    if prod(sizes) * kind.itemsize > MOST_BYTES:
        raise InputError(f"'{text}': more than {MOST_BYTES >> 30} GiB")
    if fill == "random" and kind.kind == "f":
        return random.standard_normal(sizes).astype(kind)
    if fill == "random":
        return random.integers(0, MOST_INTEGER, sizes).astype(kind)
    if fill == "arange":
        return np.arange(prod(sizes)).astype(kind).reshape(sizes)
    if fill in FILLS:
        return np.full(sizes, fill == "ones", kind)
    return _saved(text, Path(fill), kind, sizes)


def _sizes(text: str, shape: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in shape.split(","))
    except ValueError:
        raise InputError(f"'{text}': expected a shape like [32,1024], got [{shape}]") from None


def _saved(text: str, path: Path, kind: np.dtype[Any], sizes: tuple[int, ...]) -> npt.NDArray[Any]:
    if path.suffix != ".npy":
        raise InputError(f"'{text}': unknown contents {path}; expected {', '.join(FILLS)} or a .npy file")
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if array.dtype != kind or array.shape != sizes:
        raise InputError(f"{path}: {array.dtype}{list(array.shape)}, expected {kind}{list(sizes)}")
    return np.ascontiguousarray(array)


def _scalar(text: str, dtype: str | None, value: str, parameter: Parameter) -> Any:
    """The value in the type that is named, else in that of the parameter: PTX does not tell signed from unsigned."""
    try:
        number: int | float = float(value) if re.fullmatch(r"[-+]?(inf|nan|.*[.eE].*)", value) else int(value, 0)
    except ValueError:
        raise InputError(f"'{text}': expected a number, got {value}") from None
    if dtype is not None:
        kind = _type(text, dtype)
    elif parameter.type.startswith("f"):
        kind = np.dtype(f"float{8 * parameter.bytes}")
    elif parameter.bytes in (1, 2, 4, 8):
        kind = np.dtype(f"{'u' if number >= 1 << (8 * parameter.bytes - 1) else ''}int{8 * parameter.bytes}")
    else:
        raise InputError(f"'{text}': a structure of {parameter.bytes} bytes cannot be given here")
    if kind.kind != "f" and isinstance(number, float):
        raise InputError(f"'{text}': the parameter is a whole number")
    if kind.kind != "f" and not np.iinfo(kind).min <= number <= np.iinfo(kind).max:
        raise InputError(f"'{text}': does not fit into {kind}")
    return kind.type(number)


def _type(text: str, name: str) -> np.dtype[Any]:
    if name not in TYPES:
        raise InputError(f"'{text}': unknown type {name}; expected one of {', '.join(TYPES)}")
    return np.dtype(name)
