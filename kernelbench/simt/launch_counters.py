"""Sums the counters of instructions per launch and per source line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache

from kernelbench.core.counters import GROUPED, GROUPED_IN_PART, Counters, LaunchCounters
from kernelbench.simt.interface import COUNTERS, SECTOR, WAYS_ABOVE
from kernelbench.simt.machine import LaunchReport

# Fields of kernelbench.core.counters.Counters, from fields of interface.COUNTERS.
LOADS = {
    "global_load_requests": "requests",
    "global_load_sectors": "sectors",
    "global_load_ideal_sectors": "ideal_sectors",
    "global_load_requested_bytes": "requested_bytes",
    "shared_load_requests": "shared_requests",
    "shared_load_wavefronts": "wavefronts",
    "shared_load_ideal_wavefronts": "ideal_wavefronts",
    "local_load_requests": "local_requests",
    "local_load_sectors": "local_sectors",
}
STORES = {name.replace("_load_", "_store_"): field for name, field in LOADS.items()}
ATOMICS = {
    "global_atomic_requests": "requests",
    "global_atomic_sectors": "sectors",
    "shared_atomic_requests": "shared_requests",
    "shared_atomic_wavefronts": "wavefronts",
}
# cp.async reads global memory and writes shared memory, st.async writes that of the cluster's blocks; a GPU counts
# neither among the stores.
COPIES = {
    "global_load_requests": "requests",
    "global_load_sectors": "sectors",
    "global_load_ideal_sectors": "ideal_sectors",
    "global_load_requested_bytes": "requested_bytes",
    "shared_copy_requests": "shared_requests",
    "shared_copy_wavefronts": "wavefronts",
    "shared_copy_ideal_wavefronts": "ideal_wavefronts",
}
# A bulk copy to global memory; its reads of shared memory do not count as loads.
BULK_STORES = {name.replace("_load_", "_store_"): field for name, field in COPIES.items()}
FAMILIES = {"ld": LOADS, "ldu": LOADS, "st": STORES, "atom": ATOMICS, "red": ATOMICS, "cp": COPIES,
            "ldmatrix": LOADS, "stmatrix": STORES}  # fmt: skip


_NAMES = tuple(one.name for one in fields(Counters))
_FIELDS = tuple(COUNTERS.names or ())
_WARPS, _LEAST_WAYS, _MOST_WAYS = map(_FIELDS.index, ("warps", "least_ways", "most_ways"))


def launch_counters(report: LaunchReport) -> LaunchCounters:
    """Totals and lines of a launch, scaled to the whole grid if only a sample of blocks ran."""
    factor = report.blocks / report.blocks_run if report.blocks_run else 1.0
    sums: dict[tuple[str, int] | None, list[int]] = defaultdict(lambda: [0] * len(_NAMES))
    conflicts: dict[tuple[str, int], tuple[int, int]] = {}
    # tolist(): reading NumPy's numbers one by one takes several times as long.
    for one, row in zip(report.sources, report.counters.tolist(), strict=True):
        if not row[_WARPS]:
            continue
        place = None if one.source is None else (one.source.file, one.source.line)
        own = sums[place]
        for to, source in _places(one.opcode):
            own[to] += row[source]
        if place is not None and row[_MOST_WAYS]:
            least, most = conflicts.get(place, (WAYS_ABOVE, 0))
            conflicts[place] = min(least, WAYS_ABOVE - row[_LEAST_WAYS]), max(most, row[_MOST_WAYS])
    unplaced = Counters(*sums.pop(None, []))
    lines = {place: Counters(*own) for place, own in sums.items() if place is not None}
    touched = Counters(read_once_bytes=SECTOR * report.sectors_read, written_once_bytes=SECTOR * report.sectors_written)
    total = sum(lines.values(), unplaced + touched)
    return LaunchCounters(
        entry=report.entry,
        counters=total.scaled(factor),
        lines={place: counters.scaled(factor) for place, counters in lines.items()},
        blocks=report.blocks,
        blocks_run=report.blocks_run,
        notes=tuple(str(note) for note in report.notes),
        conflicts=conflicts,
        grouping="" if not report.joined else GROUPED_IN_PART if report.unclear else GROUPED,
    )


def launch_totals(reports: Sequence[LaunchReport]) -> list[Counters]:
    """By launch of the same program, counters of the blocks that ran, over all instructions; launch_counters() has
    them by line, too."""
    rows: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, one in enumerate(reports[0].sources):
        for pair in _fields(one.opcode).items():
            rows[pair].append(row)
    found = []
    for report in reports:
        sums: dict[str, int] = defaultdict(int)
        for (name, field), chosen in rows.items():
            sums[name] += int(report.counters[field][chosen].sum())
        found.append(Counters(**sums))
    return found


@lru_cache(maxsize=4096)
def _places(opcode: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """_fields() as places in Counters and in interface.COUNTERS."""
    return tuple((_NAMES.index(name), _FIELDS.index(field)) for name, field in _fields(opcode).items())


def _fields(opcode: tuple[str, ...]) -> dict[str, str]:
    """Fields of Counters that an instruction adds to, from fields of interface.COUNTERS."""
    name = opcode[0]
    # Constant memory has its own cache and causes no global traffic.
    family = {} if "const" in opcode else FAMILIES.get(name, {})
    if name == "st" and "async" in opcode:
        family = COPIES
    if name == "cp" and "bulk_group" in opcode:  # to global memory
        family = BULK_STORES
    if name == "wmma":
        family = {"load": LOADS, "store": STORES}.get(opcode[1], {})
    found = {**family, "warp_instructions": "warps", "thread_instructions": "threads"}
    if name in ("bar", "barrier") and "warp" not in opcode:
        found["barriers"] = "warps"
    if name in ("bra", "brx"):
        found |= {"branches": "warps", "divergent_branches": "divergences"}
    return found
