"""A pass for hardware counters: each implementation once under Nsight Compute, beside the simulator's counts."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from kernelbench import devices
from kernelbench.core.errors import NoCompiler, NoCounters, NoDevice
from kernelbench.core.hardware_counters import CountedLaunch, ProfiledLaunch
from kernelbench.core.progress import Advance, Progress
from kernelbench.devices.known import KNOWN, known_gpu_key
from kernelbench.explain.counted import Counted
from kernelbench.explain.hardware_agreement import side_by_side
from kernelbench.measure.bench import Bench, InProcessBench
from kernelbench.measure.counting import count_case
from kernelbench.measure.opening import MeasureRequest
from kernelbench.measure.profiling.ncu_target import Item, ProfileJob
from kernelbench.measure.profiling.probe import NO_GPU, find_profiler, profiling_machine
from kernelbench.measure.profiling.profiler import profile_items
from kernelbench.planning.case_plans import CasePlan
from kernelbench.planning.catalog import Catalog

Key = tuple[str, str]  # a case's key, and the name of an implementation


@dataclass(frozen=True)
class Profiled:
    """The launches of each implementation that Nsight Compute recorded, or the reason why it recorded none.

    `unavailable`: why it could not be asked at all; '' if it was.
    """

    launches: Mapping[Key, Sequence[ProfiledLaunch] | str] = field(default_factory=dict)
    seconds: float = 0.0
    unavailable: str = ""

    def of(self, case: str, name: str) -> Sequence[ProfiledLaunch] | str:
        return self.launches.get((case, name)) or self.unavailable

    def environment(self) -> Mapping[str, Any]:
        """Its entry in environment.json."""
        return {"unavailable": self.unavailable} if self.unavailable else {"seconds": round(self.seconds, 1)}


def profile_plans(
    plans: Iterable[CasePlan], request: MeasureRequest, progress: Progress, folder: Path | None = None
) -> Profiled:
    """Profile whatever can run. The report of Nsight Compute stays in `folder`; None: nowhere."""
    began = time.monotonic()
    pairs = [(plan.case, one) for plan in plans for one in plan.planned if one.status == "ok"]
    items = [
        Item(number, case, one.implementation.name, one.plan, one.binary) for number, (case, one) in enumerate(pairs)
    ]
    device = request.device if request.device.startswith("cuda") else "cuda"
    job = ProfileJob(partial(devices.open_device, device), tuple(request.kernels), request.seed, tuple(items))
    try:
        ncu = find_profiler(profiling_machine())
        with tempfile.TemporaryDirectory() as temporary, progress.stage("Hardware counters", len(items)) as advance:
            found = profile_items(job, ncu, folder or Path(temporary), request.patience_s, advance)
    except NoCounters as error:
        return Profiled(unavailable=str(error))
    own = {(one.case.key, one.name): found.launches.get(one.number) or found.reasons[one.number] for one in items}
    return Profiled(own, time.monotonic() - began)


def gpu_to_profile(asked: str | None) -> tuple[str, Mapping[str, Any]]:
    """The key in KNOWN of the GPU of this machine, and its entries for environment.json; NoCounters if there is none,
    or another one than was asked for."""
    try:
        device = devices.open_device("cuda")
    except NoDevice as error:
        raise NoCounters(NO_GPU) from error
    name, key = device.properties.name, known_gpu_key(device.properties.name)
    if KNOWN[key].name != name or (asked and KNOWN.get(asked.lower()) != KNOWN[key]):
        raise NoCounters(f"the GPU here, {name}, is not the one that plans are for, {asked or key}")
    return key, device.environment()


def launches_of_case(case: str, found: Profiled, counted: Mapping[str, Counted | str]) -> list[CountedLaunch]:
    """The launches of one case. `counted`: the simulator's side by implementation, or why it has none."""
    return [launch for name, one in counted.items() for launch in side_by_side(case, name, found.of(case, name), one)]


def simulator_for(bench: Bench, catalog: Catalog) -> Bench:
    """The simulator with the properties of a GPU."""
    return InProcessBench(devices.open_device(f"simulated:{known_gpu_key(bench.properties.name)}"), catalog)


def simulated_counts(
    simulator: Bench, catalog: Catalog, plan: CasePlan, request: MeasureRequest, advance: Advance
) -> dict[str, Counted | str]:
    """The simulator's counts by implementation, or why it has none."""
    names = [one.implementation.name for one in plan.planned]
    try:
        counted, missing = count_case(simulator, catalog.operations[plan.case.operation], plan, request.seed, advance)
    except NoCompiler as error:
        return dict.fromkeys(names, str(error))
    return {name: counted[name] if name in counted else missing[name] for name in names}
