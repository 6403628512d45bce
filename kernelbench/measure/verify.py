"""Compares every output element with the float64 reference, in slices that fit into memory.

Works with any array module, so a GPU's output is checked on that GPU. If a device ran only a sample of the blocks,
the elements that those wrote are compared.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbench.core import dtypes
from kernelbench.core.contracts import POISON_BYTE, Executable
from kernelbench.core.differences import Differences
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import BROADCAST, Arrays, ArraySpec, Check, Implementation, Tolerance
from kernelbench.measure import sampled_outputs
from kernelbench.measure.case_data import CaseData, SliceRange
from kernelbench.measure.inputs import Inputs
from kernelbench.measure.sampled_outputs import Written

SLICE_ELEMENTS = 2**26  # of the largest array; a float64 slice of it is 512 MB
WORKSPACE_FACTOR = 10  # float64 slices in memory while one is checked, rounded up
LIBRARY_FACTOR = 4.0  # times the tolerance: up to this a library is off by its own rounding, beyond it is wrong
UNWRITTEN = "; it was probably never written (is the grid large enough?)"


class _Errors:
    """Errors over all slices, with the first mismatch."""

    def __init__(self) -> None:
        self.elements = 0
        self.mismatches = 0
        self.max_absolute: float | None = 0.0
        self.max_relative: float | None = 0.0
        self.max_ulp: float | None = 0.0
        self.worst: float | None = 0.0  # error / what the tolerance allows
        self.worst_text = ""
        self.first = ""

    def add(self, spec: ArraySpec, offset: int, elements: int, found: Differences, advice: str) -> None:
        """Add a slice of `elements` that begins at `offset` of the flat array. `advice`: about its first mismatch."""
        if found.first is not None and not self.first:
            place = spec.element(offset + found.first)
            self.first = f"{place}: got {found.got:.7g}, expected {found.expected:.7g}{advice}"
        self.elements += elements
        self.mismatches += found.mismatches
        self.max_absolute = _larger(self.max_absolute, found.max_absolute)
        self.max_relative = _larger(self.max_relative, found.max_relative)
        self.max_ulp = _larger(self.max_ulp, found.max_ulp)
        self.worst = _larger(self.worst, found.worst)

    @property
    def grade(self) -> str:
        """How far a library is off, '' if that is not its own rounding. Wrong infinities and NaN have no `worst`."""
        graded = self.mismatches and self.worst is not None and self.worst <= LIBRARY_FACTOR
        return f"off by its own rounding: {self.worst_text}" if graded else ""


def run_and_check(data: CaseData, implementation: Implementation, executable: Executable, seed: int) -> Check:
    """Poison the outputs, run once, and check outputs, inputs and red zones."""
    arrays = data.placements[0]
    inputs = data.inputs(arrays)
    if not inputs.sealed:
        inputs.seal()
    data.device.poison(arrays, data.specs)
    returned = executable()
    left = output_digests(data, {**arrays, **(returned or {})})
    data.device.clock.wait()
    return check_after_run(data, implementation, arrays, returned, left, seed)


def output_digests(data: CaseData, outputs: Arrays) -> dict[str, Any]:
    """Digests of the outputs at this point of the device's stream."""
    return {spec.name: data.device.digest(outputs[spec.name]) for spec in data.specs if spec.role == "output"}


def check_after_run(
    data: CaseData,
    implementation: Implementation,
    arrays: Arrays,
    returned: Arrays | None,
    left: Mapping[str, Any],
    seed: int,
) -> Check:
    """Check a finished run: that its inputs and the red zones are unchanged, and its outputs.

    `arrays`: its placement, whose inputs were sealed; `returned`: outputs that it allocated itself; `left`: digests of
    the outputs right after the run.
    """
    outputs, inputs = {**arrays, **(returned or {})}, data.inputs(arrays)
    damaged = data.device.red_zone_damage()  # always asked, so that no later run is blamed for it
    outside = [f"wrote outside of {damaged}"] if damaged else []
    unusable = _output_problem(data, arrays, outputs)
    if problem := _input_problem(data, inputs, seed) or unusable:
        if not unusable:
            _poison_returned(data, outputs, returned)
        message = "; ".join([problem, *outside])
        return Check(False, seed, 0, 0, None, None, _tolerance(data, implementation), message)
    try:
        check = check_outputs(data, implementation, outputs, inputs, seed)
    except MemoryError as error:
        raise DeviceError(f"out of memory while its output was compared: {error}") from error
    late = [name for name, digest in output_digests(data, outputs).items() if int(digest) != int(left[name])]
    _poison_returned(data, outputs, returned)
    problems = [f"wrote {', '.join(late)} after the end of its work in the stream that it was given"] if late else []
    problems += outside
    if not problems:
        return check
    return replace(check, passed=False, message="; ".join(filter(None, (*problems, check.message))))


def _poison_returned(data: CaseData, outputs: Arrays, returned: Arrays | None) -> None:
    """Poison outputs that a run allocated: the next run might get their memory and return it as its result."""
    data.device.poison(outputs, [spec for spec in data.specs if spec.name in (returned or {})])


def _input_problem(data: CaseData, inputs: Inputs, seed: int) -> str:
    """How the run changed its inputs, '' for not at all. Changed inputs are filled again for the next run."""
    damaged = inputs.damage()
    if not damaged:
        return ""
    inputs.fill(seed)
    inputs.seal()
    return f"wrote to its input: {damaged} is not what it was before the run"


