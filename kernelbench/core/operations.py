"""Operations, their cases, and the arrays of cases, independent of implementations.

Part of the records; files under kernels/ import them from `kernelbench`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import floor, log2, prod
from typing import Any, Literal, cast

from kernelbench.core import dtypes
from kernelbench.core.errors import Unsupported

Array = Any  # a numpy or cupy array
Arrays = Mapping[str, Array]  # by name, as an operation's `arrays` names them

FLOATS = ("float32", "float16", "bfloat16")
NORMAL = "normal"  # the distribution of inputs where none is named
CASE: Literal["case"] = "case"  # as `fill` of an input: the distribution that its case names
BROADCAST: Literal["broadcast"] = "broadcast"  # as `split` of an input: every slice reads all of it


@dataclass(frozen=True)
class Case:
    """One shape, axis, dtype, set of parameters and distribution of the inputs of an operation."""

    operation: str
    shape: tuple[int, ...]
    axis: int  # as written in the suite: -1 is the last
    dtype: str
    axes: tuple[tuple[str, int | str], ...] = ()  # values of the suite's axes: ("seq", 512); in a step ("part", "relu")
    parameters: tuple[tuple[str, int | float | str | bool], ...] = ()  # of the operation: ("scale", 0.125)
    inputs: str = NORMAL  # the distribution from which inputs are drawn

    @property
    def _words(self) -> list[tuple[str, object]]:
        own = [("shape", shape_text(self.shape)), ("axis", self.axis), ("dtype", self.dtype)]
        inputs = [("inputs", self.inputs)] if self.inputs != NORMAL else []
        return [*self.axes, *own, *self.parameters, *inputs]

    @cached_property
    def key(self) -> str:
        """The case as one text, unique within a suite. CSV files, --filter and --resume use it."""
        return " ".join(f"{name}={value}" for name, value in self._words)

    @cached_property
    def words(self) -> dict[str, str]:
        """The words of its key by their names."""
        return {name: str(value) for name, value in self._words}

    @cached_property
    def elements(self) -> int:
        return prod(self.shape)

    @cached_property
    def outer_dim_inner(self) -> tuple[int, int, int]:
        """The shape seen from its axis: elements before it, along it, after it."""
        axis = self.axis % len(self.shape)
        return prod(self.shape[:axis]), self.shape[axis], prod(self.shape[axis + 1 :])

    def parameter(self, name: str, default: Any) -> Any:
        return dict(self.parameters).get(name, default)

    def require_dtype(self, *known: str) -> None:
        """Unsupported for another data type."""
        if self.dtype not in known:
            words = f"{', '.join(known[:-1])} or {known[-1]}" if len(known) > 1 else known[0]
            raise Unsupported(f"dtype must be {words}, got {self.dtype}")

    def refuse(self, *names: str) -> None:
        """Unsupported if one of these parameters is set."""
        for name in names:
            if self.parameter(name, False):
                raise Unsupported(f"{name} is not supported")

    def rows_columns(self, max_rows: int | None = None, max_columns: int | None = None) -> tuple[int, int]:
        """The shape as rows along the last axis. Unsupported for another axis, or beyond a limit."""
        rows, columns, inner = self.outer_dim_inner
        if inner != 1:
            raise Unsupported(f"axis must be the last, got axis {self.axis} of {len(self.shape)}")
        if max_rows is not None and rows > max_rows:
            raise Unsupported(f"rows must be at most {max_rows}, got {rows}")
        if max_columns is not None and columns > max_columns:
            raise Unsupported(f"columns must be at most {max_columns}, got {columns}")
        return rows, columns


def shape_text(shape: tuple[int, ...]) -> str:
    """`32x64x16x16`"""
    return "x".join(map(str, shape))


def read_shape(text: str) -> tuple[int, ...]:
    """The inverse of `shape_text`."""
    return tuple(map(int, text.split("x")))


def key_words(key: str) -> dict[str, str]:
    """The words of a `Case.key` by name; a word without a name is its own name."""
    return {name: value if equals else name for name, equals, value in (word.partition("=") for word in key.split())}


def case_of_key(operation: Operation, key: str) -> Case:
    """The inverse of `Case.key`. Words that are neither the case's own nor parameters of the operation are axes."""
    words, known = key_words(key), operation.parameters
    own = ("shape", "axis", "dtype", "inputs")
    return Case(
        operation.name,
        read_shape(words["shape"]),
        int(words["axis"]),
        words["dtype"],
        axes=tuple((name, value) for name, value in words.items() if name not in own and name not in known),
        parameters=tuple((name, _as(known[name], value)) for name, value in words.items() if name in known),
        inputs=words.get("inputs", NORMAL),
    )


