"""What the simulator counted of a run on disk, out of its rows."""

from dataclasses import replace
from math import prod
from pathlib import Path

from kernelbench.core import places
from kernelbench.core.counters import Counters
from kernelbench.explain.counted import Counted, CountedCases, LaunchShape
from kernelbench.runs.folders import RECORDED_SIMULATOR, is_run
from kernelbench.runs.results import Run, read_run
from kernelbench.runs.row_records import Row


def counted_of_run(run: Run) -> dict[str, dict[str, Counted]]:
    """What the rows of a run hold of counters: by case, then implementation. {} for a run on a GPU."""
    found: dict[str, dict[str, Counted]] = {}
    for row in run.rows:
        if row.counters and row.counters.warp_instructions:
            found.setdefault(row.case, {}).setdefault(row.implementation, _of_row(row, row.counters))
    return found


def counts_of(run: Run, results: Path | None = None) -> tuple[CountedCases, str]:
    """Counters by case and implementation, and where they are from: the run itself, or for a run on a GPU the recorded
    simulator run of its suite below `results`, of what was launched alike."""
    own = counted_of_run(run)
    if own or run.simulated:
        return own, "this run's own counters"
    folder = (results or places.RECORDED) / RECORDED_SIMULATOR / run.suite
    if not is_run(folder):
        return {}, ""
    recorded, launched = read_run(folder), {(row.case, row.implementation): row.launches for row in run.rows}
    alike = [row for row in recorded.rows if row.launches == launched.get((row.case, row.implementation))]
    return counted_of_run(replace(recorded, rows=tuple(alike))), "the recorded simulator run of this suite"


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
        ways=(row.least_conflict_ways or 0, row.most_conflict_ways) if row.most_conflict_ways else None,
        sampled=row.sampled and f"sampled {row.sampled}",
        inputs=tuple(row.input_loads),
    )
