"""One .cu of the user's, without a Python file beside it: `--cu FILE` becomes an implementation of every operation.

How it is launched stands in options, or in comments of the file: `// grid: rows`, `// block: 256`. Arguments follow the
kernel's own parameters: pointers are the operation's arrays, scalars are found by their names.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path

from kernelbench.core import sources
from kernelbench.core.errors import OwnFileError, Unsupported
from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.launching import HostCall, Launch, LaunchPlan, Scalar
from kernelbench.core.operations import FLOATS, Case, Operation
from kernelbench.core.problems import quoted, suggest
from kernelbench.core.records import Implementation, Origin
from kernelbench.core.texts import printable
from kernelbench.planning.expressions import Expression, parse_expression
from kernelbench.planning.signatures import DeclaredFunction, DeclaredParameter, defined_functions

KEYS = ("grid", "block", "shared", "args")  # of a launch, as options and as comments
_SAID = re.compile(r"^[ \t]*//[ \t]*(grid|block|shared|args)[ \t]*:(.*)$", re.MULTILINE)
_LAST_AXIS = {"rows", "columns", "cols"}
_LONGEST_NAME = 40


@dataclass(frozen=True)
class CuFile:
    """What `--cu` and its options say; '' where the file itself has to say it."""

    path: Path
    entry: str = ""
    grid: str = ""
    block: str = ""
    shared: str = ""
    args: str = ""


@dataclass(frozen=True)
class OwnKernel:
    """A function of the file, and the expressions of its launch by key."""

    path: Path
    function: DeclaredFunction
    said: Mapping[str, Sequence[Expression]]

    def implementation(self, name: str, operation: Operation) -> Implementation:
        source = self.path.absolute()
        summary = printable(f"{self.function.name} of {self.path.name}")
        return Implementation(
            name,
            summary,
            Origin("your own file"),
            plan=partial(_plan, self, operation),
            operation=operation.name,
            source=source,
        )


def free_name(path: Path, taken: Collection[str]) -> str:
    """The file's stem as the name of an implementation, which no other one has: `my_naive` of naive.cu."""
    name = _plain_name(path)
    while name in taken:
        name = f"my_{name}"
    return name


def _plain_name(path: Path) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", path.stem.lower())[:_LONGEST_NAME].strip("_")
    return name if name[:1].isalpha() else f"my_{name}".rstrip("_")


def renamed_text(path: Path, name: str, operation: str, only: Sequence[str] = ()) -> str:
    """Why the kernel of a file is not named after it, and which of the two --only selects; '' if it is."""
    plain, said = _plain_name(path), f"{path.name} is named {name} here"
    if name == path.stem:
        return ""
    if name == plain:
        return printable(f"{said}: names begin with a letter and have up to {_LONGEST_NAME} letters a-z, digits and _.")
    also = f" --only {plain} selects that kernel, and {name} is added to it." if plain in only else ""
    return printable(f"{said}, because {operation} already has a kernel {plain}.{also}")


def read_own_kernel(file: CuFile) -> OwnKernel:
    """The function to be launched, and how. OwnFileError, which says what to write, for what is missing or wrong."""
    if file.path.suffix != ".cu":
        raise OwnFileError(f"--cu {file.path}: expected a file of CUDA code that ends in .cu")
    text = sources.source_content(file.path).decode(errors="replace")
    function = _entry(file, list(defined_functions(text)))
    said = {key: parse_expression(value, place) for key, (value, place) in _texts(file, text, function.at).items()}
    if function.launcher:
        if given := [key for key in ("grid", "block", "shared") if getattr(file, key)]:
            raise OwnFileError(f"--{given[0]}: {function.name} launches by itself; leave it out")
    elif missing := [key for key in ("grid", "block") if key not in said]:
        raise OwnFileError(
            f"{file.path}: how is {function.name} launched? There is no {' and no '.join(missing)}. Write above it\n"
            "  // grid: rows\n  // block: 256\nor give run and check --grid rows --block 256.\n"
            "Names: rows, columns, n (elements), the axes of the suite; ceil(n / 256) rounds up."
        )
    for key in ("grid", "block", "shared"):
        most = 1 if key == "shared" else 3
        if len(said.get(key, ())) > most:
            raise OwnFileError(f"{said[key][0].place}: {key} takes at most {most} values, got {len(said[key])}")
    return OwnKernel(file.path, function, said)


