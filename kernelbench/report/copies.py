"""The yardstick of a run: the best of several copies of the same bytes, in each case, cache state and method.

"Share of the copy" is its time over that of a row, on every screen and page.
"""

from collections.abc import Iterable
from dataclasses import replace

from kernelbench.report import view
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row

BEST = "best copy"
Place = tuple[str, str, str]  # case, cache, method


def best_copy_rows(rows: Iterable[Row]) -> dict[Place, Row]:
    """The fastest yardstick that was timed at each place."""
    best: dict[Place, Row] = {}
    for row in rows:
        if row.role == "yardstick" and row.status == "ok" and row.median_s is not None:
            place = row.case, row.cache, row.method
            if place not in best or view.median_seconds(row) < view.median_seconds(best[place]):
                best[place] = row
    return best


def names(run: Run) -> list[str]:
    """The yardsticks that have a time."""
    return list(dict.fromkeys(row.implementation for row in run.rows if row.role == "yardstick" and row.median_s))


def with_best_copy(run: Run, rows: Iterable[Row]) -> list[Row]:
    """The rows, but of the yardsticks only the best at each place, named BEST if the run has several."""
    rows = list(rows)
    best = best_copy_rows(rows)
    several = len(names(run)) > 1
    kept = [row for row in rows if row.role != "yardstick" or best.get((row.case, row.cache, row.method)) is row]
    return [replace(row, implementation=BEST) if several and row.role == "yardstick" else row for row in kept]


def note(run: Run) -> str:
    """Which copies the yardstick is the best of."""
    known = names(run)
    return "one copy kernel" if len(known) == 1 else f"the best of {', '.join(known)}"
