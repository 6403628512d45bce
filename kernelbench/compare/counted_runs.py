"""What the simulator counted of a run on disk, read back from its rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any

from kernelbench.core import places
from kernelbench.core.counters import Counters
from kernelbench.explain.counted import COUNTER_COLUMNS, Counted, LaunchShape
from kernelbench.runs.folders import RECORDED_SIMULATOR, is_run
from kernelbench.runs.results import Run, read_run


def counted_of_run(run: Run) -> dict[str, dict[str, Counted]]:
    """What a run's results.csv holds of counters: by case, then implementation. {} for a run on a GPU."""
    found: dict[str, dict[str, Counted]] = {}
    for row in run.table.to_dict("records"):
        if _number(row["warp_instructions"]):
            found.setdefault(row["case"], {}).setdefault(row["implementation"], _of_row(row))
    return found


def counts_of(run: Run, results: Path | None = None) -> tuple[Mapping[str, Mapping[str, Counted]], str]:
    """Counters by case and implementation, and where they are from: the run itself, or else the recorded simulator run
    of its suite below `results`."""
    own = counted_of_run(run)
    if own:
        return own, "this run's own counters"
    folder = (results or places.RECORDED) / RECORDED_SIMULATOR / run.suite
    if not is_run(folder):
        return {}, ""
    recorded = counted_of_run(read_run(folder))
    wanted = {row.case for row in run.rows}
    return {case: one for case, one in recorded.items() if case in wanted}, "the recorded simulator run of this suite"


def _of_row(row: Mapping[str, Any]) -> Counted:
    counters = Counters(
        thread_instructions=round(_number(row["lanes_per_instruction"]) * _number(row["warp_instructions"])),
        **{name: round(_number(row[name])) for name in COUNTER_COLUMNS},
    )
    registers, static = int(_number(row["registers"])), int(_number(row["static_shared_bytes"]))
    return Counted(
        case=row["case"],
        implementation=row["implementation"],
        counters=counters,
        role=row["role"],
        least_bytes=int(_number(row["bytes_moved"])) or None,
        shapes=tuple(_shapes(row["launches"], registers, static)),
        sampled=row["sampled"] and f"sampled {row['sampled']}",
    )


_LAUNCH = re.compile(r"(\S+)<<<([\dx]+), ([\dx]+)(?:, (\d+))?>>>")  # as core.launch_texts writes it


def _shapes(cell: str, registers: int, static_shared_bytes: int) -> Iterable[LaunchShape]:
    for entry, grid, block, shared in _LAUNCH.findall(cell):
        blocks, threads = (prod(map(int, extent.split("x"))) for extent in (grid, block))
        yield LaunchShape(entry, blocks, threads, static_shared_bytes + int(shared or 0), registers)


def _number(value: Any) -> float:
    """A cell of a column of numbers; 0 for an empty one."""
    return float(value) if isinstance(value, int | float) and value == value else 0.0  # noqa: PLR0124 - NaN
