"""How far a walk has come: what shows it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

Advance = Callable[[float, str], None]  # work done since the last call, and what is being done


class Progress(Protocol):
    """Shows that something goes on, and for how long still."""

    def stage(self, title: str, total: float) -> AbstractContextManager[Advance]: ...

    def say(self, text: str) -> None:
        """A line about what goes on, beside the results."""
