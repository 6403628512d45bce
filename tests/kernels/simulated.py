"""Runs an implementation on the simulator, on arrays that may begin beyond an aligned address, and checks every element
of its outputs and the bytes around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernelbench import dtypes
from kernelbench.counters import Counters
from kernelbench.records import (
    Arrays,
    ArraySpec,
    Binary,
    Case,
    DeviceProperties,
    Implementation,
    LaunchPlan,
    Operation,
    Scalar,
)
from tests.simt.harness import Kernels

AROUND = 0xA5  # what lies before and after every array, and in outputs that nobody wrote
Build = Callable[[Implementation, Sequence[LaunchPlan], str], list[Binary]]
Fill = Callable[[ArraySpec, int], NDArray[np.generic]]


@dataclass(frozen=True)
class Ran:
    """Outputs as stored, by name, and what each launch did."""

    outputs: Arrays
    counters: tuple[Counters, ...]


def random_input(spec: ArraySpec, seed: int) -> NDArray[np.generic]:
    """As a device fills it, in storage type."""
    generator = np.random.default_rng(seed)
    count = spec.nbytes // dtypes.itemsize(spec.dtype)
    if spec.fill == "bits":
        return generator.integers(0, 256, count).astype(np.uint8)
    values = generator.integers(0, 2, count) if spec.fill == "mask" else generator.normal(size=count)
    stored: NDArray[np.generic] = dtypes.narrow(np, values.astype(np.float32), spec.dtype)
    return stored


def run_and_check(
    implementation: Implementation,
    operation: Operation,
    case: Case,
    device: DeviceProperties,
    binaries: Build,
    shift: int | Mapping[str, int] = 0,
    fill: Fill = random_input,
) -> Ran:
    """Fails where an element is wrong. Arrays begin `shift` elements beyond a multiple of 256 bytes; by
    name, those that are not named none. `fill` makes inputs, in storage type, of array and seed."""
    assert implementation.plan is not None
    plan = implementation.plan(case, device)
    (binary,) = binaries(implementation, [plan], "sm_90")
    kernels = Kernels(Path(binary.ptx_path).read_text())
    specs = operation.arrays(case)
    held = {spec.name: fill(spec, 7 + at) for at, spec in enumerate(specs) if spec.role == "input"}
    shifts = {spec.name: shift if isinstance(shift, int) else shift.get(spec.name, 0) for spec in specs}
    begin = {spec.name: shifts[spec.name] * dtypes.itemsize(spec.dtype) for spec in specs}  # in bytes
    whole, addresses = {}, {}
    for spec in specs:
        first, size = begin[spec.name], begin[spec.name] + spec.nbytes + dtypes.itemsize(spec.dtype)
        place = kernels.machine.arena.allocate(spec.name, size, "input")
        whole[spec.name] = place.view(np.uint8, (size,))
        whole[spec.name][:] = AROUND
        addresses[spec.name] = np.uint64(place.address + first)
        if spec.role == "input":
            whole[spec.name][first : first + spec.nbytes] = held[spec.name].view(np.uint8)
    for name, nbytes in plan.scratch:
        addresses[name] = np.uint64(kernels.machine.arena.allocate(name, nbytes, "scratch").address)

    counters = []
    for launch in plan.launches:
        arguments = [
            np.dtype(one.dtype).type(one.value) if isinstance(one, Scalar) else addresses[one]
            for one in launch.arguments
        ]
        done = kernels.run(
            launch.entry,
            launch.grid,
            launch.block,
            *arguments,
            shared=launch.shared_bytes,
            cooperative=launch.cooperative,
            gang=launch.gang,
        )
        counters.append(done.counters)

    wide = {spec.name: dtypes.widen(np, held[spec.name], spec.dtype) for spec in specs if spec.role == "input"}
    split = operation.split(case) if operation.split else 1
    inputs = {name: values.reshape(split, -1) for name, values in wide.items()}
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = (implementation.reference or operation.reference)(np, case, inputs)
    tolerance, outputs = operation.tolerance(case), {}
    for spec in specs:
        first, last = begin[spec.name], begin[spec.name] + spec.nbytes
        assert (whole[spec.name][:first] == AROUND).all(), f"{spec.name}: written before its first element"
        assert (whole[spec.name][last:] == AROUND).all(), f"{spec.name}: written beyond its last element"
        if spec.role == "output":
            outputs[spec.name] = whole[spec.name][first:last].copy().view(dtypes.storage(spec.dtype))
            got = dtypes.widen(np, outputs[spec.name], spec.dtype)
            wanted = expected[spec.name].reshape(-1)
            same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
            with np.errstate(invalid="ignore"):
                wrong = ~(same | (np.abs(got - wanted) <= tolerance.absolute + tolerance.relative * np.abs(wanted)))
            at = int(np.argmax(wrong))
            assert not wrong.any(), f"{spec.name}[{at}] of {wanted.size}: got {got[at]}, expected {wanted[at]}"
    return Ran(outputs, tuple(counters))
