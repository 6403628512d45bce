"""The protocol by which walks show their progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

Advance = Callable[[float, str], None]  # work done since the last call, and what is being done


class Progress(Protocol):
    """Shows what is being done, and how long it still takes."""

    def stage(self, title: str, total: float) -> AbstractContextManager[Advance]: ...

    def say(self, text: str) -> None:
        """Show a line about what is being done, apart from the results."""
