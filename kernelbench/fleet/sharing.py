"""Which GPU of a fleet measures which suites, and which suites are split among several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelbench.core import places
from kernelbench.core.records import Suite
from kernelbench.runs.folders import RECORDED_GPU, RECORDED_SIMULATOR, recorded_time

_UNEVEN = 1.15  # the largest load over the mean, above which one more suite is split
_START_S = 6.0  # from the end of one suite to the first case of the next, in a process of its own


@dataclass(frozen=True)
class Share:
    """A suite on a GPU: whole, or one part of its cases."""

    suite: int  # its place among the suites, as `gpu` among the GPUs
    gpu: int
    part: str = ""  # such as 1/2; '' for the whole suite


def costs_of(suites: Sequence[Suite], kind: str, *, changed: bool) -> list[float]:
    """About how long each suite takes, in any unit: as recorded, on this kind of GPU if possible; else by its cases, as
    where options changed them. `kind`: as the driver names it, `NVIDIA H100 80GB HBM3`."""
    gpus = {path.name for path in places.RECORDED.glob("*")} - {RECORDED_SIMULATOR}
    gpu = next((word for word in kind.lower().split() if word in gpus), RECORDED_GPU)
    recorded = [recorded_time(suite.name, gpu) for suite in suites]
    known = [found[0] + _START_S for found in recorded if found]
    return [float(len(suite.cases)) for suite in suites] if changed or len(known) < len(suites) else known


def shares_of(costs: Sequence[float], cases: Sequence[int], gpus: int) -> list[Share]:
    """Shares in the order in which GPUs take them, longest first.

    Each part costs a start of its own. So only as many suites are split, longest first, as even loads need.
    """
    order = sorted(range(len(costs)), key=lambda suite: -costs[suite])
    plans = []
    for count in range(len(order) + 1):
        parts = [min(gpus, cases[suite]) if suite in order[:count] else 1 for suite in range(len(costs))]
        longest, found = _dealt(costs, parts, gpus)
        if longest <= _UNEVEN * sum(costs) / gpus:
            return found
        plans.append((longest, found))
    return min(plans, key=lambda plan: plan[0])[1]


def _dealt(costs: Sequence[float], parts: Sequence[int], gpus: int) -> tuple[float, list[Share]]:
    """The longest load, and shares: the longest goes first, each to the GPU that is free first and lacks the suite."""
    loads, found = [0.0] * gpus, []
    for suite in sorted(range(len(costs)), key=lambda suite: -costs[suite] / parts[suite]):
        first = sorted(range(gpus), key=lambda gpu: loads[gpu])[: parts[suite]]
        for number, gpu in enumerate(first, 1):
            loads[gpu] += costs[suite] / parts[suite]
            found.append(Share(suite, gpu, f"{number}/{parts[suite]}" if parts[suite] > 1 else ""))
    return max(loads), found
