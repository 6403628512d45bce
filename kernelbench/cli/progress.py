"""Progress on stderr: a bar with the time left on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kernelbench.cli.stopping import raise_again
from kernelbench.cli.terminal import console, warn
from kernelbench.core.units import duration_text


class ConsoleProgress:
    """A bar with the time left on a terminal; one line at the end of each stage elsewhere."""

    @contextmanager
    def stage(self, title: str, total: float) -> Iterator[Callable[[float, str], None]]:
        raise_again()
        started = time.monotonic()
        if total <= 0:
            yield lambda amount, what: None
            return
        if not sys.stderr.isatty():
            yield lambda amount, what: raise_again()
        else:
            yield from self._bar(title, total)
        warn(f"{title}: {duration_text(time.monotonic() - started)}")

    def say(self, text: str) -> None:
        warn(text)

    def _bar(self, title: str, total: float) -> Iterator[Callable[[float, str], None]]:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[what]}", markup=False),
        )
        with Progress(*columns, console=console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=total, what="")

            def advance(amount: float, what: str) -> None:
                raise_again()
                bar.update(task, advance=amount, what=what[:40])

            yield advance
