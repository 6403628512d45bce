"""What the simulator counted of a run on disk, out of its rows."""

from __future__ import annotations

from math import prod

from kernelbench.core.counters import Counters
from kernelbench.explain.counted import Counted, LaunchShape
from kernelbench.runs.records import Row
from kernelbench.runs.results import Run


def counted_of_run(run: Run) -> dict[str, dict[str, Counted]]:
    """What the rows of a run hold of counters: by case, then implementation. {} for a run on a GPU."""
    found: dict[str, dict[str, Counted]] = {}
    for row in run.rows:
        if row.counters and row.counters.warp_instructions:
            found.setdefault(row.case, {}).setdefault(row.implementation, _of_row(row, row.counters))
    return found


def _of_row(row: Row, counters: Counters) -> Counted:
    static, registers = row.static_shared_bytes or 0, row.registers or 0
    return Counted(
        case=row.case,
        implementation=row.implementation,
        counters=counters,
        role=row.role,
        least_bytes=row.bytes_moved or None,
        shapes=tuple(
            LaunchShape(one.entry, prod(one.grid), one.threads, static + one.shared_bytes, registers)
            for one in row.launches
        ),
        sampled=row.sampled and f"sampled {row.sampled}",
    )
