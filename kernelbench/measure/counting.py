"""Runs one case on the simulator to count what its kernels do; nothing is verified or timed."""

from collections.abc import Iterator, Sequence
from math import prod

from kernelbench.build import access_notes
from kernelbench.core.contracts import CountingDevice
from kernelbench.core.counters import LaunchCounters, total_counters
from kernelbench.core.errors import EVERYBODYS, reason_of
from kernelbench.core.progress import Advance
from kernelbench.core.records import (
    BROADCAST,
    Arrays,
    ArraySpec,
    Case,
    CasePlan,
    DeviceProperties,
    Operation,
    Planned,
)
from kernelbench.explain.counted import Counted, LaunchShape
from kernelbench.measure.bench import Bench, InProcessBench


def count_case(
    bench: Bench, operation: Operation, plan: CasePlan, seed: int, advance: Advance
) -> tuple[dict[str, Counted], dict[str, str]]:
    """By name: counters of the implementations that ran, and reasons why the others did not. `bench`: the simulator;
    `advance`: by 1 for each implementation, with its name."""
    device = bench.device if isinstance(bench, InProcessBench) else None
    assert isinstance(device, CountingDevice)
    specs = operation.filled(plan.case)
    counted: dict[str, Counted] = {}
    missing: dict[str, str] = {}
    arrays = device.allocate(specs)
    try:
        device.fill(arrays, specs, seed)
        for planned in plan.planned:
            name = planned.implementation.name
            advance(0, name)
            launches = _launches(device, plan.case, planned, specs, arrays)
            if isinstance(launches, str):
                missing[name] = launches
            else:
                least_bytes = operation.bytes_moved(plan.case)
                counted[name] = _counted(plan.case, planned, launches, specs, least_bytes, device.properties)
            advance(1, name)
    finally:
        del arrays
        device.release()
    return counted, missing


def _launches(
    device: CountingDevice, case: Case, planned: Planned, specs: Sequence[ArraySpec], arrays: Arrays
) -> tuple[LaunchCounters, ...] | str:
    """The counters of each launch, or the reason why there are none."""
    if planned.status != "ok":
        return planned.reason
    if planned.plan is None:
        return "a library call, whose kernels are not available as PTX"
    try:
        device.poison(arrays, specs)
        executable = device.executable(planned.implementation, case, planned.plan, planned.binary, arrays)
        executable()
        device.clock.wait()
        return device.counts(executable)
    except EVERYBODYS:
        raise
    except Exception as error:  # the other implementations still run
        return reason_of(error)


def _counted(
    case: Case,
    planned: Planned,
    launches: Sequence[LaunchCounters],
    specs: Sequence[ArraySpec],
    least_bytes: int,
    gpu: DeviceProperties,
) -> Counted:
    """What explanations need to know about one implementation."""
    assert planned.plan is not None
    sizes = {spec.name: spec.nbytes for spec in specs} | dict(planned.plan.scratch)
    sampled = dict.fromkeys(launch.sampled for launch in launches if launch.sampled)
    return Counted(
        case=case.key,
        implementation=planned.implementation.name,
        counters=total_counters(launch.counters for launch in launches),
        role=planned.implementation.role,
        least_bytes=least_bytes,
        shapes=tuple(_shapes(planned, sizes)),
        launches=tuple(launches),
        sampled=next(iter(sampled), ""),
        gpu=gpu,
        inputs=tuple(spec.name for spec in specs if spec.role == "input"),
        broadcast=tuple(spec.name for spec in specs if spec.split == BROADCAST),
    )


def _shapes(planned: Planned, sizes: dict[str, int]) -> Iterator[LaunchShape]:
    assert planned.plan is not None
    facts = planned.binary.facts if planned.binary else {}
    notes = access_notes(planned.binary) if planned.binary else {}
    for launch in planned.plan.launches:
        fact = facts.get(launch.entry)
        yield LaunchShape(
            entry=launch.entry,
            blocks=prod(launch.grid),
            threads=launch.threads,
            shared_bytes=launch.shared_bytes + (fact.shared_bytes if fact else 0),
            registers=fact.registers if fact else 0,
            array_bytes=sum(sizes[name] for name in launch.arrays),
            machine_code=notes.get(launch.entry, ""),
        )
