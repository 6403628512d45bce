"""Outputs against the float64 reference, every element, in slices that fit the memory.

Works on any array module, so a GPU's output is checked on that GPU. Where a device ran a sample of the blocks,
every element that those wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelbench import dtypes
from kernelbench.contracts import CountingDevice, Device, Executable
from kernelbench.differences import Differences
from kernelbench.errors import DeviceError
from kernelbench.measure import sample
from kernelbench.measure.sample import Written
from kernelbench.records import Arrays, ArraySpec, Case, Check, Implementation, Operation, Reference, Tolerance

SLICE_ELEMENTS = 2**26  # of the largest array; a float64 slice of it is 512 MB
WORKSPACE_FACTOR = 10  # float64 slices alive at once while one is checked, rounded up


@dataclass
class Setup:
    """A case on a device: what every implementation of it is checked and timed with.

    `placements` are arrays of the same contents at different places in memory; verification before
    timing uses the first. The reference of the inputs that were checked last is kept where a quarter
    of the free memory holds it: all implementations of a case are compared with the same one.
    """

    device: Device
    operation: Operation
    case: Case
    placements: list[Arrays]

    def __post_init__(self) -> None:
        self.specs = self.operation.filled(self.case)
        outputs = sum(spec.nbytes // dtypes.itemsize(spec.dtype) for spec in self.specs if spec.role == "output")
        self._room = self.device.free_bytes() // 4
        self._keep_all = 8 * outputs <= self._room
        self._kept: dict[tuple[int, int, int], Arrays] = {}
        self._kept_bytes = 0
        self.counting = self.device if isinstance(self.device, CountingDevice) else None

    def expected(self, reference: Reference, seed: int, part: Part) -> Arrays:
        """The reference's outputs for a slice of the inputs that `seed` made."""
        key = (seed, part.start, part.stop)
        shared = reference is self.operation.reference
        if shared and key in self._kept:
            return self._kept[key]
        inputs = {
            spec.name: dtypes.widen(self.device.xp, self._input(spec, part), spec.dtype)
            for spec in self.specs
            if spec.role == "input"
        }
        with np.errstate(all="ignore"):  # of infinities, which inputs may hold; CuPy does not warn
            outputs = reference(self.device.xp, self.case, inputs)
        if shared and self._may_keep(outputs):
            if any(kept_seed != seed for kept_seed, _, _ in self._kept):
                self._kept.clear()
                self._kept_bytes = 0
            self._kept[key] = outputs
            self._kept_bytes += _bytes_of(outputs)
        return outputs

    def _input(self, spec: ArraySpec, part: Part) -> Any:
        values = part.of(self.placements[0][spec.name])
        return self.counting.materialise(values) if self.counting else values

    def _may_keep(self, outputs: Arrays) -> bool:
        """All parts or none on a GPU; of a sample, which is a small share of the whole, what fits."""
        return self._keep_all or (self.counting is not None and self._kept_bytes + _bytes_of(outputs) <= self._room)


def _bytes_of(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())


@dataclass(frozen=True)
class Part:
    """Rows `start` to `stop` of arrays seen as [split, -1]."""

    start: int
    stop: int
    split: int

    def of(self, array: Any) -> Any:
        return array.reshape(self.split, -1)[self.start : self.stop]


class _Errors:
    """Running maxima over slices, with the first mismatch."""

    def __init__(self) -> None:
        self.elements = 0
        self.mismatches = 0
        self.max_absolute: float | None = 0.0
        self.max_relative: float | None = 0.0
        self.first = ""

    def add(self, spec: ArraySpec, offset: int, elements: int, found: Differences) -> None:
        """One slice of `elements` that begins at `offset` of the flat array."""
        if found.first is not None and not self.first:
            index = ", ".join(map(str, _unravel(offset + found.first, spec.shape)))
            self.first = f"{spec.name}[{index}]: got {found.got:.7g}, expected {found.expected:.7g}"
        self.elements += elements
        self.mismatches += found.mismatches
        self.max_absolute = _larger(self.max_absolute, found.max_absolute)
        self.max_relative = _larger(self.max_relative, found.max_relative)


