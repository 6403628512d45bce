"""Output to a terminal, file or pipe: lines, and a console for tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernelbench.core.texts import printable

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100
LEAST_WIDTH = 40  # a table needs this much, however narrow the window is


def console(*, stderr: bool = False) -> Console:
    """At most 100 columns wide, so that a table looks alike in every window, file and page.

    What is printed may come from anybody: markup in it is text, and what a terminal would obey is escaped.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Ours(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for part in super().render(renderable, options):
                yield part if part.control else Segment(printable(part.text), part.style)

    own = Console(stderr=stderr, highlight=False)
    width = max(LEAST_WIDTH, min(own.width, WIDTH)) if own.is_terminal else WIDTH
    return Ours(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def say(text: str) -> None:
    """Print a plain line, whatever its length."""
    print(printable(text))


def warn(text: str) -> None:
    """Print a line to stderr, beside the results."""
    print(printable(text), file=sys.stderr, flush=True)
