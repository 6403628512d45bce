"""Ctrl-C, SIGTERM and SIGHUP: the first stops a command in order, the second ends it at once."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

from kernelbench.core import processes
from kernelbench.core.processes import STOPS
from kernelbench.planning.user_code import end_process

AGAIN_S = 0.02  # first pause before a signal is sent again whose exception was lost or could not be raised
MOST_PAUSE_S = 0.5  # the pause doubles up to this, because every signal interrupts system calls
_SHOW_CURSOR = b"\x1b[?25h"  # a progress bar hides it
_IMPORTS = "<frozen importlib"  # files of Python's own import; an exception in there can leave its locks held
_OVER = b"\0"  # for the listener: no signal has this number


@dataclass
class Stop:
    """Which signal came, if any, and what became of its exception."""

    signal: signal.Signals | None = None
    raising: bool = False  # whether the command is ready for the exception
    raised: bool = False
    wanted_again: bool = False

    @property
    def exit_code(self) -> int:
        return 128 + (self.signal or signal.SIGINT)  # as shells count

    def begin(self) -> None:
        """Raise KeyboardInterrupt from here on, and now if a signal came already."""
        self.raising = True
        self.check()

    def check(self) -> None:
        if self.signal is not None:
            self.raised = True
            raise KeyboardInterrupt

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal = signal.Signals(number)
        if not self.raising or self.raised:
            return
        self.wanted_again = frame is not None and frame.f_code.co_filename.startswith(_IMPORTS)
        if not self.wanted_again:
            self.check()

    def lost(self) -> None:
        """Note that the exception was dropped."""
        self.raised, self.wanted_again = False, True


_stop = Stop()  # of the command that is running


def raise_again() -> None:
    """KeyboardInterrupt if a signal came. Steps of a command call this, in case a library dropped the first one."""
    _stop.check()


@contextmanager
def stop_on_signals(last_words: str) -> Iterator[Stop]:
    """From `begin` on the first of STOPS raises KeyboardInterrupt in the main thread. The second ends the process with
    `last_words`, whatever it is doing: also where it waits in code that is not Python's, which lets no exception
    through. A SIGHUP that was ignored, as under nohup, is ignored here too."""
    global _stop  # noqa: PLW0603 - a process runs one command
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    stops = [one for one in STOPS if one != signal.SIGHUP or signal.getsignal(one) != signal.SIG_IGN]
    earlier_stop, _stop = _stop, stop
    heard, told = os.pipe()
    os.set_blocking(told, False)
    earlier = {one: signal.signal(one, stop.handle) for one in stops}
    earlier_told = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    listener = threading.Thread(target=_listen, args=(heard, stop, last_words), daemon=True)
    listener.start()
    try:
        with _lost_ones_noticed(stop):
            yield stop
    finally:
        stop.raising = False
        signal.set_wakeup_fd(earlier_told)
        for one, handler in earlier.items():
            signal.signal(one, handler)
        os.write(told, _OVER)  # closing it is not enough: a child forked by a user's code may hold it too
        listener.join()
        os.close(told)
        os.close(heard)
        _stop = earlier_stop


@contextmanager
def _lost_ones_noticed(stop: Stop) -> Iterator[None]:
    """Python drops an exception that is raised within a finaliser or a callback of its own."""
    others = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if stop.raised and unraisable.exc_type is KeyboardInterrupt:
            stop.lost()
        else:
            others(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = others


def _listen(heard: int, stop: Stop, last_words: str) -> None:
    """Count the signals. Send the first one to the main thread again as long as it raised nothing: its exception was
    lost, or it came between Python's last look at signals and a wait that only another signal ends."""
    main = threading.main_thread().ident
    stops, own, first, pause_s = 0, False, 0, AGAIN_S
    while True:
        if stops and not select.select([heard], [], [], pause_s)[0]:
            if stop.wanted_again or (stop.raising and not stop.raised and not own):
                stop.wanted_again, own, pause_s = False, True, min(2 * pause_s, MOST_PAUSE_S)
                signal.pthread_kill(main or 0, first)  # this thread hears it too
            continue
        number = os.read(heard, 1)
        if number == _OVER:
            return
        if own and number[0] == first:
            own = False
        elif number[0] in STOPS:
            stops, first = stops + 1, first or number[0]
        if stops == 2:
            processes.end_all()
            with suppress(OSError):
                os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + last_words.encode())
            end_process(128 + number[0])