def _as(default: Any, text: str) -> Any:
    """The text as a value of the same type."""
    return text == "True" if isinstance(default, bool) else type(default)(text)


Fill = Literal["case", "normal", "uniform", "zeros", "ones", "large", "masked", "mask", "bits"]


@dataclass(frozen=True)
class ArraySpec:
    """One array of a case. Inputs are filled with random values, outputs poisoned before each check.

    `fill`: "case" follows the distribution of the case, others ignore it: "mask" is 0 or 1 with equal probability,
    "bits" any uint8. `split`: large cases are verified slice by slice. The flat array is cut into this many equal
    parts, one per slice; all arrays of a case have the same number. Every slice reads all of a BROADCAST input.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: Literal["input", "output"]
    fill: Fill = CASE
    largest: float = 1.0  # largest magnitude of `large` inputs
    row: tuple[int, int] = (1, 1)  # for `masked`: elements of a row, and the distance between them
    split: int | Literal["broadcast"] = 1
    one_in: int = 1  # kernels write one of so many elements of an output and leave the others

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * dtypes.itemsize(self.dtype)

    @property
    def distribution(self) -> str:
        """The distribution of its elements: normal numbers where no case has named another one."""
        return NORMAL if self.fill == CASE else self.fill

    def part(self, array: Array, start: int, stop: int) -> Array:
        """Slices [start, stop) of this array, as [stop - start, -1]; a broadcast array whole, in its shape."""
        return array.reshape(self.shape) if self.split == BROADCAST else array.reshape(self.split, -1)[start:stop]

    def slices(self, start: int, stop: int) -> tuple[int, int] | None:
        """The slices [first, last) in which elements [start, stop) of the flat array lie; None for all slices."""
        if self.split == BROADCAST:
            return None
        size = prod(self.shape) // self.split
        return start // size, (stop - 1) // size + 1

    def element(self, place: int) -> str:
        """The element at that place of the flat array, as `x[3, 17]`."""
        index = []
        for extent in reversed(self.shape):
            place, rest = divmod(place, extent)
            index.append(str(rest))
        return f"{self.name}[{', '.join(reversed(index))}]"


@dataclass(frozen=True)
class Tolerance:
    """|got - expected| <= absolute + relative * |expected|, elementwise."""

    relative: float
    absolute: float

    def plus(self, other: Tolerance | None) -> Tolerance:
        if other is None:
            return self
        return Tolerance(self.relative + other.relative, self.absolute + other.absolute)


# reference(xp, case, inputs): `inputs` are float64 arrays of xp (numpy or cupy) for some slices of the case, as
# ArraySpec.part gives them. It returns the float64 outputs of these slices by name.
Reference = Callable[[Any, Case, Arrays], Arrays]


NO_ROWS = "-inf stands for what a row leaves out where exponentials are added up; this operation has no such rows"


@dataclass(frozen=True)
class SpecialValues:
    """Results of an operation for infinities and NaN, each in a few words for `kernelbench list`.

    `examples`: inputs, and the outputs that follow by definition, by name, as nested lists; `by_pytorch`: the outputs
    of PyTorch by name, for (torch, case, tensors by name). Tests compare the reference with both.
    """

    minus_inf: str  # for a row of it, or an element where there are no rows
    plus_inf: str  # for an element
    nan: str  # for an element
    pytorch: str  # the function of PyTorch that gives the same; '' for none
    differs: str = ""  # where that function differs, and why
    examples: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = ()
    by_pytorch: Callable[[Any, Case, Mapping[str, Any]], Mapping[str, Any]] | None = None


def x_to_y(case: Case, split: int = 1) -> tuple[ArraySpec, ...]:
    """One array in, x, and one out, y, both of the case's shape and floating-point type."""
    case.require_dtype(*FLOATS)
    return (
        ArraySpec("x", case.shape, case.dtype, "input", split=split),
        ArraySpec("y", case.shape, case.dtype, "output", split=split),
    )


