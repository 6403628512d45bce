"""A run of a step, added up: so many calls of each part, unfused and fused. A sum is whole or it is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelbench.compare.counted_runs import counted_of_run
from kernelbench.compare.judging import CACHE
from kernelbench.core.counters import SECTOR_BYTES
from kernelbench.core.errors import ResultsError
from kernelbench.core.parts import Part, Step
from kernelbench.core.records import METHODS
from kernelbench.explain.counted import Counted, CountedCases
from kernelbench.runs.results import ENVIRONMENT_FILE, Run
from kernelbench.runs.row_records import Row

UNFUSED, FUSED = SIDES = ("unfused", "fused")


@dataclass(frozen=True)
class Amount:
    """Seconds, or bytes where nothing is timed, with the ends of an interval."""

    value: float
    low: float
    high: float

    def times(self, calls: int) -> Amount:
        return Amount(calls * self.value, calls * self.low, calls * self.high)


@dataclass(frozen=True)
class PartAmount:
    """What one call of a part takes, by side: no entry where the step of that side does not have the part, None where
    it was not measured and `reasons` says why."""

    part: Part
    amounts: Mapping[str, Amount | None]
    reasons: Mapping[str, str]

    def total(self, side: str) -> Amount | None:
        """All calls of a step."""
        amount = self.amounts.get(side)
        return amount.times(self.part.calls) if amount else None


@dataclass(frozen=True)
class StepSum:
    """All parts of a step. `unit` is s, or B: the traffic that the simulator counted."""

    parts: Sequence[PartAmount]
    leaves_out: str
    unit: str

    def total(self, side: str) -> Amount | None:
        """All calls of a step together; None where any part of it is missing. Ends of the interval are added up, as if
        every part were off to the same side."""
        if self.missing(side):
            return None
        found = [amount for one in self.parts if (amount := one.total(side))]
        return Amount(*(sum(getattr(one, name) for one in found) for name in ("value", "low", "high")))

    def missing(self, side: str) -> list[str]:
        """Why there is no sum: a text for each part without its number."""
        return [f"{one.part.name}: {one.reasons[side]}" for one in self.parts if side in one.reasons]

    @property
    def ratio(self) -> Amount | None:
        """Unfused over fused."""
        unfused, fused = self.total(UNFUSED), self.total(FUSED)
        if unfused is None or fused is None or not fused.low:
            return None
        return Amount(unfused.value / fused.value, unfused.low / fused.high, unfused.high / fused.low)


def step_of(run: Run) -> Step | None:
    """The step that the run's suite is of; None for a suite of one operation.

    ResultsError where the step in environment.json does not match the rows.
    """
    kept = run.environment.get("step")
    if not kept:
        return None
    try:
        step = Step(tuple(Part(**part) for part in kept["parts"]), str(kept["leaves_out"]))
        whole = all(part.names for part in step.parts)
    except (KeyError, TypeError) as error:
        raise ResultsError(f"{run.folder / ENVIRONMENT_FILE}: 'step' cannot be read ({error!r})") from error
    strange = sorted({row.case for row in run.rows} - {part.case for part in step.parts})
    if strange or not whole:
        what = f"case '{strange[0]}' is of none of its parts" if strange else "a part has nobody to run it"
        raise ResultsError(f"{run.folder / ENVIRONMENT_FILE}: 'step' does not fit the rows, restore it: {what}")
    return step


def sum_of(run: Run) -> StepSum | None:
    """The run of a step added up: its times with the L2 cleared, or what the simulator counted."""
    step = step_of(run)
    if step is None:
        return None
    if run.simulated:
        return _traffic(run, step, counted_of_run(run))
    rows = _rows(run, step)
    return StepSum([_part_amount(part, rows[part.case], _seconds(rows[part.case])) for part in step.parts],
                   step.leaves_out, "s")  # fmt: skip


def traffic_ratio(run: Run, counted: CountedCases) -> float | None:
    """Unfused over fused by the bytes that were counted of the same step; None where a part was not counted."""
    step = step_of(run)
    ratio = _traffic(run, step, counted).ratio if step else None
    return ratio.value if ratio else None


def _traffic(run: Run, step: Step, counted: CountedCases) -> StepSum:
    rows = _rows(run, step)
    parts = [_part_amount(part, rows[part.case], _bytes(counted.get(part.case, {}))) for part in step.parts]
    return StepSum(parts, step.leaves_out, "B")


def _rows(run: Run, step: Step) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {part.case: [] for part in step.parts}
    for row in run.rows:
        rows[row.case].append(row)
    return rows


def _part_amount(part: Part, rows: Sequence[Row], by_name: Mapping[str, Amount]) -> PartAmount:
    sides = {UNFUSED: part.unfused, FUSED: part.fused}
    amounts = {side: by_name.get(name) for side, name in sides.items() if name}
    reasons = {side: _why_not(rows, sides[side]) for side, amount in amounts.items() if amount is None}
    return PartAmount(part, amounts, reasons)


def _seconds(rows: Sequence[Row]) -> dict[str, Amount]:
    """Times by implementation, all by the method that most of them have."""
    timed: dict[str, dict[str, Amount]] = {method: {} for method in METHODS}
    for row in rows:
        if row.cache == CACHE and row.method in timed and row.times:
            low, median, high = row.times
            timed[row.method][row.implementation] = Amount(median, low, high)
    return max(timed.values(), key=len)


def _bytes(counted: Mapping[str, Counted]) -> dict[str, Amount]:
    sizes = {name: float(SECTOR_BYTES * one.counters.global_sectors) for name, one in counted.items()}
    return {name: Amount(size, size, size) for name, size in sizes.items()}


def _why_not(rows: Sequence[Row], name: str) -> str:
    own = [row for row in rows if row.implementation == name]
    if not own:
        return f"{name} is not in this run"
    if own[-1].status != "ok":
        return f"{name}: {own[-1].status} ({own[-1].reason})"
    methods = ", ".join(dict.fromkeys(row.method for row in own if row.cache == CACHE)) or "no method"
    return f"{name}: timed by {methods} with a {CACHE} cache, the other side otherwise"
