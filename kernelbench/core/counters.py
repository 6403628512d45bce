"""Counters of the simulator: per launch, per source line, and per row of results.

They follow the PTX, so a GPU may count otherwise; shared accesses follow the machine code, see GROUPED. Where blocks
were sampled they are scaled to the whole grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import add

JOINED = "ptxas re-vectorised memory operations"  # begins what a note on machine code says of joined accesses
# Shared accesses that ptxas joined into wider ones count as joined: all of them, or those where that is clear.
GROUPED = "grouped as the machine code does"
GROUPED_IN_PART = "grouped in part as the machine code does"
SECTOR_BYTES = 32


@dataclass(frozen=True)
class Counters:
    """A request is a warp instruction that accesses memory; a sector, SECTOR_BYTES of global memory; a wavefront, one
    pass over the 32 banks of shared memory. `ideal`: the fewest for the same bytes. `requested_bytes`: of each request,
    where what several lanes ask for counts once; 0 in runs of early versions, which did not count them."""

    warp_instructions: int = 0
    thread_instructions: int = 0  # active lanes, summed over warp instructions
    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_ideal_sectors: int = 0
    global_load_requested_bytes: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_ideal_sectors: int = 0
    global_store_requested_bytes: int = 0
    global_atomic_requests: int = 0
    global_atomic_sectors: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_load_ideal_wavefronts: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_store_ideal_wavefronts: int = 0
    shared_atomic_requests: int = 0
    shared_atomic_wavefronts: int = 0
    shared_copy_requests: int = 0  # cp.async and st.async, which write shared memory; in bulk it also reads it
    shared_copy_wavefronts: int = 0
    shared_copy_ideal_wavefronts: int = 0
    local_load_requests: int = 0
    local_load_sectors: int = 0
    local_store_requests: int = 0
    local_store_sectors: int = 0
    barriers: int = 0  # arrivals of warps
    branches: int = 0
    divergent_branches: int = 0  # of the PTX; the machine code may predicate them
    read_once_bytes: int = 0  # distinct 32-byte sectors read, in bytes; 0 for a source line
    written_once_bytes: int = 0

    def __add__(self, other: Counters) -> Counters:
        return Counters(*map(add, vars(self).values(), vars(other).values()))  # in the order of the fields

    def scaled(self, factor: float) -> Counters:
        return self if factor == 1 else Counters(*(round(count * factor) for count in vars(self).values()))

    @property
    def lanes_per_instruction(self) -> float:
        """Active lanes per warp instruction, of 32."""
        return self.thread_instructions / self.warp_instructions if self.warp_instructions else 0.0

    @property
    def global_requests(self) -> int:
        return self.global_load_requests + self.global_store_requests + self.global_atomic_requests

    @property
    def global_sectors(self) -> int:
        return self.global_load_sectors + self.global_store_sectors + self.global_atomic_sectors

    @property
    def local_sectors(self) -> int:
        return self.local_load_sectors + self.local_store_sectors

    @property
    def shared_requests(self) -> int:
        accesses = self.shared_load_requests + self.shared_store_requests + self.shared_atomic_requests
        return accesses + self.shared_copy_requests

    @property
    def shared_wavefronts(self) -> int:
        accesses = self.shared_load_wavefronts + self.shared_store_wavefronts + self.shared_atomic_wavefronts
        return accesses + self.shared_copy_wavefronts


def total_counters(parts: Iterable[Counters]) -> Counters:
    return sum(parts, Counters())


@dataclass(frozen=True)
class LaunchCounters:
    """One launch of a plan. `blocks_run` below `blocks`: sampled, and scaled by their ratio."""

    entry: str
    counters: Counters
    lines: Mapping[tuple[str, int], Counters] = field(default_factory=dict)  # by file and line of the .cu
    blocks: int = 0
    blocks_run: int = 0
    # For lines with bank conflicts, the range of wavefronts over the fewest possible: in a tree, for example, the
    # conflicts of one line change from step to step, which its average does not show.
    conflicts: Mapping[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # races that programs rely on, each as one sentence with its place
    # By how much each scaled count may be off, if blocks between two sampled places count something between what these
    # two count. A counter that is the same at all places has no entry.
    may_be_off: Mapping[str, float] = field(default_factory=dict)
    grouping: str = ""  # GROUPED, GROUPED_IN_PART, or "" where each access counts as in the PTX

    @property
    def sampled(self) -> str:
        """`sampled 64 of 262144 blocks`, or ''."""
        if self.blocks_run == self.blocks:
            return ""
        return f"sampled {self.blocks_run} of {self.blocks} blocks"


def conflict_ways(launches: Iterable[LaunchCounters]) -> tuple[int, int] | None:
    """The fewest and the most ways of all lines with bank conflicts; None without any."""
    found = [ways for launch in launches for both in launch.conflicts.values() for ways in both]
    return (min(found), max(found)) if found else None
