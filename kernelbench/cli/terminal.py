"""Output to a terminal, file or pipe: lines, and a console for tables."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from textwrap import fill
from typing import TYPE_CHECKING, Any, TextIO, cast

from kernelbench.core.texts import printable

if TYPE_CHECKING:
    from rich.console import Console

NOTHING_VERIFIED = "Nothing was verified: every row is unsupported, skipped or failed; the reasons are above."
WIDTH = 100  # of what no terminal reads, a file or a pipe, where COLUMNS is not set
HEIGHT = 25  # lines, of the same
LEAST_WIDTH, MOST_WIDTH = 40, 200  # however narrow or wide the window is


def console(*, stderr: bool = False) -> Console:
    """As wide as the window.

    What is printed may come from anybody: markup in it is text, and what a terminal would obey is escaped.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Ours(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for part in super().render(renderable, options):
                safe = part.text if part.control else printable(part.text)
                yield part if safe is part.text else Segment(safe, part.style)

    width = window_width(sys.stderr if stderr else sys.stdout)
    return Ours(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def window_width(stream: TextIO) -> int:
    """Characters per line: those of the window or of the variable COLUMNS, between 40 and 200; 100 without either."""
    asked = os.environ.get("COLUMNS", "")
    if not stream.isatty() and not (asked.isdecimal() and int(asked)):
        return WIDTH
    return max(LEAST_WIDTH, min(shutil.get_terminal_size((WIDTH, HEIGHT)).columns, MOST_WIDTH))


@contextmanager
def headline_on_terminal(*sentences: str) -> Iterator[None]:
    """Tell the sentences, and once more at the end where what is printed has more lines than the window."""
    printed = _CountingLines(sys.stdout)
    with redirect_stdout(cast(TextIO, printed)):
        tell(*sentences)
        yield
    if sentences and printed.lines > shutil.get_terminal_size((WIDTH, HEIGHT)).lines:
        tell("", *sentences)


class _CountingLines:
    """A stream that counts the lines written to it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.lines = stream, 0

    def write(self, text: str) -> int:
        self.lines += text.count("\n")
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def tell(*sentences: str) -> None:
    """Print sentences, broken at spaces to fit the window."""
    for sentence in sentences:
        say(
            fill(
                printable(sentence),
                window_width(sys.stdout),
                subsequent_indent="  ",
                break_on_hyphens=False,
                break_long_words=False,
            )
        )


def say(text: str) -> None:
    """Print a plain line, whatever its length."""
    print(printable(text))


def warn(text: str) -> None:
    """Print a line to stderr, beside the results."""
    print(printable(text), file=sys.stderr, flush=True)
