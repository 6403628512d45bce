"""What two runs on disk say of each other: the rows that `compare` makes and `report` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

Verdict = Literal["FASTER", "SLOWER", "SAME", "UNSURE"]
VERDICTS: tuple[Verdict, ...] = ("SLOWER", "FASTER", "UNSURE", "SAME")
MOST_SAMPLES = 10_000  # to add to a row: above this a difference lies on the edge of its band
BROKEN = ("wrong", "failed")  # statuses of a kernel that no longer works


@dataclass(frozen=True)
class Change:
    """A row of either run. Fields are called as their columns, and `columns.CHANGES` says what each means.

    None is an empty cell: of all rows that are not `Judged`, those from `ratio` to `second_samples`.
    """

    case: str
    implementation: str
    cache: str
    method: str
    _: KW_ONLY
    first_s: float | None = None
    second_s: float | None = None
    first_share: float | None = None
    second_share: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    band: float | None = None
    verdict: Verdict | Literal[""] = ""
    more_samples: int | None = None
    first_samples: int | None = None
    second_samples: int | None = None
    code: str = ""
    first_status: str = ""
    second_status: str = ""
    reason: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether its kernel worked in the first run, and is wrong or failed in the second."""
        return self.first_status == "ok" and self.second_status in BROKEN


@dataclass(frozen=True, kw_only=True)
class Judged(Change):
    """A row that both runs have a time of."""

    first_s: float
    second_s: float
    ratio: float
    ratio_low: float
    ratio_high: float
    band: float
    verdict: Verdict
    first_samples: int
    second_samples: int

    def is_slower(self, least: float) -> bool:
        """SLOWER, and by `least` for all that the interval can tell."""
        return self.verdict == "SLOWER" and self.ratio_high >= 1 + least


@dataclass(frozen=True)
class Changes:
    """The second run against the first."""

    first: str  # one line about each: folder, GPU, when, with what
    second: str
    by_share: bool  # two different GPUs: by share of the ceiling
    differences: Sequence[str]  # beside the times
    noise: Sequence[str]  # where the bands come from
    rows: Sequence[Change]

    @property
    def judged(self) -> list[Judged]:
        return [row for row in self.rows if isinstance(row, Judged)]

    @property
    def without(self) -> list[Change]:
        """Rows that cannot be compared; their `reason` says why."""
        return [row for row in self.rows if not isinstance(row, Judged)]

    def of(self, verdict: Verdict) -> list[Judged]:
        return [row for row in self.judged if row.verdict == verdict]

    def regressions(self, least: float) -> list[Change]:
        """Rows that are SLOWER, and by `least` (0.02: 2 %) for all that the interval can tell; and rows whose kernel
        worked in the first run and is wrong or failed in the second."""
        return [row for row in self.rows if row.is_broken or (isinstance(row, Judged) and row.is_slower(least))]

    def blind(self, least: float) -> int:
        """How many compared rows could hide so large a slowdown in their noise."""
        return sum((row.ratio_high / row.ratio) * (1 + row.band) > 1 + least for row in self.judged)
