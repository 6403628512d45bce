"""Rules for sentences: each is a condition on metrics and a template. A new rule is one entry of RULES.

A condition gets `Facts`: `facts["lanes"]` is the implementation's own value, `facts["best lanes"]` the best among the
other kernels of the case, `facts["times lanes"]` their ratio. A missing value is NaN, for which every comparison is
false. Templates use the same names, as `{lanes}`; `{by lanes}` is the kernel with the best value.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelbench.core.counters import SECTOR_BYTES
from kernelbench.core.units import digits
from kernelbench.explain.counted import METRICS, Counted, resident_limit_text, resident_share

CLEARLY = 1.1  # ratio to the least from which conflicts and traffic get a sentence


class Facts:
    """The metrics of one implementation, and the best of the other kernels on the same case."""

    def __init__(self, own: Counted, case: Mapping[str, Counted]) -> None:
        self.own = own
        self.others = {name: one for name, one in case.items() if one.role == "kernel" and name != own.implementation}

    def __getitem__(self, key: str) -> float:
        kind, _, metric = key.rpartition(" ")
        own = _or_nan(self.own.value(metric))
        if not kind:
            return own
        best = _or_nan(self._best(metric)[0])
        return best if kind == "best" else own / best if best else math.nan

    def text(self, key: str) -> str:
        """The value as shown in sentences."""
        kind, _, metric = key.rpartition(" ")
        if key == "occupancy limit":
            return self._limit()
        if key == "broadcast":
            return " and ".join(self.own.broadcast)
        if kind == "by":
            return self._best(metric)[1]
        value = self[key]
        text = digits(value, 2 if value < 10 else 3) if kind == "times" else METRICS[metric].text(value)
        return re.sub(r"\.0+$", "", text)  # whole numbers read better in a sentence

    def _best(self, metric: str) -> tuple[float | None, str]:
        """The best value among the other kernels, and the name of its kernel."""
        known = {name: value for name, one in self.others.items() if (value := one.value(metric)) is not None}
        if not known:
            return None, ""
        name = (max if METRICS[metric].better == "more" else min)(known, key=lambda one: known[one])
        return known[name], name

    def _limit(self) -> str:
        """The resource that limits resident blocks, in the launch with the fewest resident threads."""
        gpu = self.own.gpu
        assert gpu is not None  # occupancy needs one
        return resident_limit_text(min(self.own.shapes, key=lambda shape: resident_share(shape, gpu)), gpu)


@dataclass(frozen=True)
class Rule:
    """`about`: metrics to whose published explanations a sentence of this rule is relevant."""

    name: str
    when: Callable[[Facts], bool]
    template: str
    about: tuple[str, ...] = ()

    def says(self, facts: Facts) -> str | None:
        if not self.when(facts):
            return None
        return re.sub(r"\{(.+?)\}", lambda name: facts.text(name[1]), self.template)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _conflicts(facts: Facts) -> bool:
    return facts["bank_conflicts"] >= CLEARLY


def _bytes_seen(facts: Facts) -> bool:
    """Whether the bytes that loads request are known: where only sectors were counted, those of at most one sector may
    be for fewer bytes."""
    return facts["load_used"] > 0 or facts["load_ideal"] > 1


def _used_in_part(facts: Facts, access: str) -> bool:
    """Whether the bytes of requests, even if they lay side by side, would fill their sectors only in part, and those of
    another kernel fill more: whoever writes a number per block, or reads one for all, fills none."""
    used = facts[f"{access}_used"]
    return used * facts[f"{access}_excess"] <= SECTOR_BYTES / 1.25 and facts[f"best {access}_used"] >= 1.25 * used


def _read_again(facts: Facts) -> bool:
    return facts["reads"] >= 1.25 and _bytes_seen(facts)


def _again(facts: Facts) -> bool:
    return facts["launches"] == 1 and _read_again(facts)


_CONFLICTS = "{wavefronts} wavefronts per shared request where {wavefronts_ideal} would do"

# A difference gets a sentence from these thresholds on; smaller ones are only in the table.
RULES = (
    # A kernel without loads that moves all of the least traffic has no input.
    Rule("input never read", lambda f: f["load_requests"] == 0 and not f["traffic"] >= 1,
         "loads nothing, so it never reads its input", ("load_requests", "reads", "traffic")),
    Rule("input read again", lambda f: _again(f) and len(f.own.inputs) == 1, "reads its input {reads} times",
         ("reads",)),
    # Loads are counted over all inputs, so it is not known how often each of several is read.
    Rule("inputs read again", lambda f: _again(f) and len(f.own.inputs) != 1 and not f.own.broadcast,
         "requests each byte of its inputs {reads} times, on average", ("reads",)),
    Rule("inputs read again, some by every slice", lambda f: _again(f) and len(f.own.broadcast) > 0,
         "requests each byte of its inputs {reads} times, on average: all slices read {broadcast}", ("reads",)),
    Rule("bytes read again", lambda f: f["launches"] > 1 and _read_again(f),
         "its launches read each byte {reads} times", ("reads",)),
    Rule("traffic of several launches", lambda f: f["launches"] > 1 and f["traffic"] >= CLEARLY,
         "moves {traffic} times the least bytes, in {launches} launches", ("traffic",)),
    Rule("traffic", lambda f: f["launches"] == 1 and f["traffic"] >= CLEARLY, "moves {traffic} times the least bytes",
         ("traffic",)),
    Rule("uncoalesced loads", lambda f: f["load_excess"] >= 1.25,
         "{load_sectors} sectors per load request where {load_ideal} would do", ("load_sectors", "load_excess")),
    Rule("uncoalesced stores", lambda f: f["store_excess"] >= 1.25,
         "{store_sectors} sectors per store request where {store_ideal} would do", ("store_sectors", "store_excess")),
    Rule("sectors loaded in part", lambda f: _used_in_part(f, "load"),
         "its loads request {load_used} bytes per sector that they touch, {by load_used} {best load_used}",
         ("load_used", "load_bytes")),
    Rule("sectors stored in part", lambda f: _used_in_part(f, "store"),
         "its stores write {store_used} bytes per sector that they touch, {by store_used} {best store_used}",
         ("store_used",)),
    Rule("narrow loads",
         lambda f: f["load_bytes"] < 100 and f["best load_bytes"] >= 1.5 * f["load_bytes"] and _bytes_seen(f),
         "{load_bytes} bytes per load request, {by load_bytes} {best load_bytes}", ("load_bytes", "accesses")),
    Rule("bank conflicts", lambda f: _conflicts(f) and not f["conflict_ways"] > 0, f"{_CONFLICTS}: bank conflicts",
         ("bank_conflicts", "wavefronts")),
    Rule("bank conflicts, one kind", lambda f: _conflicts(f) and f["conflict_ways"] == f["conflict_least"],
         f"{_CONFLICTS}, a {{conflict_ways}}-way bank conflict", ("bank_conflicts", "wavefronts", "conflict_ways")),
    Rule("bank conflicts, several kinds", lambda f: _conflicts(f) and f["conflict_ways"] > f["conflict_least"],
         f"{_CONFLICTS}, a {{conflict_least}}- to {{conflict_ways}}-way bank conflict",
         ("bank_conflicts", "wavefronts", "conflict_ways")),
    Rule("shared atomics meet", lambda f: f["shared_atomic_wavefronts"] >= 1.25,
         "{shared_atomic_wavefronts} wavefronts per shared atomic: lanes meet", ("shared_atomic_wavefronts",)),
    Rule("global atomics", lambda f: f["atomics"] > 0, "{atomics} global atomics, {atomic_sectors} sectors per request",
         ("atomics", "atomic_sectors")),
    Rule("idle lanes", lambda f: f["lanes"] < 28 and f["lanes"] < 0.97 * f["best lanes"],
         "{lanes} of 32 lanes active, {by lanes} {best lanes}", ("lanes",)),
    Rule("divergence", lambda f: f["divergence"] >= 0.2,
         "{divergence} of its branches diverge in the PTX", ("divergence", "lanes")),
    Rule("instructions", lambda f: f["times warp_instructions"] >= 1.5,
         "{times warp_instructions} times the warp instructions of {by warp_instructions}", ("warp_instructions",)),
    Rule("barriers", lambda f: f["barriers"] >= 4 and f["barriers"] >= 2 * f["best barriers"],
         "{barriers} barriers per block, {by barriers} {best barriers}", ("barriers",)),
    Rule("local memory", lambda f: f["local_bytes"] > 0,
         "{local_bytes} through local memory: an array that is indexed at run time", ("local_bytes",)),
    Rule("occupancy", lambda f: f["occupancy"] <= 0.5,
         "{occupancy} of the threads that a multiprocessor can hold, limited by {occupancy limit}", ("occupancy",)),
)  # fmt: skip
