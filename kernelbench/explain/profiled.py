"""Explains kernels of a report of Nsight Compute by what the hardware counted, whoever wrote them.

The metrics, rules and tables are those of the simulator's counts, as far as the report has what they need. A few rules
are for what only hardware counts: occupancy, stalls, DRAM.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from kernelbench.core.counters import SECTOR_BYTES, Counters
from kernelbench.core.hardware_counters import STALLS, CountedLaunch, ProfiledLaunch
from kernelbench.core.units import digits, share_text
from kernelbench.explain.case import case_sentences, differing_metrics
from kernelbench.explain.counted import Counted
from kernelbench.explain.findings import CaseExplanation, Sentence

EXCESS = 1.25  # ratio to the fewest, from which sectors and wavefronts get a sentence
IDLE = 28.0  # active lanes of 32, below which they get one
WAITING = 0.3  # share of a warp's cycles per instruction from which a reason to wait gets a sentence
UNUSED = 0.8  # achieved over theoretical occupancy, below which it gets a sentence


@dataclass(frozen=True)
class ReportExplanation(CaseExplanation):
    """What a report says. `launches`: one per kernel and launch shape, with means over `times` of them."""

    gpu: str = ""
    absent: tuple[str, ...] = ()  # metrics that no launch has


def explain_report(name: str, profiled: Sequence[ProfiledLaunch]) -> ReportExplanation:
    """Explain all launches of a report; `name` is shown in place of a case."""
    groups: dict[tuple[object, ...], list[ProfiledLaunch]] = {}
    for one in profiled:
        groups.setdefault((one.symbol, one.grid, one.block), []).append(one)
    means = _named([(_mean(own), len(own)) for own in groups.values()])
    counted = {  # their role: kernels of a report are not compared
        label: Counted(name, label, Counters(), role="profiled", known=metrics_of(one) | {"launches": times})
        for label, (one, times) in means.items()
    }
    said = [
        *case_sentences(counted),
        *(line for label, (one, _) in means.items() for line in hardware_sentences(label, one)),
    ]
    launches = [
        CountedLaunch(name, label, number, one.kernel, one.grid, one.block, one.values, one.stalls)
        for number, (label, (one, _)) in enumerate(means.items(), start=1)
    ]
    absent = frozenset.intersection(*(frozenset(one.missing) for one in profiled))
    return ReportExplanation(
        *(name, counted, differing_metrics(list(counted.values())), tuple(said), {}, ()),
        launches=launches,
        gpu=profiled[0].gpu,
        absent=tuple(one for one in profiled[0].missing if one in absent),
    )


def _named(groups: Sequence[tuple[ProfiledLaunch, int]]) -> dict[str, tuple[ProfiledLaunch, int]]:
    """Groups by the kernel's name, with a number where several have it."""
    names = [one.kernel for one, _ in groups]
    seen: dict[str, int] = {}
    found = {}
    for one, times in groups:
        seen[one.kernel] = seen.get(one.kernel, 0) + 1
        several = names.count(one.kernel) > 1
        found[f"{one.kernel} ({seen[one.kernel]})" if several else one.kernel] = one, times
    return found


def _mean(own: Sequence[ProfiledLaunch]) -> ProfiledLaunch:
    first = own[0]

    def mean(of: Callable[[ProfiledLaunch], Mapping[str, float]]) -> dict[str, float]:
        names = [name for name in of(first) if all(name in of(one) for one in own)]
        return {name: fmean(of(one)[name] for one in own) for name in names}

    missing = {name: why for one in own for name, why in one.missing.items()}
    return ProfiledLaunch(
        first.kernel, first.symbol, first.grid, first.block, mean(lambda one: one.values), missing,
        mean(lambda one: one.stalls), first.range_names, first.gpu, mean(lambda one: one.further),
    )  # fmt: skip


def metrics_of(one: ProfiledLaunch) -> dict[str, float | None]:
    """Metrics of explain/counted.py by name, from what the hardware counted; None for what the report lacks."""
    values = one.values
    sectors = _total(values, "global_load_sectors", "global_store_sectors", "global_atomic_sectors")
    local = _total(values, "local_load_sectors", "local_store_sectors")
    return {
        "blocks": one.grid[0] * one.grid[1] * one.grid[2] or None,
        # A kernel without loads may have no input: what it should read is not known here.
        "load_requests": values.get("global_load_requests") or None,
        "load_sectors": _ratio(values.get("global_load_sectors"), values.get("global_load_requests")),
        "store_sectors": _ratio(values.get("global_store_sectors"), values.get("global_store_requests")),
        "sectors": sectors,
        "warp_instructions": values.get("warp_instructions"),
        "lanes": values.get("lanes_per_instruction"),
        "local_bytes": None if local is None else SECTOR_BYTES * local,
    }


def _total(values: Mapping[str, float], *names: str) -> float | None:
    return sum(values[name] for name in names) if all(name in values for name in names) else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def hardware_sentences(label: str, one: ProfiledLaunch) -> Iterator[Sentence]:
    """What only the hardware counts, in words."""
    values, further = one.values, one.further
    for what, unit in (("global", "sectors"), ("shared", "wavefronts")):
        excess = _ratio(further.get(f"{what}_{unit}"), further.get(f"{what}_ideal_{unit}"))
        if excess is not None and excess >= EXCESS:
            text = f"{digits(excess, 3)} times the {unit} of {what} memory that its accesses need"
            yield Sentence(f"{what} excess", label, text)
    lanes = values.get("lanes_per_instruction", 32.0)
    if lanes < IDLE:
        yield Sentence("idle lanes", label, f"{digits(lanes, 3)} of 32 lanes active per warp instruction")
    achieved, possible = values.get("achieved_occupancy"), further.get("theoretical_occupancy")
    if achieved is not None and possible and achieved < UNUSED * possible / 100:
        fit = share_text(possible / 100)
        text = f"{share_text(achieved)} of the warps that a multiprocessor can hold are active, where {fit} fit"
        yield Sentence("achieved occupancy", label, text)
    yield from stall_sentences(label, one.stalls)


def stall_sentences(label: str, stalls: Mapping[str, float]) -> Iterator[Sentence]:
    """What warps wait for most of the time."""
    cycles = sum(stalls.values())
    waiting = {name: value for name, value in stalls.items() if name not in ("selected", "not_selected")}
    for name, value in sorted(waiting.items(), key=lambda item: -item[1]):
        if cycles and value >= WAITING * cycles:
            text = f"warps wait for {STALLS[name]} in {digits(value, 2)} of {digits(cycles, 2)} cycles per instruction"
            yield Sentence("stalls", label, text)
