"""Distributions of random inputs that a suite may name, and how their elements are drawn.

This works on any array module, so that inputs are made where they are used. The simulator draws its own in C++, element
by element; `masked` hides the same elements there.
"""

from collections.abc import Mapping
from typing import Any

from kernelbench.core.operations import NORMAL, ArraySpec

# In the order in which they are checked. The operation says how large `large` is.
DISTRIBUTIONS: Mapping[str, str] = {
    NORMAL: "normal numbers, mean 0 and deviation 1",
    "uniform": "evenly from [0, 1): all of one sign, so that sums grow",
    "zeros": "0 throughout",
    "ones": "1 throughout, as benchmarks often have it",
    "large": "evenly up to a magnitude of both signs that the operation states, near what its type holds",
    "masked": "normal numbers with -inf among them: of five rows one is -inf throughout, one has a single number, near "
    "-200, three have about half",
}
HIDDEN_ROW, SINGLE_ROW, ROW_CYCLE = 1, 3, 5  # row numbers modulo 5, which shares no factor with the sizes of blocks
LOW = 200  # by which single numbers are lower: a maximum that starts at 0 instead of -inf then gives 0 / 0
PIECE = 2**22  # elements that `masked` treats at once: some hundred MB of 64-bit numbers

# Constants of splitmix64, which gives rows and elements random numbers; simt/runtime/inputs.cpp has the same.
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_ROWS, _ELEMENTS = 0x5851F42D4C957F2D, 0x14057B7EF767814F  # xored with the seed, for numbers of rows and of elements


def draw_input(xp: Any, generator: Any, spec: ArraySpec, start: int, size: int, seed: int) -> Any:
    """Elements [start, start + size) of an input, in float32 and not yet rounded to its type.

    `generator` is NumPy's or CuPy's, seeded for this piece of the array; `seed` is that of the whole array.
    """
    fill = spec.distribution
    if fill == "normal":
        return generator.standard_normal(size, dtype=xp.float32)
    if fill in ("zeros", "ones"):
        return xp.full(size, 0.0 if fill == "zeros" else 1.0, dtype=xp.float32)
    if fill == "masked":
        values = generator.standard_normal(size, dtype=xp.float32)
        for first in range(0, size, PIECE):
            piece = values[first : first + PIECE]
            numbers = _row_numbers(xp, start + first, piece.size, spec.row)
            piece -= xp.float32(LOW) * (numbers % xp.uint64(ROW_CYCLE) == xp.uint64(SINGLE_ROW))
            piece[hidden(xp, start + first, piece.size, spec.row, seed)] = -xp.inf
        return values
    values = generator.random(size, dtype=xp.float32)
    if fill == "mask":
        return (values < 0.5).astype(xp.float32)
    if fill == "bits":
        return values * xp.float32(256)  # narrowing rounds down
    if fill == "large":
        return values * xp.float32(2 * spec.largest) - xp.float32(spec.largest)
    return values


def hidden(xp: Any, start: int, size: int, row: tuple[int, int], seed: int) -> Any:
    """A mask of the elements of [start, start + size) that `masked` makes -inf. `row`: (elements of a row, distance
    between them); rows fill the array."""
    columns, inner = map(xp.uint64, row)
    index = xp.arange(start, start + size, dtype=xp.uint64)
    column, number = index // inner % columns, _row_numbers(xp, start, size, row)
    kind = number % xp.uint64(ROW_CYCLE)
    single = _scrambled(xp, seed ^ _ROWS, number) % columns
    coins = _scrambled(xp, seed ^ _ELEMENTS, index) >> xp.uint64(63)
    return xp.where(
        kind == xp.uint64(HIDDEN_ROW), True, xp.where(kind == xp.uint64(SINGLE_ROW), column != single, coins != 0)
    )


def _row_numbers(xp: Any, start: int, size: int, row: tuple[int, int]) -> Any:
    """The row of each of the elements [start, start + size), uint64."""
    columns, inner = map(xp.uint64, row)
    index = xp.arange(start, start + size, dtype=xp.uint64)
    return index // inner // columns * inner + index % inner


def _scrambled(xp: Any, seed: int, index: Any) -> Any:
    u = xp.uint64
    z = u(seed % 2**64) + (index + u(1)) * u(_GOLDEN)
    z = (z ^ (z >> u(30))) * u(_FIRST)
    z = (z ^ (z >> u(27))) * u(_SECOND)
    return z ^ (z >> u(31))
