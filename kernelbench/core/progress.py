"""The protocol by which walks show their progress, and how it is logged."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[float, str], None]  # work done since the last call, and what is being done


class Progress(Protocol):
    """Shows what is being done, and how long it still takes."""

    def stage(self, title: str, total: float) -> AbstractContextManager[Advance]: ...

    def say(self, text: str) -> None:
        """Show a line about what is being done, apart from the results."""


class LoggedProgress:
    """Progress as messages of the logger `kernelbench`: quiet unless the caller configures it."""

    log = logging.getLogger("kernelbench")

    @contextmanager
    def stage(self, title: str, total: float) -> Iterator[Advance]:
        self.log.info(title)
        yield lambda amount, what: None

    def say(self, text: str) -> None:
        self.log.info(text)


QUIET = LoggedProgress()
