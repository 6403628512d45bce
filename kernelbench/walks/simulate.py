"""simulate: a .cu or .ptx -> PTX -> the simulator. One launch of one kernel, with arrays described by text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.core.sources import content
from kernelbench.simt import Simulation, kernel_named
from kernelbench.simt import simulate as launch
from kernelbench.simt.grouping import MachineLines
from kernelbench.simt.ir import Parameter
from kernelbench.simt.parse import parse

FILLS = ("random", "zeros", "ones", "arange")
TYPES = ("float64", "float32", "float16", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (64, 32, 16, 8)))
MOST_BYTES = 1 << 34  # of one array
MOST_INTEGER = 100  # random integers are below it
SEED = 0
_ARRAY = re.compile(r"(\w+)=(\w+)\[([\d, ]+)\]:(.+)")
_SCALAR = re.compile(r"(\w+)=(?:(\w+):)?([-+.\w]+)")


@dataclass(frozen=True)
class Launch:
    """What is run. `arguments`: texts in the order of the kernel's parameters, as in `x=float32[1024]:random` and
    `n=1024`."""

    file: Path
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[str, ...]
    shared_bytes: int = 0
    strict: bool = False
    architecture: str = "sm_90"
    seed: int = SEED
    nvcc: Path | None = None


def simulate(asked: Launch) -> Simulation:
    """Compile the file unless it is PTX, and run the launch.

    Raises InputError for an argument that cannot be understood, BuildError if nvcc refuses the file."""
    ptx, machine = _code(asked)
    module = parse(ptx)
    kernel = kernel_named(module, asked.entry)
    arrays = _values(asked, module.functions[kernel].parameters)
    return launch(
        ptx, kernel, asked.grid, asked.block, arrays, asked.shared_bytes, strict=asked.strict, machine=machine
    )


def save(outputs: Mapping[str, npt.NDArray[Any]], folder: Path) -> None:
    """Write every array to NAME.npy in `folder`, which is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in outputs.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def _code(asked: Launch) -> tuple[str, Mapping[str, MachineLines]]:
    """The PTX, and the machine code of its lines if the file is compiled here."""
    text = content(asked.file).decode(errors="replace")
    if asked.file.suffix == ".ptx":
        return text, {}
    from kernelbench.build import BuildRequest, build, find_compiler, machine_lines

    request = BuildRequest(asked.file, (), asked.architecture)
    compiler = find_compiler(asked.nvcc)
    found = build([request], compiler, places.cache())[request]
    if isinstance(found, Exception):
        raise found
    return found.ptx_path.read_text(), machine_lines(found.path, compiler)


def _values(asked: Launch, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The argument of each parameter, by its name."""
    if len(asked.arguments) != len(parameters):
        raise InputError(
            f"the kernel takes {len(parameters)} arguments, got {len(asked.arguments)}; "
            "give an --array or a --scalar for each, in order"
        )
    random = np.random.default_rng(asked.seed)
    values: dict[str, Any] = {}
    for text, parameter in zip(asked.arguments, parameters, strict=True):
        name, value = _argument(text, parameter, random, asked.file)
        if name in values:
            raise InputError(f"'{text}': the name {name} is used twice")
        values[name] = value
    return values


def _argument(text: str, parameter: Parameter, random: np.random.Generator, file: Path) -> tuple[str, Any]:
    if found := _ARRAY.fullmatch(text):
        if parameter.bytes != 8:
            raise InputError(f"'{text}': the parameter takes {parameter.bytes} bytes, which is no address of an array")
        name, dtype, shape, fill = found.groups()
        return name, _array(text, dtype, shape, fill, random)
    if found := _SCALAR.fullmatch(text):
        return found[1], _scalar(text, found[2], found[3], parameter)
    raise InputError(f"'{text}': expected NAME=TYPE[SHAPE]:FILL for an array, or NAME=VALUE for a scalar")


def _array(text: str, dtype: str, shape: str, fill: str, random: np.random.Generator) -> npt.NDArray[Any]:
    kind = _type(text, dtype)
    try:
        sizes = [int(size) for size in shape.split(",")]
    except ValueError:
        raise InputError(f"'{text}': expected a shape like [32,1024], got [{shape}]") from None
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


def _saved(text: str, path: Path, kind: np.dtype[Any], sizes: list[int]) -> npt.NDArray[Any]:
    if path.suffix != ".npy":
        raise InputError(f"'{text}': unknown contents {path}; expected {', '.join(FILLS)} or a .npy file")
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if array.dtype != kind or list(array.shape) != sizes:
        raise InputError(f"{path}: {array.dtype}{list(array.shape)}, expected {kind}{sizes}")
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