def x_to_y_by_element(case: Case) -> tuple[ArraySpec, ...]:
    """`x_to_y`, the elements independent."""
    return x_to_y(case, split=case.elements)


def by_element(case: Case) -> int:
    """`flops` of one operation per element."""
    return case.elements


def exact(case: Case) -> Tolerance:
    """The tolerance of an operation that rounds nothing."""
    return Tolerance(0.0, 0.0)


def quarter_of_range(case: Case) -> float:
    """`large` for operations that move, select or add two elements: a sum of two is still finite."""
    return float(2.0 ** (floor(log2(dtypes.overflow(case.dtype))) - 1))


def root_of_range(case: Case) -> float:
    """`large` for operations that multiply two elements: some products overflow to infinity."""
    return float(2.0 ** (floor(log2(dtypes.overflow(case.dtype))) // 2 + 2))


def _all_bytes(arrays: Callable[[Case], tuple[ArraySpec, ...]], case: Case) -> int:
    return sum(spec.nbytes for spec in arrays(case))


@dataclass(frozen=True)
class Operation:
    """What all implementations in kernels/<operation>/ compute; operation.py there defines it."""

    name: str
    summary: str
    arrays: Callable[[Case], tuple[ArraySpec, ...]]  # raises Unsupported for a case that has no meaning
    reference: Reference
    # Least traffic: each input read once, each output written once. By default the bytes of all arrays.
    bytes_moved: Callable[[Case], int] = field(default=cast(Any, None))
    flops: Callable[[Case], int] = by_element
    tolerance: Callable[[Case], Tolerance] = exact
    parameters: Mapping[str, Any] = field(default_factory=dict)  # name -> default; a suite may set these
    large: Callable[[Case], float] | None = None  # largest magnitude of `large` inputs; None: it has none
    refused: Mapping[str, str] = field(default_factory=lambda: {"masked": NO_ROWS})  # distributions with reasons
    special: SpecialValues | None = None
    moves: bool = False  # only moves elements: its reference may get float32 or float16, and then returns that type

    def __post_init__(self) -> None:
        if self.bytes_moved is None:
            object.__setattr__(self, "bytes_moved", partial(_all_bytes, self.arrays))

    def refusal(self, inputs: str) -> str:
        """Why it has no inputs of this distribution; '' if it has."""
        if inputs == "large" and self.large is None and inputs not in self.refused:
            return "it does not say how large its inputs may be"
        return self.refused.get(inputs, "")

    def split(self, case: Case) -> int:
        """Slices in which the case is verified: the parts into which all arrays are cut, except broadcast ones."""
        return max(spec.split for spec in self.arrays(case) if spec.split != BROADCAST)

    def filled(self, case: Case) -> tuple[ArraySpec, ...]:
        """`arrays` with the distribution of the case. Unsupported for a distribution that the operation lacks."""
        if reason := self.refusal(case.inputs):
            raise Unsupported(f"{self.name} has no {case.inputs} inputs: {reason}")
        largest = self.large(case) if case.inputs == "large" and self.large else 1.0
        fill, row = cast(Fill, case.inputs), case.outer_dim_inner[1:]
        return tuple(
            replace(spec, fill=fill, largest=largest, row=row) if spec.role == "input" and spec.fill == CASE else spec
            for spec in self.arrays(case)
        )

    def read_share(self, case: Case) -> float:
        """Bytes of the inputs over those of all arrays."""
        specs = self.arrays(case)
        return sum(one.nbytes for one in specs if one.role == "input") / sum(one.nbytes for one in specs)
