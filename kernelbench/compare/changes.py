"""What two runs on disk say of each other: the rows that `compare` makes and `report` shows, and how one is decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Literal

from kernelbench.core.columns import Count, Number, columns_of, csv_column

Verdict = Literal["FASTER", "SLOWER", "SAME", "UNSURE"]
VERDICTS: tuple[Verdict, ...] = ("SLOWER", "FASTER", "UNSURE", "SAME")
_BY_SHARE = {"SLOWER": "FARTHER", "FASTER": "CLOSER"}  # from and to the ceiling, of two different GPUs
MOST_SAMPLES = 10_000  # to add to a row: above this a difference lies on the edge of its band
BROKEN = ("wrong", "failed")  # statuses of a kernel that no longer works


@dataclass(frozen=True)
class Change:
    """A row of either run, and of `compare RUN RUN --format csv`, whose columns are the fields.

    None is an empty cell: of all rows that are not `JudgedRow`, those from `ratio` to `second_samples`.
    """

    case: Annotated[str, csv_column("key of the case")]
    implementation: Annotated[str, csv_column("implementation that is compared")]
    cache: Annotated[str, csv_column("cold or warm")]
    method: Annotated[str, csv_column("timing method of both sides")]
    first_s: Annotated[Number, csv_column("median time in the first run", "s")] = None
    second_s: Annotated[Number, csv_column("median time in the second run", "s")] = None
    first_share: Annotated[Number, csv_column("share of the first GPU's ceiling, in the first run")] = None
    second_share: Annotated[Number, csv_column("share of the second GPU's ceiling, in the second run")] = None
    ratio: Annotated[
        Number, csv_column("second_s / first_s, for different GPUs first_share / second_share; above 1: slower")
    ] = None
    ratio_low: Annotated[Number, csv_column("lower end of its 95 % interval")] = None
    ratio_high: Annotated[Number, csv_column("upper end of its 95 % interval")] = None
    band: Annotated[Number, csv_column("noise band: ratios from 1 / (1 + band) to 1 + band are the same")] = None
    verdict: Annotated[
        Verdict | Literal[""],
        csv_column(
            "whether the second run is FASTER, SLOWER, the SAME, or UNSURE; of two different GPUs CLOSER or FARTHER"
        ),
    ] = ""
    more_samples: Annotated[Count, csv_column("further samples per run that would decide an UNSURE verdict")] = None
    first_samples: Annotated[Count, csv_column("raw samples in the first run; 0 where it has none")] = None
    second_samples: Annotated[Count, csv_column("raw samples in the second run")] = None
    code: Annotated[
        str, csv_column("same, other code, other binary (if code is not known) or other launches; empty for a library")
    ] = ""
    first_status: Annotated[
        str, csv_column("ok, wrong, failed, unsupported or skipped; empty where the first run has no such row")
    ] = ""
    second_status: Annotated[str, csv_column("the same for the second run")] = ""
    reason: Annotated[str, csv_column("why there is no verdict, or a remark on it")] = ""

    @property
    def is_broken(self) -> bool:
        """Whether its kernel worked in the first run, and is wrong or failed in the second."""
        return self.first_status == "ok" and self.second_status in BROKEN


CHANGES = columns_of(Change)


@dataclass(frozen=True, kw_only=True)
class JudgedRow(Change):
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
        """SLOWER, with an interval that reaches a slowdown of `least`."""
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
    controls: Sequence[str] = ()  # libraries and copies, which stand beside the kernels
    baseline: str = ""  # of the suite; '' where there are several

    def rank(self, row: Change) -> int:
        """0 for kernels, 1 for the baseline if it is no kernel, 2 for all other libraries and copies."""
        return 0 if row.implementation not in self.controls else 1 if row.implementation == self.baseline else 2

    @property
    def judged(self) -> list[JudgedRow]:
        return [row for row in self.rows if isinstance(row, JudgedRow)]

    @property
    def without(self) -> list[Change]:
        """Rows that cannot be compared; their `reason` says why."""
        return [row for row in self.rows if not isinstance(row, JudgedRow)]

    def word(self, verdict: str) -> str:
        """A verdict as it is shown: no time is faster where shares of two ceilings are compared."""
        return _BY_SHARE.get(verdict, verdict) if self.by_share else verdict

    def of(self, verdict: Verdict) -> list[JudgedRow]:
        return [row for row in self.judged if row.verdict == verdict]

    def regressions(self, least: float) -> list[Change]:
        """Rows that are SLOWER and whose interval reaches a slowdown of `least` (0.02: 2 %); and rows whose kernel
        worked in the first run and is wrong or failed in the second."""
        return [row for row in self.rows if row.is_broken or (isinstance(row, JudgedRow) and row.is_slower(least))]

    def blind(self, least: float) -> int:
        """How many compared rows could hide so large a slowdown in their noise."""
        return sum((row.ratio_high / row.ratio) * (1 + row.band) > 1 + least for row in self.judged)


def verdict_of(value: float, low: float, high: float, band: float) -> tuple[Verdict, float]:
    """The verdict on an interval of ln(second / first) with a band of +-`band`. For UNSURE also by what factor the
    interval must narrow, if the value stays, to lie on one side of each edge of the band."""
    if low > band:
        return "SLOWER", 1.0
    if high < -band:
        return "FASTER", 1.0
    if -band <= low and high <= band:
        return "SAME", 1.0
    factors = [1.0]
    for edge in (-band, band):
        if low < edge < high:
            width = high - value if edge > value else value - low
            factors.append(width / max(abs(edge - value), 1e-9))
    return "UNSURE", max(factors)


def more_samples(factor: float, taken: int) -> int | None:
    """How many to add to `taken`, as an interval narrows with the root of their number; None above MOST_SAMPLES."""
    more = max(1, ceil(min((factor**2 - 1) * taken, 2 * MOST_SAMPLES)))
    return more if more <= MOST_SAMPLES else None


def open_text(more: int | None) -> str:
    """Why a row is UNSURE, as its reason says it."""
    if more is None:
        return f"on the edge of its band: over {MOST_SAMPLES} more samples would be needed"
    return f"about {more} more samples of each would decide"
