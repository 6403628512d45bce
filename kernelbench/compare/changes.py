"""What two runs on disk say of each other: the rows that `compare` makes and `report` shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["FASTER", "SLOWER", "SAME", "UNSURE"]
VERDICTS: tuple[Verdict, ...] = ("SLOWER", "FASTER", "UNSURE", "SAME")
MOST_SAMPLES = 10_000  # to add to a row: above this a difference lies on the edge of its band
BROKEN = ("wrong", "failed")  # statuses of a kernel that no longer works

Row = Mapping[str, Any]  # by the names of columns.CHANGES; None where a cell is empty


@dataclass(frozen=True)
class Changes:
    """The second run against the first."""

    first: str  # one line about each: folder, GPU, when, with what
    second: str
    by_share: bool  # two different GPUs: by share of the ceiling
    differences: Sequence[str]  # beside the times
    noise: Sequence[str]  # where the bands come from
    rows: Sequence[Row]

    def of(self, verdict: Verdict) -> list[Row]:
        return [row for row in self.rows if row["verdict"] == verdict]

    @property
    def without(self) -> list[Row]:
        """Rows that cannot be compared; their `reason` says why."""
        return [row for row in self.rows if not row["verdict"]]

    def regressions(self, least: float) -> list[Row]:
        """Rows that are SLOWER, and by `least` (0.02: 2 %) for all that the interval can tell; and rows whose kernel
        worked in the first run and is wrong or failed in the second."""
        return [row for row in self.rows if is_broken(row) or (row["verdict"] == "SLOWER" and _reaches(row, least))]

    def blind(self, least: float) -> int:
        """How many compared rows could hide so large a slowdown in their noise."""
        widths = ((row["ratio_high"] / row["ratio"]) * (1 + row["band"]) for row in self.rows if row["verdict"])
        return sum(width > 1 + least for width in widths)


def is_broken(row: Row) -> bool:
    return row["first_status"] == "ok" and row["second_status"] in BROKEN


def _reaches(row: Row, least: float) -> bool:
    return bool(row["ratio_high"] >= 1 + least)
