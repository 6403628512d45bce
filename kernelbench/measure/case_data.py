"""The arrays of a case on a device, and the reference outputs for its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbench.core import dtypes
from kernelbench.core.contracts import CountingDevice, Device
from kernelbench.core.records import Arrays, ArraySpec, Case, Operation, Reference
from kernelbench.measure.inputs import Inputs

MOST_TOUCHED = 64  # changed input ranges; above this the whole reference is recomputed instead of their rows
# Memory for so many sets of the case's arrays stays free when a reference is kept or further placements are made:
# CuPy's softmax works on three more arrays, and PyTorch keeps the memory that FlashInfer has freed.
ARRAYS_FOR_LIBRARIES = 4


@dataclass
class CaseData:
    """The arrays of a case on a device, and the reference outputs for its inputs.

    `placements` are sets of arrays at different addresses; verification before timing uses the first. `seed` filled
    their inputs. Implementations share the latest reference, of which as much is kept as memory has room for.
    """

    device: Device
    operation: Operation
    case: Case
    placements: list[Arrays]
    seed: int | None = None

    def __post_init__(self) -> None:
        self.specs = self.operation.filled(self.case)
        self.split = self.operation.split(self.case)
        free = self.device.free_bytes()
        self._room = min(free // 4, free - ARRAYS_FOR_LIBRARIES * sum(spec.nbytes for spec in self.specs))
        self._inputs: dict[tuple[int, ...], Inputs] = {}
        self._kept: dict[SliceRange, Arrays] = {}
        self._kept_bytes = 0
        self._kept_of: tuple[Inputs | None, int] = (None, 0)  # inputs of the kept reference, and their `filled`
        self.counting = self.device if isinstance(self.device, CountingDevice) else None

    def inputs(self, arrays: Arrays) -> Inputs:
        """The inputs of one placement; several placements may share them."""
        key = tuple(id(arrays[spec.name]) for spec in self.specs if spec.role == "input")
        if key not in self._inputs:
            self._inputs[key] = Inputs(self.device, self.specs, arrays, self.seed)
        return self._inputs[key]

    def look_at(self, inputs: Inputs) -> None:
        """Update the kept reference to these inputs: rows that changed are recomputed."""
        of = (inputs, inputs.filled)
        specs = {spec.name: spec for spec in inputs.specs}
        touched = {specs[name].slices(start, stop) for name, start, stop in inputs.touched}
        inputs.touched.clear()
        if self._kept_of != of or len(touched) > MOST_TOUCHED or None in touched:
            self._kept.clear()
            self._kept_bytes = 0
        self._kept_of = of
        for one in filter(None, touched):
            self._renew(inputs, *one)

    def _renew(self, inputs: Inputs, start: int, stop: int) -> None:
        """Recompute rows [start, stop) of the kept reference."""
        for part, kept in self._kept.items():
            rows = SliceRange(max(start, part.start), min(stop, part.stop), part.split)
            if rows.start < rows.stop:
                for name, values in self._reference(self.operation.reference, inputs, rows).items():
                    own = kept[name].reshape(part.stop - part.start, -1)
                    own[rows.start - part.start : rows.stop - part.start] = values.reshape(rows.stop - rows.start, -1)

    def expected(self, reference: Reference, inputs: Inputs, part: SliceRange) -> Arrays:
        """The reference's outputs for a slice of the inputs that were given to `look_at` last."""
        shared = reference is self.operation.reference
        if shared and part in self._kept:
            return self._kept[part]
        outputs = self._reference(reference, inputs, part)
        if shared and self._kept_bytes + _bytes_of(outputs) <= self._room:
            outputs = {name: self.device.xp.ascontiguousarray(values) for name, values in outputs.items()}
            self._kept[part] = outputs  # contiguous, because `_renew` replaces rows through a reshaped view
            self._kept_bytes += _bytes_of(outputs)
        return outputs

    def _reference(self, reference: Reference, inputs: Inputs, part: SliceRange) -> Arrays:
        given = {spec.name: self._input(spec, inputs.arrays[spec.name], part) for spec in inputs.specs}
        with np.errstate(all="ignore"):  # inputs may hold infinities; CuPy does not warn
            return reference(self.device.xp, self.case, given)

    def _input(self, spec: ArraySpec, array: Any, part: SliceRange) -> Any:
        """What the reference gets: float64, but on the simulator, for operations that only move elements, values as
        stored. Widened, whole arrays of which a sample touches little would fill the memory."""
        values = spec.part(array, part.start, part.stop)
        if self.counting:
            values = self.counting.materialise(values)
            if self.operation.moves and spec.dtype in ("float32", "float16"):
                return values
        return dtypes.widen(self.device.xp, values, spec.dtype)


def _bytes_of(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())


@dataclass(frozen=True)
class SliceRange:
    """Slices `start` to `stop` of outputs viewed as [split, -1], and of the inputs that determine them."""

    start: int
    stop: int
    split: int

    def of(self, array: Any) -> Any:
        return array.reshape(self.split, -1)[self.start : self.stop]
