"""Ctrl-C and SIGTERM: the first stops a command in order, the second ends it at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

STOPS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h"  # which a progress bar has hidden


@dataclass
class Stop:
    """Which signal came, if any."""

    signal: int = signal.SIGINT

    @property
    def exit_code(self) -> int:
        return 128 + self.signal  # as shells count


@contextmanager
def stoppable(last_words: str) -> Iterator[Stop]:
    """The first of STOPS raises KeyboardInterrupt in the main thread. The second ends the process with `last_words`,
    whatever it is doing: also where it waits in code that is not Python's, which lets no exception through."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: FrameType | None) -> NoReturn:
        for one in STOPS:
            signal.signal(one, lambda number, frame: None)  # a second one is for the thread
        stop.signal = number
        raise KeyboardInterrupt

    heard, told = os.pipe()
    os.set_blocking(told, False)
    earlier = {one: signal.signal(one, handle) for one in STOPS}
    earlier_told = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    listener = threading.Thread(target=_end_at_second, args=(heard, last_words), daemon=True)
    listener.start()
    try:
        yield stop
    finally:
        signal.set_wakeup_fd(earlier_told)
        for one, handler in earlier.items():
            signal.signal(one, handler)
        os.close(told)  # which ends the listener
        listener.join()
        os.close(heard)


def _end_at_second(heard: int, last_words: str) -> None:
    stops = 0
    while number := os.read(heard, 1):
        stops += number[0] in STOPS
        if stops == 2:
            with suppress(OSError):
                os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + last_words.encode())
            os._exit(128 + number[0])