def _texts(file: CuFile, text: str, at: int) -> dict[str, tuple[str, str]]:
    """Text and place by key: the option, else the last comment above the function, else the first in the file."""
    said: dict[str, re.Match[str]] = {}
    for match in _SAID.finditer(text):
        if match.start() < at or match[1] not in said:
            said[match[1]] = match
    lines = {key: text.count("\n", 0, match.start()) + 1 for key, match in said.items()}
    found = {key: (match[2].strip(), f"{file.path}:{lines[key]}: {key}") for key, match in said.items()}
    return {**found, **{key: (getattr(file, key), f"--{key}") for key in KEYS if getattr(file, key)}}


def _entry(file: CuFile, found: Sequence[DeclaredFunction]) -> DeclaredFunction:
    kernels = [one for one in found if one.kernel or one.launcher]
    if file.entry:
        known = [one for one in found if one.name == file.entry]
        if not known:
            near = suggest(file.entry, list(dict.fromkeys(one.name for one in kernels or found)))
            raise OwnFileError(f"--entry {file.entry}: {file.path} defines no such function{near}")
    else:
        known = [one for one in kernels if one.callable] or kernels
        if not known:
            raise OwnFileError(f'{file.path}: no kernel here; expected extern "C" __global__ void NAME(...) {{ ... }}')
        if len(known) > 1:
            names = ", ".join(one.name for one in known)
            raise OwnFileError(f"{file.path} has {len(known)} kernels: choose one with --entry: {names}")
    function = known[0]
    if not function.callable:
        raise OwnFileError(f"{file.path}: {_what_to_write(function)}")
    return function


def _what_to_write(function: DeclaredFunction) -> str:
    name = function.name
    if function.template:
        return (
            f"{name} is a template, which has no name in the binary. Make its body a __device__ function and write\n"
            f'  extern "C" __global__ void {name}_f32(const float* x, ...) {{ body<float>(x, ...); }}'
        )
    if function.kernel:
        return f'{name} has a C++ name in the binary. Write\n  extern "C" __global__ void {name}(...)'
    return (
        f"{name} is no kernel, and no host code that takes a stream. For a kernel write\n"
        f'  extern "C" __global__ void {name}(...)\nand for code with its own <<<>>> write\n'
        f'  extern "C" int {name}(..., cudaStream_t stream) {{ kernel<<<grid, block, 0, stream>>>(...); '
        "return cudaGetLastError(); }"
    )


# ---- The plan ------------------------------------------------------------------------------------


def _plan(own: OwnKernel, operation: Operation, case: Case, device: DeviceProperties) -> LaunchPlan:
    """OwnFileError for a mistake in the file or the options, Unsupported for a case that the kernel cannot take."""
    names, function = _names(case, device), own.function
    used = {name for said in own.said.values() for one in said for name in one.names}
    scalars = () if "args" in own.said else tuple(one.name for one in function.parameters if not one.pointer)
    if _LAST_AXIS & {*used, *scalars} and "rows" not in names:
        case.rows_columns()  # raises, with the axis
    arguments = _arguments(own, operation, case, names)
    if function.launcher:
        return LaunchPlan(host=HostCall(function.name, arguments))
    block = _three(own.said["block"], names)
    names["block"] = prod(block)
    shared = own.said["shared"][0].whole(names) if "shared" in own.said else 0
    launch = Launch(function.name, _three(own.said["grid"], names), block, arguments, shared)
    passed = ", ".join(one if isinstance(one, str) else f"{one.value}" for one in arguments)
    return LaunchPlan((launch,), reasons=(f"arguments: {passed}",))


