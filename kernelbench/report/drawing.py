"""A chart, and how several are drawn in parallel in copies of this process: drawing takes most of a page's time."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from kernelbench.report import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST_CORES = 2
LONGEST_S = 60.0  # for all copies: one may wait for a lock that a thread held when the copy was made


@dataclass(frozen=True)
class Chart:
    """A figure with its file name and what it shows in words. The figure is made when it is drawn."""

    name: str
    title: str
    caption: str
    figure: Callable[[], Figure]

    @cached_property
    def drawn(self) -> tuple[bytes, str]:
        """The figure as PNG and as an SVG document; drawn once, for the files and for the page."""
        figure = self.figure()
        return style.png(figure), style.svg(figure)

    @property
    def svg(self) -> str:
        return self.drawn[1]


def draw_all(charts: Sequence[Chart]) -> None:
    """Draw every chart. If a copy of this process sends nothing, its chart is drawn here when it is used."""
    charts = [chart for chart in charts if "drawn" not in chart.__dict__]
    if len(charts) < 2 or (os.cpu_count() or 1) < FEWEST_CORES or not _can_copy():
        return
    style.await_imports()
    for name in style.FOR_CHARTS:  # once here, not once in every copy
        import_module(name)
    context = multiprocessing.get_context("fork")
    deadline, at_work = time.monotonic() + LONGEST_S, []
    for chart in charts:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_send_drawn, args=(chart, theirs), daemon=True)
        process.start()
        theirs.close()
        at_work.append((chart, ours, process))
    for chart, pipe, process in at_work:
        with suppress(EOFError):
            if pipe.poll(max(0.0, deadline - time.monotonic())):
                chart.__dict__["drawn"] = pipe.recv()  # where functools.cached_property keeps it
        process.kill()
        process.join()


def _can_copy() -> bool:
    """Only on Linux, and only without a GPU context, is it safe to copy a process."""
    return sys.platform == "linux" and "cupy" not in sys.modules and "torch" not in sys.modules


def _send_drawn(chart: Chart, pipe: Connection) -> None:
    pipe.send(chart.drawn)