def run_and_check(setup: Setup, implementation: Implementation, executable: Executable, seed: int) -> Check:
    """Poison the outputs, run once, check everything, red zones included."""
    arrays = setup.placements[0]
    setup.device.poison(arrays, setup.specs)
    returned = executable()
    setup.device.clock.wait()
    return check_after_run(setup, implementation, {**arrays, **(returned or {})}, seed)


def check_after_run(setup: Setup, implementation: Implementation, outputs: Arrays, seed: int) -> Check:
    """Check what a finished run left: outputs, and what lies around every array."""
    if problem := _shape_problem(setup.specs, outputs):
        return Check(False, seed, 0, 0, None, None, _tolerance(setup, implementation), problem)
    try:
        check = check_outputs(setup, implementation, outputs, seed)
    except MemoryError as error:
        raise DeviceError(f"out of memory while its output was compared: {error}") from error
    damaged = setup.device.red_zone_damage()
    if not damaged:
        return check
    text = f"wrote outside of {damaged}"
    return replace(check, passed=False, message=f"{text}; {check.message}" if check.message else text)


def check_outputs(setup: Setup, implementation: Implementation, outputs: Arrays, seed: int) -> Check:
    """All elements of `outputs` against the reference on the inputs that the arrays hold now."""
    tolerance = _tolerance(setup, implementation)
    reference = implementation.reference or setup.operation.reference
    written = sample.written_of(setup.counting, setup.specs, outputs) if setup.counting else {}
    errors = _Errors()
    for part in _sampled_parts(setup, outputs, written) if written else _parts(setup):
        expected = setup.expected(reference, seed, part)
        for spec in setup.specs:
            if spec.role == "output":
                got, wanted = part.of(outputs[spec.name]).reshape(-1), expected[spec.name].reshape(-1)
                offset = part.start * (got.size // (part.stop - part.start))
                places = written[spec.name].places(offset, offset + got.size) if spec.name in written else None
                if places is not None:
                    got, wanted = got[places], wanted[places]
                if got.size:
                    found = sample.placed(setup.device.compare(got, spec.dtype, wanted, tolerance), places)
                    errors.add(spec, offset, int(got.size), found)
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


def _parts(setup: Setup) -> Iterator[Part]:
    """Ranges of the common first dimension, each small enough to check in memory."""
    split = _split(setup)
    step = max(1, _slice_elements(setup) // _row_elements(setup))
    for start in range(0, split, step):
        yield Part(start, min(start + step, split), split)


def _sampled_parts(setup: Setup, outputs: Arrays, written: Mapping[str, Written]) -> Iterator[Part]:
    """Those ranges that hold what was written."""
    split, row = _split(setup), _row_elements(setup)
    ranges = sample.row_ranges(written, outputs, split, row)
    step, most = max(1, _slice_elements(setup) // row), max(1, sample.MOST_ELEMENTS // row)
    for start, stop in sample.pieces(ranges.tolist(), step, most):
        yield Part(start, stop, split)


def _split(setup: Setup) -> int:
    return setup.operation.split(setup.case) if setup.operation.split else 1


def _row_elements(setup: Setup) -> int:
    """Elements of one row of the largest array, seen as [split, -1]."""
    largest = max(spec.nbytes // dtypes.itemsize(spec.dtype) for spec in setup.specs)
    return max(1, largest // _split(setup))


def _slice_elements(setup: Setup) -> int:
    affordable = setup.device.free_bytes() // (8 * WORKSPACE_FACTOR)
    most = setup.counting.slice_elements if setup.counting else SLICE_ELEMENTS
    return max(1, min(most, affordable))


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


def _larger(so_far: float | None, value: float | None) -> float | None:
    """The larger of two errors; None once one is none: NaN cannot be put into a number."""
    return None if so_far is None or value is None else max(so_far, value)
