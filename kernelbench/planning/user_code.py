"""Guards for the user's Python while it runs: it might never return, or end the process, fork, or change handlers.

This is not a sandbox. It turns mistakes into errors that name a file; malicious code finds a way around it.
"""

import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from types import FrameType
from typing import Any

from kernelbench.core.processes import STOPS

LIMIT_S = 60.0  # for an import, a plan, or another function of a case
GRACE_S = 5.0  # after the limit, for code that catches every exception
_REPEAT_S = 1.0  # interval at which the exception is raised again
_ENDS = ("_exit", "execv", "execve")  # functions of os that end a process without an exception
end_process = os._exit  # the original, which user code cannot replace
_watching = False


class TookTooLong(Exception):
    """The user's code did not end in time."""


@contextmanager
def limit_user_code(limit_s: float | None = LIMIT_S) -> Iterator[None]:
    """Run the user's code within `limit_s` seconds (None: no limit); raises TookTooLong.

    From here on os._exit and os.exec raise RuntimeError. Signal handlers are restored. A child that the code forks ends
    with the code. If code never returns to Python, the process ends with exit code 1, and the place is printed.
    """
    if _watching or threading.current_thread() is not threading.main_thread():
        yield
        return
    process = os.getpid()
    if parent_process() is None:  # otherwise the parent sees how this process ends
        _refuse_ends(process)
    handlers = {one: signal.getsignal(one) for one in STOPS}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        with _limited(limit_s):
            try:
                yield
            finally:
                if os.getpid() != process:
                    end_process(1)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for one, handler in handlers.items():
            if handler is not None and signal.getsignal(one) is not handler:
                signal.signal(one, handler)


@contextmanager
def _limited(limit_s: float | None) -> Iterator[None]:
    global _watching  # noqa: PLW0603 - there is one timer in a process

    def late(number: int, frame: FrameType | None) -> None:
        if _watching:
            raise TookTooLong(f"it took over {limit_s:g} s and was ended")

    _watching = True
    handler = signal.signal(signal.SIGALRM, late) if limit_s else None
    began = time.monotonic()
    left_s, every_s = signal.setitimer(signal.ITIMER_REAL, limit_s, _REPEAT_S) if limit_s else (0.0, 0.0)
    if limit_s:
        faulthandler.dump_traceback_later(limit_s + GRACE_S, exit=True, file=2)
    try:
        yield
    finally:
        _watching = False
        if limit_s:
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            if left_s:
                signal.setitimer(signal.ITIMER_REAL, max(left_s - (time.monotonic() - began), 0.001), every_s)


def _refuse_ends(process: int) -> None:
    """Make these functions raise, because os._exit(0) would pass for success. Forked children may still use them."""
    for name in _ENDS:
        real = getattr(os, name)
        if not hasattr(real, "refuses"):
            setattr(os, name, _refusing(name, real, process))


def _refusing(name: str, real: Callable[..., Any], process: int) -> Callable[..., Any]:
    def refused(*arguments: Any) -> None:
        if os.getpid() != process:
            real(*arguments)
        raise RuntimeError(f"os.{name} would end kernelbench; raise an exception instead")

    refused.refuses = True  # type: ignore[attr-defined]
    return refused
