"""Two implementations by what the simulator counted of them: traffic, wavefronts, instructions. Never by time."""

from __future__ import annotations

from typing import Any

from kernelbench.explain.counted import SECTOR_BYTES, Counted, moved_bytes

NO_TIMES = "the simulator has no times"


def count_cells(counted: Counted | None, baseline: Counted | None) -> dict[str, Any]:
    """The counter columns of columns.COMPARISON; a ratio stays empty where the baseline counts nothing."""
    mine, theirs = _counts(counted), _counts(baseline)
    cells: dict[str, Any] = dict(mine)
    for name, value in mine.items():
        if theirs.get(name):
            cells[f"{name}_ratio"] = value / theirs[name]
    return cells


def _counts(counted: Counted | None) -> dict[str, int]:
    if counted is None:
        return {}
    counters = counted.counters
    return {
        "global_bytes": SECTOR_BYTES * counters.global_sectors,
        "distinct_bytes": moved_bytes(counters),
        "shared_wavefronts": counters.shared_wavefronts,
        "warp_instructions": counters.warp_instructions,
    }