def _output_problem(data: CaseData, arrays: Arrays, outputs: Arrays) -> str:
    """Why the outputs cannot be compared: a wrong shape, or memory shared with an input; '' for no problem."""
    inputs = [spec.name for spec in data.specs if spec.role == "input"]
    for spec in data.specs:
        if spec.role != "output":
            continue
        got = outputs[spec.name]
        if tuple(got.shape) != spec.shape:
            return f"{spec.name} has shape {tuple(got.shape)}, expected {spec.shape}"
        for name in inputs if got is not arrays[spec.name] else ():
            if data.device.xp.may_share_memory(got, arrays[name]):
                return f"{spec.name} lies in the memory of its input {name}; expected memory of its own"
    return ""


def check_outputs(data: CaseData, implementation: Implementation, outputs: Arrays, inputs: Inputs, seed: int) -> Check:
    """Compare all elements of `outputs` with the reference of these inputs."""
    data.look_at(inputs)
    tolerance = _tolerance(data, implementation)
    reference = implementation.reference or data.operation.reference
    written = sampled_outputs.written_of(data.counting, data.specs, outputs) if data.counting else {}
    errors = _Errors()
    for part in _sampled_parts(data, outputs, written) if written else _parts(data):
        expected = data.expected(reference, inputs, part)
        for spec in data.specs:
            if spec.role == "output":
                got, wanted = part.of(outputs[spec.name]).reshape(-1), expected[spec.name].reshape(-1)
                offset = part.start * (got.size // (part.stop - part.start))
                places = written[spec.name].places(offset, offset + got.size) if spec.name in written else None
                if places is not None:
                    got, wanted = got[places], wanted[places]
                if not got.size:
                    continue
                found = data.device.compare(got, spec.dtype, wanted, tolerance)
                advice = "" if spec.name in written else _advice(data, implementation, got, found)
                errors.add(spec, offset, int(got.size), sampled_outputs.placed(found, places), advice)
                if implementation.is_library and found.mismatches and errors.grade and found.worst == errors.worst:
                    errors.worst_text = _worst_text(data, spec.dtype, got, wanted, tolerance, found)
    grade = errors.grade if implementation.is_library else ""
    first = f"{errors.mismatches} of {errors.elements} elements wrong, first {errors.first}"
    return Check(
        passed=errors.mismatches == 0 or bool(grade),
        seed=seed,
        elements=errors.elements,
        mismatches=errors.mismatches,
        max_absolute_error=errors.max_absolute,
        max_relative_error=errors.max_relative,
        tolerance=tolerance,
        message=first if errors.first and not grade else "",
        max_error_ulp=errors.max_ulp,
        grade=grade,
        share_of_tolerance=errors.worst,
    )


def _advice(data: CaseData, implementation: Implementation, got: Any, found: Differences) -> str:
    """UNWRITTEN if the first mismatch still holds the bytes of a poisoned output; '' if not, and of a library's call,
    whose grid nobody sets."""
    if found.first is None or implementation.plan is None:
        return ""
    xp = data.device.xp
    held = xp.ascontiguousarray(got[found.first : found.first + 1]).view(xp.uint8)
    return UNWRITTEN if bool((held == POISON_BYTE).all()) else ""


def _worst_text(data: CaseData, dtype: str, got: Any, wanted: Any, tolerance: Tolerance, found: Differences) -> str:
    """`1.1 ulp where 0.5 is allowed`, of the element that is furthest beyond the tolerance."""
    just_below = (1 - 1e-9) * (found.worst or 0.0)  # times the tolerance: only that element is further off
    narrower = Tolerance(just_below * tolerance.relative, just_below * tolerance.absolute)
    worst = data.device.compare(got, dtype, wanted, narrower)
    assert worst.got is not None
    assert worst.expected is not None
    ulp = float(dtypes.spacing(np, np.array(abs(worst.expected)), dtype))
    allowed = (tolerance.absolute + tolerance.relative * abs(worst.expected)) / ulp
    return f"{abs(worst.got - worst.expected) / ulp:.3g} ulp where {allowed:.3g} is allowed"


def _tolerance(data: CaseData, implementation: Implementation) -> Tolerance:
    return data.operation.tolerance(data.case).plus(implementation.extra_tolerance)


def _parts(data: CaseData) -> Iterator[SliceRange]:
    """Ranges of slices that are small enough to be checked in memory."""
    split = data.split
    step = max(1, _slice_elements(data) // _row_elements(data))
    for start in range(0, split, step):
        yield SliceRange(start, min(start + step, split), split)


def _sampled_parts(data: CaseData, outputs: Arrays, written: Mapping[str, Written]) -> Iterator[SliceRange]:
    """Ranges of slices with written elements."""
    split, row = data.split, _row_elements(data)
    ranges = sampled_outputs.row_ranges(written, outputs, split, row)
    step, most = max(1, _slice_elements(data) // row), max(1, sampled_outputs.MOST_ELEMENTS // row)
    for start, stop in sampled_outputs.sampled_ranges(ranges.tolist(), step, most):
        yield SliceRange(start, stop, split)


def _row_elements(data: CaseData) -> int:
    """Elements per slice of the largest array that is split."""
    cut = (spec for spec in data.specs if spec.split != BROADCAST)
    return max(1, max(spec.nbytes // dtypes.itemsize(spec.dtype) for spec in cut) // data.split)


def _slice_elements(data: CaseData) -> int:
    affordable = data.device.free_bytes() // (8 * WORKSPACE_FACTOR)
    most = data.counting.slice_elements if data.counting else SLICE_ELEMENTS
    return max(1, min(most, affordable))


def _larger(so_far: float | None, value: float | None) -> float | None:
    """The larger of two errors; None if either is None, which stands for NaN."""
    return None if so_far is None or value is None else max(so_far, value)
