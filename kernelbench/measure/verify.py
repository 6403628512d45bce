"""Outputs against the float64 reference, every element, in slices that fit the memory.

Works on any array module, so a GPU's output is checked on that GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelbench import dtypes
from kernelbench.contracts import Device, Executable
from kernelbench.records import Arrays, ArraySpec, Case, Check, Implementation, Operation, Tolerance

SLICE_ELEMENTS = 2**26  # of the largest array; a float64 slice of it is 512 MB
WORKSPACE_FACTOR = 10  # float64 slices alive at once while one is checked, rounded up


@dataclass(frozen=True)
class Setup:
    """A case on a device: what every implementation of it is checked and timed with."""

    device: Device
    operation: Operation
    case: Case
    arrays: Arrays

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        return self.operation.arrays(self.case)


class _Errors:
    """Running maxima over slices, with the first mismatch."""

    def __init__(self) -> None:
        self.elements = 0
        self.mismatches = 0
        self.max_absolute: float | None = 0.0
        self.max_relative: float | None = 0.0
        self.first = ""

    def add(self, xp: Any, spec: ArraySpec, offset: int, got: Any, expected: Any, tolerance: Tolerance) -> None:
        """Compare one slice (float64, flat); `offset` is its place in the flat array."""
        error = xp.abs(got - expected)
        size = xp.abs(expected)
        # Equal infinities and a NaN where NaN is expected are right, though their difference is NaN.
        same = (got == expected) | (xp.isnan(got) & xp.isnan(expected))
        wrong = ~(same | (error <= tolerance.absolute + tolerance.relative * size))
        count = int(wrong.sum())
        if count and not self.first:
            place = int(xp.argmax(wrong))
            index = ", ".join(map(str, _unravel(offset + place, spec.shape)))
            self.first = f"{spec.name}[{index}]: got {float(got[place]):.7g}, expected {float(expected[place]):.7g}"
        self.elements += int(got.size)
        self.mismatches += count
        error = xp.where(same, 0.0, error)
        largest = float(error.max())
        relative = float((error / xp.where(size > 0, size, 1.0)).max())
        self.max_absolute = _larger(self.max_absolute, largest)
        self.max_relative = _larger(self.max_relative, relative)


def run_and_check(setup: Setup, implementation: Implementation, executable: Executable, seed: int) -> Check:
    """Poison the outputs, run once, check everything, red zones included."""
    setup.device.poison(setup.arrays, setup.specs)
    returned = executable()
    setup.device.clock.wait()
    return check_after_run(setup, implementation, returned, seed)


def check_after_run(setup: Setup, implementation: Implementation, returned: Arrays | None, seed: int) -> Check:
    """Check what a finished run left: in the case's arrays, or in the outputs that it returned."""
    outputs = {**setup.arrays, **(returned or {})}
    if problem := _shape_problem(setup.specs, outputs):
        return Check(False, seed, 0, 0, None, None, _tolerance(setup, implementation), problem)
    check = check_outputs(setup, implementation, outputs, seed)
    damaged = setup.device.red_zone_damage(setup.arrays)
    if not damaged:
        return check
    text = f"wrote outside of {damaged}"
    return replace(check, passed=False, message=f"{text}; {check.message}" if check.message else text)


def check_outputs(setup: Setup, implementation: Implementation, outputs: Arrays, seed: int) -> Check:
    """All elements of `outputs` against the reference on the inputs that the arrays hold now."""
    xp, specs = setup.device.xp, setup.specs
    tolerance = _tolerance(setup, implementation)
    reference = implementation.reference or setup.operation.reference
    errors = _Errors()
    for start, stop, split in _slices(setup):
        inputs = {
            spec.name: _widened(xp, setup.arrays[spec.name], spec.dtype, (start, stop, split))
            for spec in specs
            if spec.role == "input"
        }
        expected = reference(xp, setup.case, inputs)
        for spec in specs:
            if spec.role == "output":
                got = _widened(xp, outputs[spec.name], spec.dtype, (start, stop, split)).reshape(-1)
                offset = start * (got.size // (stop - start))
                errors.add(xp, spec, offset, got, expected[spec.name].reshape(-1), tolerance)
    first = f"{errors.mismatches} of {errors.elements} elements wrong, first {errors.first}"
    return Check(
        passed=errors.mismatches == 0,
        seed=seed,
        elements=errors.elements,
        mismatches=errors.mismatches,
        max_absolute_error=errors.max_absolute,
        max_relative_error=errors.max_relative,
        tolerance=tolerance,
        message=first if errors.first else "",
    )


def _tolerance(setup: Setup, implementation: Implementation) -> Tolerance:
    return setup.operation.tolerance(setup.case).plus(implementation.extra_tolerance)


def _slices(setup: Setup) -> Iterator[tuple[int, int, int]]:
    """(start, stop, split): ranges of the common first dimension, each small enough to check in memory."""
    split = setup.operation.split(setup.case) if setup.operation.split else 1
    largest = max(spec.nbytes // dtypes.itemsize(spec.dtype) for spec in setup.specs)
    affordable = setup.device.free_bytes() // (8 * WORKSPACE_FACTOR)
    elements = max(1, min(SLICE_ELEMENTS, affordable))
    step = max(1, elements // max(1, largest // split))
    for start in range(0, split, step):
        yield start, min(start + step, split), split


def _widened(xp: Any, array: Any, dtype: str, part: tuple[int, int, int]) -> Any:
    start, stop, split = part
    return dtypes.widen(xp, array.reshape(split, -1)[start:stop], dtype)


def _shape_problem(specs: Sequence[ArraySpec], outputs: Arrays) -> str:
    for spec in specs:
        if spec.role == "output" and tuple(outputs[spec.name].shape) != spec.shape:
            return f"{spec.name} has shape {tuple(outputs[spec.name].shape)}, expected {spec.shape}"
    return ""


def _unravel(place: int, shape: tuple[int, ...]) -> list[int]:
    index = []
    for extent in reversed(shape):
        place, rest = divmod(place, extent)
        index.append(rest)
    return index[::-1]


def _larger(so_far: float | None, value: float) -> float | None:
    """The larger of two errors; None once one is NaN: an error that cannot be put into a number."""
    if so_far is None or value != value:  # noqa: PLR0124 - NaN
        return None
    return max(so_far, value)
