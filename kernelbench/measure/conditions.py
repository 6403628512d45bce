"""Conditions of the GPU during each sample: clock throttling, and other processes on it.

Each sample is judged by the readings before and after it. Disturbed samples do not count if there are enough others;
see rounds.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbench.core.contracts import Device

EVERY_S = 0.05  # least time between two readings
READING_SHARE = 0.05  # most of the time that readings may take
TELLING_S = 1.0  # the driver reports other processes up to this late
LOWERED = 0.99  # of the highest clock of the case; above it, a throttle does not change times
ANOTHER = "beside another process"
Reasons = frozenset[str]


@dataclass(frozen=True)
class _Reading:
    at_s: float
    values: Mapping[str, Any]  # see contracts.Device.conditions

    @property
    def throttle(self) -> Reasons:
        return frozenset(filter(None, str(self.values.get("throttle", "")).split(", ")))


class Watch:
    """Reads the conditions of a device between samples. The reading before a sample identifies it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._readings: list[_Reading] = []
        self._due_s = 0.0
        self._judged: list[Reasons] = []

    @property
    def last(self) -> int:
        """The number of the last reading, which identifies the next sample."""
        return len(self._readings) - 1

    def look(self, *, now: bool = False) -> None:
        """Read the conditions if a reading is due, or `now`."""
        began = time.monotonic()
        if now or began >= self._due_s:
            values = dict(self._device.conditions())
            at_s = time.monotonic()
            self._readings.append(_Reading(at_s, values))
            self._due_s = at_s + max(EVERY_S, (at_s - began) / READING_SHARE)

    def disturbances(self, samples: Sequence[int]) -> list[Reasons]:
        """What disturbed each sample of a row: another process, or a throttle that did not affect all of them alike."""
        if len(self._judged) < len(self._readings):
            self._judged = self._judgements()
        common = frozenset.intersection(*(self._judged[number] for number in set(samples))) if samples else frozenset()
        return [self._judged[number] - (common - {ANOTHER}) for number in samples]

    def throttle(self, samples: Sequence[int]) -> str:
        """The driver's reasons for lowering the clock around these samples, however little."""
        return ", ".join(sorted({reason for one in self._round(samples) for reason in one.throttle}))

    def mean(self, name: str, samples: Sequence[int]) -> float | None:
        """Mean of the readings around these samples; None if the driver reports none."""
        values = [float(one.values[name]) for one in self._round(samples) if name in one.values]
        return float(np.mean(values)) if values else None

    def _round(self, samples: Sequence[int]) -> list[_Reading]:
        numbers = {place for number in samples for place in (number, number + 1)}
        return [self._readings[number] for number in sorted(numbers) if number <= self.last]

    def _judgements(self) -> list[Reasons]:
        """What disturbed a sample between each reading and the next."""
        clocks = [float(one.values["sm_clock_hz"]) for one in self._readings if "sm_clock_hz" in one.values]
        limit = LOWERED * max(clocks, default=0.0)
        seen: list[Reasons] = []  # at each reading
        for one in self._readings:
            lowered = float(one.values.get("sm_clock_hz", -1.0)) < limit
            seen.append(frozenset(f"under {reason}" for reason in one.throttle) if lowered else frozenset())
        busy = [one.at_s for one in self._readings if one.values.get("others")]
        judged = []
        for number, one in enumerate(self._readings):
            reasons = seen[number] | seen[min(number + 1, self.last)]
            until_s = self._readings[min(number + 1, self.last)].at_s + TELLING_S
            beside = any(one.at_s <= at_s <= until_s for at_s in busy)
            judged.append(reasons | {ANOTHER} if beside else reasons)
        return judged


def disturbance_text(disturbances: Sequence[Reasons]) -> str:
    """`12 of 40 samples beside another process; 3 of 40 samples under power cap`; '' for none."""
    reasons = sorted({reason for one in disturbances for reason in one})
    counts = {reason: sum(reason in one for one in disturbances) for reason in reasons}
    return "; ".join(f"{count} of {len(disturbances)} samples {reason}" for reason, count in counts.items())
