"""The time that a run spends on its tasks, for environment.json and the last line of a run."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kernelbench.core.units import duration_text

STARTING, LIMITS, BUILDING, REPORTING, OTHER = "starting", "limits", "building", "reporting", "other"
FILLING, PREPARING, VERIFYING, MEASURING = "filling", "preparing", "verifying", "measuring"  # of a case


class Stopwatch:
    """Seconds by task. Time of a task within another counts only for the inner one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._lap: dict[str, float] = {}
        self._doing: list[str] = []
        self._began = self._since = time.monotonic()

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Book the time of the `with` block on `what`, without that of inner blocks."""
        self._book()
        self._doing.append(what)
        try:
            yield
        finally:
            self._book()
            self._doing.pop()

    def move(self, taken: Mapping[str, float]) -> None:
        """Book seconds that another process spent on these tasks, and take them from the current block."""
        self._book()
        for what, seconds in taken.items():
            self._add(what, seconds)
            self._add(self._doing[-1], -seconds)

    def lap(self) -> dict[str, float]:
        """Seconds since the last lap."""
        self._book()
        last, self._lap = self._lap, dict(self.seconds)
        return {what: seconds - last.get(what, 0.0) for what, seconds in self._lap.items()}

    def line(self) -> str:
        """`29 s, 62 % of them measuring (builds left out): measuring 18.0 s, verifying 4.1 s, ..`"""
        self._book()
        whole = time.monotonic() - self._began
        counted = whole - self.seconds.get(BUILDING, 0.0)
        share = 100 * self.seconds.get(MEASURING, 0.0) / counted if counted > 0 else 0.0
        most_first = sorted(self.seconds.items(), key=lambda one: -one[1])
        spent = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in most_first if seconds >= 0.05)
        return f"{duration_text(whole)}, {share:.0f} % of them measuring (builds left out): {spent}"

    def _book(self) -> None:
        now = time.monotonic()
        self._add(self._doing[-1] if self._doing else OTHER, now - self._since)
        self._since = now

    def _add(self, what: str, seconds: float) -> None:
        self.seconds[what] = self.seconds.get(what, 0.0) + seconds
