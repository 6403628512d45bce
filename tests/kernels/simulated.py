"""Runs an implementation on the simulator, on arrays that may begin beyond an aligned address, and checks every element
of its outputs and the bytes around them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelbench.core import dtypes
from kernelbench.core.counters import Counters
from kernelbench.core.records import (
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
from tests.kernels.signatures import check_signatures
from tests.simt.harness import Kernels

AROUND, UNWRITTEN = 0xA5, 0xFF  # bytes before and after every array, and of outputs that nobody wrote: NaN
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
    if spec.fill == "mask":
        values = generator.integers(0, 2, count)
    else:
        values = getattr(generator, f"standard_{spec.distribution}")(count)
    stored: NDArray[np.generic] = dtypes.narrow(np, values.astype(np.float32), spec.dtype)
    return stored


def all_slices(operation: Operation, case: Case, wide: Arrays) -> Arrays:
    """Inputs as a reference is given all slices of them."""
    specs = {spec.name: spec for spec in operation.arrays(case)}
    return {name: specs[name].part(array, 0, operation.split(case)) for name, array in wide.items()}


def run_and_check(
    implementation: Implementation,
    operation: Operation,
    case: Case,
    device: DeviceProperties,
    binaries: Build,
    shift: int | Mapping[str, int] = 0,
    fill: Fill = random_input,
    seeds: Sequence[int] = (7,),
) -> Ran:
    """Fails where an element is wrong. Arrays begin `shift` elements beyond a multiple of 256 bytes; by
    name, those that are not named none. `fill` makes inputs, in storage type, of array and seed.

    The plan is run once for each of `seeds`, on the same memory, which nobody clears in between; the same inputs must
    have the same bits as result. Returns what the last run did.
    """
    assert implementation.plan is not None
    plan = implementation.plan(case, device)
    (binary,) = binaries(implementation, [plan], "sm_90")
    check_signatures(plan, binary.ptx_path)
    kernels = Kernels(binary.ptx_path.read_text())
    specs = operation.arrays(case)
    shifts = {spec.name: shift if isinstance(shift, int) else shift.get(spec.name, 0) for spec in specs}
    begin = {spec.name: shifts[spec.name] * dtypes.itemsize(spec.dtype) for spec in specs}  # in bytes
    whole, addresses = {}, {}
    for spec in specs:
        behind = 0 if spec.role == "input" else dtypes.itemsize(spec.dtype)  # who reads it reads outside every array
        size = begin[spec.name] + spec.nbytes + behind
        place = kernels.machine.memory.allocate(spec.name, size, "input")
        whole[spec.name] = place.view(np.uint8, (size,))
        addresses[spec.name] = np.uint64(place.address + begin[spec.name])
    for name, nbytes in plan.scratch:
        addresses[name] = np.uint64(kernels.machine.memory.allocate(name, nbytes, "scratch").address)

    results: dict[int, Ran] = {}
    for seed in seeds:
        held = {spec.name: fill(spec, seed + at) for at, spec in enumerate(specs) if spec.role == "input"}
        for spec in specs:
            whole[spec.name][:] = AROUND
            first = begin[spec.name]
            own = held[spec.name].view(np.uint8) if spec.role == "input" else UNWRITTEN
            whole[spec.name][first : first + spec.nbytes] = own
        counters = _launched(kernels, plan, addresses)
        outputs = {}
        for spec in specs:
            first, last = begin[spec.name], begin[spec.name] + spec.nbytes
            assert (whole[spec.name][:first] == AROUND).all(), f"{spec.name}: written before its first element"
            assert (whole[spec.name][last:] == AROUND).all(), f"{spec.name}: written beyond its last element"
            if spec.role == "output":
                outputs[spec.name] = whole[spec.name][first:last].copy().view(dtypes.storage(spec.dtype))
        _check(implementation, operation, case, held, outputs)
        for name, output in results[seed].outputs.items() if seed in results else ():
            assert output.tobytes() == outputs[name].tobytes(), f"{name}: other bits, of the same inputs"
        results[seed] = Ran(outputs, counters)
    return results[seeds[-1]]


def _launched(kernels: Kernels, plan: LaunchPlan, addresses: Mapping[str, np.uint64]) -> tuple[Counters, ...]:
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
            co_resident=launch.co_resident,
        )
        counters.append(done.counters)
    return tuple(counters)


def _check(implementation: Implementation, operation: Operation, case: Case, held: Arrays, outputs: Arrays) -> None:
    """Every element of the outputs, as stored, of the inputs that are held."""
    stored = {spec.name: spec.dtype for spec in operation.arrays(case)}
    inputs = all_slices(operation, case, {name: dtypes.widen(np, held[name], stored[name]) for name in held})
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = (implementation.reference or operation.reference)(np, case, inputs)
    tolerance = operation.tolerance(case)
    for name, output in outputs.items():
        got, wanted = dtypes.widen(np, output, stored[name]), expected[name].reshape(-1)
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        with np.errstate(invalid="ignore"):
            wrong = ~(same | (np.abs(got - wanted) <= tolerance.absolute + tolerance.relative * np.abs(wanted)))
        at = int(np.argmax(wrong))
        assert not wrong.any(), f"{name}[{at}] of {wanted.size}: got {got[at]}, expected {wanted[at]}"
