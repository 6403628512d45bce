"""The counts of one implementation on one case, and the metrics that follow from them.

Every metric has its name, unit and meaning here. Tables, sentences, ledger entries and pages refer to it by name, and
compute nothing from counters themselves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from kernelbench.core.counters import SECTOR_BYTES, Counters, LaunchCounters, conflict_ways
from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.operations import key_words, read_shape
from kernelbench.core.units import bytes_text, count_text, digits, share_text


@dataclass(frozen=True)
class LaunchShape:
    """The resources that a launch needs. 0 registers: not known."""

    entry: str
    blocks: int
    threads: int  # per block
    shared_bytes: int = 0  # static and dynamic
    registers: int = 0
    array_bytes: int = 0  # of its arrays; 0: not known
    machine_code: str = ""  # how its memory instructions differ from those of the PTX, see EntryFacts

    @property
    def warps(self) -> int:
        """Over all blocks."""
        return self.blocks * -(-self.threads // 32)


@dataclass(frozen=True)
class Counted:
    """The counts of one implementation on one case, over all its launches."""

    case: str  # key of the case
    implementation: str
    counters: Counters
    role: str = "kernel"
    least_bytes: int | None = None  # each input read once, each output written once
    shapes: tuple[LaunchShape, ...] = ()
    launches: tuple[LaunchCounters, ...] = ()  # empty if only totals were kept
    sampled: str = ""  # "sampled 64 of 262144 blocks"
    gpu: DeviceProperties | None = None  # for which occupancy is calculated
    inputs: tuple[str, ...] = ()  # names of the input arrays; empty if not known
    broadcast: tuple[str, ...] = ()  # inputs that every slice of the case reads whole
    ways: tuple[int, int] | None = None  # fewest and most of its bank conflicts, where only totals were kept
    known: Mapping[str, float | None] | None = None  # by metric, where hardware counted: nothing follows from counters

    @property
    def columns(self) -> int | None:
        """Extent along the axis of the case, from its key; None if the key does not have it."""
        if "shape" not in self.words or "axis" not in self.words:
            return None
        return read_shape(self.words["shape"])[int(self.words["axis"])]

    @property
    def dtype(self) -> str:
        return self.words.get("dtype", "")

    @cached_property
    def words(self) -> Mapping[str, str]:
        """Words of the key of the case, by name."""
        return key_words(self.case)

    def value(self, metric: str) -> float | None:
        """None where it has no meaning, such as sectors per request without requests."""
        if self.known is not None:
            return self.known.get(metric)
        return METRICS[metric].value(self)


CountedCases = Mapping[str, Mapping[str, Counted]]  # by case, then implementation


@dataclass(frozen=True)
class Metric:
    """A number that describes a kernel. `better`: which value means less work."""

    name: str
    header: str  # of a table's column, at most two lines
    meaning: str
    value: Callable[[Counted], float | None]
    text: Callable[[float], str]
    better: Literal["less", "more"] = "less"
    shown: bool = True  # as a column


# ---- The metrics ---------------------------------------------------------------------------------


def _ratio(part: float, whole: float | None) -> float | None:
    return part / whole if whole else None


def moved_bytes(counters: Counters) -> int:
    """Distinct bytes that each launch reads and writes, summed over launches."""
    return counters.read_once_bytes + counters.written_once_bytes


# Counts that are compared row by row, by the columns of comparison.csv.
COMPARED: Mapping[str, Callable[[Counters], int]] = {
    "global_bytes": lambda counters: SECTOR_BYTES * counters.global_sectors,
    "distinct_bytes": moved_bytes,
    "shared_wavefronts": lambda counters: counters.shared_wavefronts,
    "warp_instructions": lambda counters: counters.warp_instructions,
}


def _asked_bytes(counters: Counters) -> int:
    """Bytes that all loads request: repetitions count, scattering does not. In whole sectors where they were not
    counted."""
    return counters.global_load_requested_bytes or SECTOR_BYTES * counters.global_load_ideal_sectors


def _shared_wavefronts(counters: Counters) -> int:
    """Wavefronts of loads, stores and copies; atomics have no ideal to compare with."""
    return counters.shared_wavefronts - counters.shared_atomic_wavefronts


def _shared_ideal(counters: Counters) -> int:
    accesses = counters.shared_load_ideal_wavefronts + counters.shared_store_ideal_wavefronts
    return accesses + counters.shared_copy_ideal_wavefronts


def _shared_moves(counters: Counters) -> int:
    return counters.shared_requests - counters.shared_atomic_requests


def resident_share(shape: LaunchShape, gpu: DeviceProperties) -> float:
    """Threads that can be resident on one multiprocessor, over its maximum."""
    blocks = gpu.resident_blocks(shape.threads, shape.registers, shape.shared_bytes)
    return blocks * shape.threads / gpu.max_threads_per_multiprocessor


def _resident_blocks(one: Counted) -> int | None:
    """Blocks of the first launch that fit on one multiprocessor."""
    first = one.shapes[0] if one.shapes else None
    if one.gpu is None or first is None or not first.registers:
        return None
    return one.gpu.resident_blocks(first.threads, first.registers, first.shared_bytes)


def _resident_warps(one: Counted) -> int | None:
    """Warps of the first launch per multiprocessor, which may have fewer blocks than fit."""
    blocks = _resident_blocks(one)
    if blocks is None or one.gpu is None:
        return None
    first = one.shapes[0]
    return min(blocks, -(-first.blocks // one.gpu.multiprocessors)) * (first.warps // first.blocks)


def _waves(one: Counted) -> float | None:
    blocks = _resident_blocks(one)
    return one.shapes[0].blocks / (blocks * one.gpu.multiprocessors) if blocks and one.gpu else None


def resident_limit_text(shape: LaunchShape, gpu: DeviceProperties) -> str:
    """The resource that limits resident blocks."""
    now = gpu.resident_blocks(shape.threads, shape.registers, shape.shared_bytes)
    if gpu.resident_blocks(shape.threads, 1, shape.shared_bytes) > now:
        return f"{shape.registers} registers per thread"
    if gpu.resident_blocks(shape.threads, shape.registers, 0) > now:
        return f"{bytes_text(shape.shared_bytes)} of shared memory per block"
    return f"blocks of {shape.threads} threads"


def _conflict_ways(one: Counted) -> tuple[int | None, int | None]:
    """The fewest and the most ways of its bank conflicts."""
    return conflict_ways(one.launches) or one.ways or (None, None)


def _occupancy(one: Counted) -> float | None:
    if one.gpu is None or not one.shapes or not all(shape.registers for shape in one.shapes):
        return None
    return min(resident_share(shape, one.gpu) for shape in one.shapes)


def _few(value: float) -> str:
    """One decimal below 100: `3.3`, `28.0`; `0` for none."""
    return f"{value:.1f}" if 0 < value < 100 else digits(value, 3)


def _times(value: float) -> str:
    return digits(value, 3) if value >= 100 else f"{value:.2f}"


# Name, header, meaning, value, text, further arguments. A new metric is one more entry.
METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("launches", "launches", "kernel launches", lambda c: len(c.shapes) or None, count_text),
        Metric("blocks", "blocks", "blocks of the first launch", lambda c: c.shapes[0].blocks if c.shapes else None,
               count_text),
        Metric("traffic", "distinct\n/ least",
               "distinct bytes that the launches read and write, over the least traffic",
               lambda c: _ratio(moved_bytes(c.counters), c.least_bytes), _times),
        Metric("reads", "reads of\neach byte", "bytes that loads request, over the distinct sectors read, in bytes",
               lambda c: _ratio(_asked_bytes(c.counters), c.counters.read_once_bytes), _few),
        Metric("load_requests", "loads", "warp instructions that load from global memory",
               lambda c: c.counters.global_load_requests, count_text, shown=False),
        Metric("load_sectors", "sectors\nper load", "32-byte sectors per global load request",
               lambda c: _ratio(c.counters.global_load_sectors, c.counters.global_load_requests), _few),
        Metric("load_ideal", "least\nper load", "fewest sectors for the bytes of a global load request",
               lambda c: _ratio(c.counters.global_load_ideal_sectors, c.counters.global_load_requests), _few,
               shown=False),
        Metric("load_excess", "load\nexcess", "sectors of global loads over the fewest that hold their bytes",
               lambda c: _ratio(c.counters.global_load_sectors, c.counters.global_load_ideal_sectors), _times,
               shown=False),
        Metric("load_used", "used of\na sector", "bytes that global loads request per 32-byte sector that they touch",
               lambda c: _ratio(c.counters.global_load_requested_bytes, c.counters.global_load_sectors) or None, _few,
               "more", shown=False),
        Metric("load_bytes", "bytes\nper load", "bytes per global load request; at most 512, but for bulk copies",
               lambda c: _ratio(_asked_bytes(c.counters), c.counters.global_load_requests), _few, "more",
               shown=False),
        Metric("store_sectors", "sectors\nper store", "32-byte sectors per global store request",
               lambda c: _ratio(c.counters.global_store_sectors, c.counters.global_store_requests), _few),
        Metric("store_ideal", "least\nper store", "fewest sectors for the bytes of a global store request",
               lambda c: _ratio(c.counters.global_store_ideal_sectors, c.counters.global_store_requests), _few,
               shown=False),
        Metric("store_excess", "store\nexcess", "sectors of global stores over the fewest that hold their bytes",
               lambda c: _ratio(c.counters.global_store_sectors, c.counters.global_store_ideal_sectors), _times,
               shown=False),
        Metric("store_used", "used of\na sector", "bytes that global stores write per 32-byte sector that they touch",
               lambda c: _ratio(c.counters.global_store_requested_bytes, c.counters.global_store_sectors) or None, _few,
               "more", shown=False),
        Metric("accesses", "global\naccesses", "warp instructions that load, store or change global memory",
               lambda c: c.counters.global_requests, count_text),
        Metric("sectors", "sectors", "32-byte sectors that global accesses touch, summed over accesses",
               lambda c: c.counters.global_sectors, count_text, shown=False),
        Metric("atomics", "atomics", "warp instructions that are global atomics",
               lambda c: c.counters.global_atomic_requests, count_text, shown=False),
        Metric("atomic_sectors", "sectors\nper atomic", "32-byte sectors per global atomic request",
               lambda c: _ratio(c.counters.global_atomic_sectors, c.counters.global_atomic_requests), _few),
        Metric("shared_requests", "shared\naccesses", "warp instructions that access shared memory",
               lambda c: c.counters.shared_requests, count_text),
        Metric("wavefronts", "wavefronts\nper request", "passes over the 32 banks per shared load or store",
               lambda c: _ratio(_shared_wavefronts(c.counters), _shared_moves(c.counters)), _few),
        Metric("wavefronts_ideal", "fewest\nper request", "fewest passes over the banks per shared load or store",
               lambda c: _ratio(_shared_ideal(c.counters), _shared_moves(c.counters)), _few, shown=False),
        Metric("bank_conflicts", "bank\nconflicts", "shared wavefronts over the fewest for their bytes",
               lambda c: _ratio(_shared_wavefronts(c.counters), _shared_ideal(c.counters)), _times, shown=False),
        Metric("conflict_ways", "most\nways", "shared wavefronts over the fewest, for the request with most conflicts",
               lambda c: _conflict_ways(c)[1], count_text, shown=False),
        Metric("conflict_least", "least\nways", "the same for the request with fewest conflicts, among those with any",
               lambda c: _conflict_ways(c)[0], count_text, shown=False),
        Metric("shared_atomic_wavefronts", "wavefronts\nper atomic", "passes over the banks per shared atomic",
               lambda c: _ratio(c.counters.shared_atomic_wavefronts, c.counters.shared_atomic_requests), _few),
        Metric("warp_instructions", "warp\ninstr.", "PTX instructions that warps executed",
               lambda c: c.counters.warp_instructions, count_text),
        Metric("lanes", "lanes\nof 32", "active lanes per warp instruction of the PTX",
               lambda c: c.counters.lanes_per_instruction or None, _few, "more"),
        Metric("divergence", "divergent\nbranches", "share of the branches of the PTX that diverge",
               lambda c: _ratio(c.counters.divergent_branches, c.counters.branches), share_text, shown=False),
        Metric("barriers", "barriers\nper block", "barriers per block, on average over its warps",
               lambda c: _ratio(c.counters.barriers, sum(shape.warps for shape in c.shapes)), _few),
        Metric("local_bytes", "local\nmemory", "bytes to and from local memory: spills, arrays indexed at run time",
               lambda c: SECTOR_BYTES * c.counters.local_sectors, bytes_text),
        Metric("occupancy", "resident\nthreads", "resident threads per multiprocessor, over its maximum",
               _occupancy, share_text, "more"),
        Metric("resident_blocks", "resident\nblocks", "blocks of the first launch that fit on a multiprocessor",
               _resident_blocks, count_text, "more", shown=False),
        Metric("resident_warps", "resident\nwarps", "resident warps per multiprocessor in the first launch",
               _resident_warps, count_text, "more", shown=False),
        Metric("waves", "waves", "blocks of the first launch, over those that the GPU can hold at once", _waves, _times,
               shown=False),
    )
}  # fmt: skip