def _names(case: Case, device: DeviceProperties) -> dict[str, int | float]:
    """What expressions and scalar parameters may name; the words for the shape before a suite's axes."""
    outer, dim, inner = case.outer_dim_inner
    names: dict[str, int | float] = {"n": case.elements, "outer": outer, "dim": dim, "inner": inner}
    if inner == 1:
        names |= {"rows": outer, "columns": dim, "cols": dim}
    names["sms"] = device.multiprocessors
    own = {name: value for name, value in (*case.axes, *case.parameters) if isinstance(value, (int, float))}
    return {**own, **names}


def _three(said: Sequence[Expression], names: Mapping[str, int | float]) -> tuple[int, int, int]:
    x, y, z = (*(one.whole(names) for one in said), *(1, 1, 1)[len(said) :])
    return x, y, z


def _arguments(
    own: OwnKernel, operation: Operation, case: Case, names: Mapping[str, int | float]
) -> tuple[str | Scalar, ...]:
    parameters = own.function.parameters[: -1 if own.function.launcher else None]
    arrays = {spec.name: spec.dtype for spec in operation.arrays(case)}
    names = {**{name: value for name, value in operation.parameters.items() if type(value) in (int, float)}, **names}
    given = own.said.get("args") or _by_position(own, parameters, operation, tuple(arrays), names)
    if len(given) != len(parameters):
        takes = ", ".join(one.name or one.type for one in parameters)
        raise OwnFileError(
            f"{given[0].place}: {len(given)} arguments, but {own.function.name} takes {len(parameters)}: {takes}"
        )
    return tuple(_argument(own, one, said, arrays, names) for one, said in zip(parameters, given, strict=True))


def _by_position(
    own: OwnKernel,
    parameters: Sequence[DeclaredParameter],
    operation: Operation,
    arrays: Sequence[str],
    names: Mapping[str, int | float],
) -> list[Expression]:
    """An expression for each parameter: arrays by name if all have one, else in the operation's order; scalars by
    name."""
    place, entry = str(own.path), own.function.name
    pointers = [one.name for one in parameters if one.pointer]
    if len(pointers) != len(arrays):
        raise OwnFileError(
            f"{place}: {entry} takes {len(pointers)} arrays, but {operation.name} has {len(arrays)} here: "
            f"{', '.join(arrays)}. Take them in this order"
        )
    order = iter(pointers if set(pointers) == set(arrays) else arrays)
    for one in parameters:
        if not one.pointer and one.name not in names:
            example = ", ".join([*arrays, "rows", "0.5"])
            raise OwnFileError(
                f"{place}: {entry} takes {quoted(one.name)}, whose value is not known. Say what each argument is, as "
                f"in --args '{example}', or a line in the file: // args: {example}; or rename it"
                f"{suggest(one.name, list(names))}"
            )
    return [parse_expression(next(order) if one.pointer else one.name, place)[0] for one in parameters]


def _argument(
    own: OwnKernel,
    parameter: DeclaredParameter,
    said: Expression,
    arrays: Mapping[str, str],
    names: Mapping[str, int | float],
) -> str | Scalar:
    entry, name = own.function.name, parameter.name
    if parameter.pointer:
        if said.text not in arrays:
            near = suggest(said.text, list(arrays))
            raise OwnFileError(f"{said.place}: {name} of {entry} is a pointer, and {quoted(said.text)} no array{near}")
        there = arrays[said.text]
        if parameter.dtype in FLOATS and there in FLOATS and parameter.dtype != there:
            raise Unsupported(f"{said.text} is {there}, and {entry} takes {parameter.type}*")
        return said.text
    if not parameter.dtype:
        raise OwnFileError(
            f"{own.path}: {entry} takes {quoted(name)} as {quoted(parameter.type)}; expected int, long long or float"
        )
    if "float" in parameter.dtype:
        return Scalar(parameter.dtype, float(said.value(names)))
    return Scalar(parameter.dtype, said.whole(names, f"{name} of {entry} has type {parameter.type}"))
