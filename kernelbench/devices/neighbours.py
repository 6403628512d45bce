"""Which other processes may be using a GPU, by what NVML lists and whom it names as busy."""

from __future__ import annotations

import os
from collections.abc import Collection

IDLE_S = 1.0  # NVML names busy processes once in up to so many seconds: one that it has not named for as long is idle


class Neighbours:
    """Tells the processes on a GPU apart: our own, others at work, others that only hold memory.

    `before` are the processes that were there before our own context was. A container may show processes by numbers
    of its host, which ours is not among: then those that came with our context are ours.
    """

    def __init__(self, before: Collection[int], at_s: float) -> None:
        self._before = frozenset(before)
        self._own: frozenset[int] = frozenset()
        self._active_s = dict.fromkeys(before, at_s)  # when each was last known to be at work, or came
        self._names_busy = False

    def look(self, listed: Collection[int], busy: Collection[int], at_s: float) -> None:
        """Take in who is `listed` on the GPU now, and who was named as `busy` since the last look."""
        self._own = self._own or frozenset({os.getpid()} & set(listed) or set(listed) - self._before)
        self._names_busy = self._names_busy or not self._own.isdisjoint(busy)
        self._active_s = {
            process: at_s if process in busy else self._active_s.get(process, at_s)
            for process in listed
            if process not in self._own
        }

    @property
    def visible(self) -> bool:
        """Whether processes are shown at all: ours is one of them."""
        return bool(self._own)

    @property
    def count(self) -> int:
        return len(self._active_s)

    def at_work(self, at_s: float) -> int:
        """How many of them may be using the GPU: where nobody is ever named as busy, all."""
        return sum(not self._names_busy or at_s - since_s <= IDLE_S for since_s in self._active_s.values())
