"""Progress on stderr: one line that stays up to date on a terminal, a line every 30 seconds elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from kernelbench.cli.stopping import raise_again
from kernelbench.cli.terminal import warn, window_width
from kernelbench.core.texts import printable
from kernelbench.core.units import clock_text, duration_text

TERMINAL_S, ELSEWHERE_S = 0.5, 30.0  # between two lines
LEAST_S = 2.0  # no remaining time is shown before this
TOLD_S = 1.0  # a stage that was shorter leaves no line behind
_ERASE = "\r\x1b[2K"


class ConsoleProgress:
    """Shows each stage while it runs, also where a single kernel takes minutes, and at its end how long it took.

    `lasting` False: nothing of it stays, as commands that only read want.
    """

    def __init__(self, *, lasting: bool = True) -> None:
        self._lasting = lasting
        self._line = threading.Lock()  # held by what writes to the terminal

    @contextmanager
    def printing(self) -> Iterator[None]:
        """For results that are printed while a stage goes on: its line is erased before them."""
        with self._line:
            if sys.stderr.isatty():
                sys.stderr.write(_ERASE)
                sys.stderr.flush()
            yield

    @contextmanager
    def stage(self, title: str, total: float) -> Iterator[Callable[[float, str], None]]:
        raise_again()
        started, done, doing = time.monotonic(), 0.0, title
        if total <= 0:
            yield lambda amount, what: None
            return

        def advance(amount: float, what: str) -> None:
            nonlocal done, doing
            raise_again()
            done, doing = done + amount, what or doing

        def line(width: int) -> str:
            return progress_line(doing, done, total, time.monotonic() - started, width)

        with self._shown_by_a_thread(line):
            yield advance
        seconds = time.monotonic() - started
        if self._lasting and seconds >= TOLD_S:
            warn(f"{title}: {duration_text(seconds)}")

    def say(self, text: str) -> None:
        warn(text)

    @contextmanager
    def _shown_by_a_thread(self, line: Callable[[int], str]) -> Iterator[None]:
        on_terminal = sys.stderr.isatty()

        def show() -> None:
            text = line(window_width(sys.stderr))
            with self._line:
                if on_terminal:
                    sys.stderr.write(f"{_ERASE}{text}")
                    sys.stderr.flush()
                else:
                    warn(text)

        try:
            with repeat_in_thread(show, TERMINAL_S if on_terminal else ELSEWHERE_S):
                yield
        finally:
            if on_terminal:
                with suppress(OSError):
                    sys.stderr.write(_ERASE)
                    sys.stderr.flush()


@contextmanager
def repeat_in_thread(show: Callable[[], None], every_s: float) -> Iterator[None]:
    """Call `show` from time to time in a thread of its own: kernels of the simulator return only at their end."""
    over = threading.Event()

    def repeat() -> None:
        with suppress(OSError, ValueError):  # nobody reads any more
            while not over.wait(every_s):
                show()

    thread = threading.Thread(target=repeat, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def progress_line(what: str, done: float, total: float, elapsed_s: float, width: int) -> str:
    """`[42/132] seq=128 oneflow  32 %  1:10 left`; in narrow windows `what` is shortened."""
    share = min(1.0, done / total)
    end = f"  {100 * share:.0f} %  "
    if elapsed_s < LEAST_S:
        end += "starting"
    else:
        end += f"{clock_text(elapsed_s * (1 - share) / share)} left" if share else f"{clock_text(elapsed_s)} so far"
    if total <= 1:  # one step, of which nothing but the time is known
        end = f"  {clock_text(elapsed_s)}"
    count = f"[{min(int(done) + 1, int(total))}/{int(total)}] " if total > 1 else ""
    room = width - 1 - len(count) - len(end)
    what = printable(what)
    return count + (what if len(what) <= room else what[: max(0, room - 2)] + "..") + end
