"""The walk of `explain`: suite -> cases -> plan -> build -> run on the simulator -> counters -> explanation.

Nothing is verified or timed here: `check` and `run` do that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from kernelbench.core import places
from kernelbench.core.contracts import CountingDevice
from kernelbench.core.counters import LaunchCounters, total
from kernelbench.core.errors import EVERYBODYS, reason_of
from kernelbench.core.progress import Progress
from kernelbench.core.records import BROADCAST, Arrays, ArraySpec, Case, DeviceProperties, Operation, Suite
from kernelbench.explain.counted import Counted, LaunchShape
from kernelbench.explain.records import CaseExplanation
from kernelbench.measure.bench import InProcessBench, make_thorough
from kernelbench.measure.ready import made_ready
from kernelbench.planning.case_plans import CasePlan, Planned, plan_suite
from kernelbench.planning.catalog import load_catalog
from kernelbench.walks import pipeline
from kernelbench.walks.answers import claims_about
from kernelbench.walks.pipeline import Request

DEFAULT_GPU = "h200"  # planned and bounded for, where none is named


@dataclass(frozen=True)
class Explained:
    suite: Suite
    explanation: CaseExplanation


def explain(request: Request, gpu: str | None, progress: Progress, *, lines: bool = False) -> Iterator[Explained]:
    """Explain suites case by case, on the simulator whatever GPUs there are.

    `gpu` is whom plans and bounds are for; `lines` adds the source lines of every implementation.
    """
    from kernelbench.build import find_compiler
    from kernelbench.compare import read_ledger
    from kernelbench.devices import open_device
    from kernelbench.explain import explain_case, listings

    catalog, ledger = load_catalog(specimens=True, own=request.kernels), read_ledger(places.LEDGER)
    suites = pipeline.read_suites(request, catalog)
    properties = pipeline.gpu_properties(gpu or DEFAULT_GPU)
    bench = InProcessBench(open_device(f"simulated:{gpu or DEFAULT_GPU}"), catalog)
    make_thorough(bench, full=request.full, strict=request.strict)
    device = bench.device
    assert isinstance(device, CountingDevice)
    compiler = find_compiler(request.nvcc)
    for suite in suites:
        plans = plan_suite(suite, catalog, properties)
        plans, _ = made_ready(plans, bench, compiler, progress)
        for plan in plans:
            operation = catalog.operations[plan.case.operation]
            claims = claims_about(ledger, operation.name, suite.name)
            counting = Counting(device, operation, plan)
            with progress.stage(f"Counting {plan.case.key}", len(plan.planned)) as advance:
                for name in counting.run(request.seed):
                    advance(1, name)
            found = explain_case(plan.case.key, counting.counted, properties, claims, counting.missing)
            sources = [listing for one in counting.counted.values() for listing in listings(one)] if lines else ()
            yield Explained(suite, replace(found, listings=sources))


class Counting:
    """One case on the simulator: `counted` by implementation, and `missing` with the reason of those that were not."""

    def __init__(self, device: CountingDevice, operation: Operation, plan: CasePlan) -> None:
        self.device, self.operation, self.plan = device, operation, plan
        self.specs = operation.filled(plan.case)
        self.counted: dict[str, Counted] = {}
        self.missing: dict[str, str] = {}

    def run(self, seed: int) -> Iterator[str]:
        """Names of the implementations, each when it is done."""
        arrays = self.device.allocate(self.specs)
        try:
            self.device.fill(arrays, self.specs, seed)
            for planned in self.plan.planned:
                self._count(planned, arrays)
                yield planned.implementation.name
        finally:
            del arrays
            self.device.release()

    def _count(self, planned: Planned, arrays: Arrays) -> None:
        name = planned.implementation.name
        if planned.status != "ok":
            self.missing[name] = planned.reason
            return
        if planned.plan is None:
            self.missing[name] = "a library call, whose kernels are not at hand"
            return
        try:
            self.device.poison(arrays, self.specs)
            executable = self.device.executable(
                planned.implementation, self.plan.case, planned.plan, planned.binary, arrays
            )
            executable()
            self.device.clock.wait()
            launches = self.device.counts(executable)
        except EVERYBODYS:
            raise
        except Exception as error:  # whatever it is, others go on
            self.missing[name] = reason_of(error)
            return
        self.counted[name] = counted_of(
            self.plan.case, planned, launches, self.specs, self.operation.bytes_moved(self.plan.case),
            self.device.properties,
        )  # fmt: skip


def counted_of(
    case: Case,
    planned: Planned,
    launches: Sequence[LaunchCounters],
    specs: Sequence[ArraySpec],
    least_bytes: int,
    gpu: DeviceProperties,
) -> Counted:
    """What explanations need to know of one implementation that was run."""
    assert planned.plan is not None
    sizes = {spec.name: spec.nbytes for spec in specs} | dict(planned.plan.scratch)
    sampled = dict.fromkeys(launch.sampled for launch in launches if launch.sampled)
    return Counted(
        case=case.key,
        implementation=planned.implementation.name,
        counters=total(launch.counters for launch in launches),
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
    for launch in planned.plan.launches:
        fact = facts.get(launch.entry)
        yield LaunchShape(
            entry=launch.entry,
            blocks=prod(launch.grid),
            threads=launch.threads,
            shared_bytes=launch.shared_bytes + (fact.shared_bytes if fact else 0),
            registers=fact.registers if fact else 0,
            array_bytes=sum(sizes[name] for name in {one for one in launch.arguments if isinstance(one, str)}),
            machine_code=fact.machine_code if fact else "",
        )
