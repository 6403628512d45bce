"""Other processes that may be using a GPU, from NVML's list of processes and those that it reports as busy."""

from __future__ import annotations

import os
from collections.abc import Collection

IDLE_S = 1.0  # NVML reports busy processes at least this often; a process that it has not reported for longer is idle


class Neighbours:
    """Tells the processes on a GPU apart: our own, others that are busy, others that only hold memory.

    `before` are the processes that were there before our own context. A container may show processes by numbers of the
    host, which do not include ours; then the processes that appeared with our context are ours.
    """

    def __init__(self, before: Collection[int], at_s: float) -> None:
        self._before = frozenset(before)
        self._own: frozenset[int] = frozenset()
        self._active_s = dict.fromkeys(before, at_s)  # when each was last reported busy, or first listed
        self._names_busy = False  # whether NVML reports busy processes here at all

    def look(self, listed: Collection[int], busy: Collection[int], at_s: float) -> None:
        """Update with the processes `listed` on the GPU now, and those reported as `busy` since the last call."""
        self._own = self._own or frozenset({os.getpid()} & set(listed) or set(listed) - self._before)
        self._names_busy = self._names_busy or not self._own.isdisjoint(busy)
        self._active_s = {
            process: at_s if process in busy else self._active_s.get(process, at_s)
            for process in listed
            if process not in self._own
        }

    @property
    def visible(self) -> bool:
        """Whether NVML lists processes here at all, which then include ours."""
        return bool(self._own)

    @property
    def count(self) -> int:
        return len(self._active_s)

    def at_work(self, at_s: float) -> int:
        """How many of the others may be using the GPU; all of them if NVML never reports busy processes."""
        return sum(not self._names_busy or at_s - since_s <= IDLE_S for since_s in self._active_s.values())
