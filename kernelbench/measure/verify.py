"""Outputs against the float64 reference, every element, in slices that fit the memory.

Works on any array module, so a GPU's output is checked on that GPU. Where a device ran a sample of the blocks,
every element that those wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kernelbench.core import dtypes
from kernelbench.core.contracts import Executable
from kernelbench.core.differences import Differences
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import BROADCAST, Arrays, ArraySpec, Check, Implementation, Tolerance
from kernelbench.measure import sampled_outputs
from kernelbench.measure.case_data import CaseData, Part
from kernelbench.measure.inputs import Inputs
from kernelbench.measure.sampled_outputs import Written

SLICE_ELEMENTS = 2**26  # of the largest array; a float64 slice of it is 512 MB
WORKSPACE_FACTOR = 10  # float64 slices alive at once while one is checked, rounded up


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
            place = spec.element(offset + found.first)
            self.first = f"{place}: got {found.got:.7g}, expected {found.expected:.7g}"
        self.elements += elements
        self.mismatches += found.mismatches
        self.max_absolute = _larger(self.max_absolute, found.max_absolute)
        self.max_relative = _larger(self.max_relative, found.max_relative)


def run_and_check(data: CaseData, implementation: Implementation, executable: Executable, seed: int) -> Check:
    """Poison the outputs, run once, check everything, inputs and red zones included."""
    arrays = data.placements[0]
    inputs = data.inputs(arrays)
    if not inputs.sealed:
        inputs.seal()
    data.device.poison(arrays, data.specs)
    returned = executable()
    left = digests(data, {**arrays, **(returned or {})})
    data.device.clock.wait()
    return check_after_run(data, implementation, arrays, returned, left, seed)


def digests(data: CaseData, outputs: Arrays) -> dict[str, Any]:
    """Digests of the outputs as they are at this point of the device's stream."""
    return {spec.name: data.device.digest(outputs[spec.name]) for spec in data.specs if spec.role == "output"}


def check_after_run(
    data: CaseData,
    implementation: Implementation,
    arrays: Arrays,
    returned: Arrays | None,
    left: Mapping[str, Any],
    seed: int,
) -> Check:
    """Check what a finished run left: its inputs, which it may not have changed, its outputs, and what lies around
    every array.

    `arrays`: the placement that it ran at, with its inputs sealed; `returned`: outputs that it allocated itself;
    `left`: digests of the outputs, taken right behind the run.
    """
    outputs, inputs = {**arrays, **(returned or {})}, data.inputs(arrays)
    damaged = data.device.red_zone_damage()  # asked in any case: nobody else is to be blamed for it
    outside = [f"wrote outside of {damaged}"] if damaged else []
    unusable = _output_problem(data, arrays, outputs)
    if problem := _input_problem(data, inputs, seed) or unusable:
        if not unusable:
            _forget(data, outputs, returned)
        message = "; ".join([problem, *outside])
        return Check(False, seed, 0, 0, None, None, _tolerance(data, implementation), message)
    try:
        check = check_outputs(data, implementation, outputs, inputs, seed)
    except MemoryError as error:
        raise DeviceError(f"out of memory while its output was compared: {error}") from error
    late = [name for name, digest in digests(data, outputs).items() if int(digest) != int(left[name])]
    _forget(data, outputs, returned)
    problems = [f"wrote {', '.join(late)} after the end of its work in the stream that it was given"] if late else []
    problems += outside
    if not problems:
        return check
    return replace(check, passed=False, message="; ".join(filter(None, (*problems, check.message))))


def _forget(data: CaseData, outputs: Arrays, returned: Arrays | None) -> None:
    """Poison outputs that a run allocated: their memory goes to somebody else, who might pass it off as an answer."""
    data.device.poison(outputs, [spec for spec in data.specs if spec.name in (returned or {})])


def _input_problem(data: CaseData, inputs: Inputs, seed: int) -> str:
    """What the run did to its inputs. They are made anew, for whoever runs next."""
    damaged = inputs.damage()
    if not damaged:
        return ""
    inputs.fill(seed)
    inputs.seal()
    return f"wrote to its input: {damaged} is not what it was before the run"


def _output_problem(data: CaseData, arrays: Arrays, outputs: Arrays) -> str:
    """What tells without a look at its elements that an output is none."""
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
    """All elements of `outputs` against the reference of these inputs."""
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
                if got.size:
                    found = sampled_outputs.placed(data.device.compare(got, spec.dtype, wanted, tolerance), places)
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


def _tolerance(data: CaseData, implementation: Implementation) -> Tolerance:
    return data.operation.tolerance(data.case).plus(implementation.extra_tolerance)


def _parts(data: CaseData) -> Iterator[Part]:
    """Ranges of slices, each small enough to check in memory."""
    split = data.split
    step = max(1, _slice_elements(data) // _row_elements(data))
    for start in range(0, split, step):
        yield Part(start, min(start + step, split), split)


def _sampled_parts(data: CaseData, outputs: Arrays, written: Mapping[str, Written]) -> Iterator[Part]:
    """Those ranges that hold what was written."""
    split, row = data.split, _row_elements(data)
    ranges = sampled_outputs.row_ranges(written, outputs, split, row)
    step, most = max(1, _slice_elements(data) // row), max(1, sampled_outputs.MOST_ELEMENTS // row)
    for start, stop in sampled_outputs.pieces(ranges.tolist(), step, most):
        yield Part(start, stop, split)


def _row_elements(data: CaseData) -> int:
    """Elements of one slice of the largest array that is cut."""
    cut = (spec for spec in data.specs if spec.split != BROADCAST)
    return max(1, max(spec.nbytes // dtypes.itemsize(spec.dtype) for spec in cut) // data.split)


def _slice_elements(data: CaseData) -> int:
    affordable = data.device.free_bytes() // (8 * WORKSPACE_FACTOR)
    most = data.counting.slice_elements if data.counting else SLICE_ELEMENTS
    return max(1, min(most, affordable))


def _larger(so_far: float | None, value: float | None) -> float | None:
    """The larger of two errors; None once one is none: NaN cannot be put into a number."""
    return None if so_far is None or value is None else max(so_far, value)
