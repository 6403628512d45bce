"""Two implementations compared by what the simulator counted: traffic, wavefronts, instructions. Never by time."""

from __future__ import annotations

from dataclasses import replace

from kernelbench.compare.comparison import ComparedRow
from kernelbench.explain.counted import SECTOR_BYTES, Counted, moved_bytes

NO_TIMES = "the simulator has no times"


def with_counts(row: ComparedRow, counted: Counted | None, baseline: Counted | None) -> ComparedRow:
    """The row with its counts; a ratio stays empty where the baseline counts nothing."""
    if counted is None:
        return row
    mine, theirs = _counts(counted), _counts(baseline) if baseline else (0, 0, 0, 0)
    ratios = [one / other if other else None for one, other in zip(mine, theirs, strict=True)]
    return replace(
        row,
        global_bytes=mine[0],
        global_bytes_ratio=ratios[0],
        distinct_bytes=mine[1],
        distinct_bytes_ratio=ratios[1],
        shared_wavefronts=mine[2],
        shared_wavefronts_ratio=ratios[2],
        warp_instructions=mine[3],
        warp_instructions_ratio=ratios[3],
    )


def _counts(counted: Counted) -> tuple[int, int, int, int]:
    """Global bytes, distinct bytes, wavefronts of shared memory, warp instructions."""
    counters = counted.counters
    wavefronts, instructions = counters.shared_wavefronts, counters.warp_instructions
    return SECTOR_BYTES * counters.global_sectors, moved_bytes(counters), wavefronts, instructions
