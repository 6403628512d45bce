"""Compilers that kernelbench starts: each in a group of its own, ended with all its children."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # what ends a command in order
_POLL_S = 0.02
_running: set[subprocess.Popen[bytes]] = set()


def start(command: Sequence[str], environment: Mapping[str, str], output: Path) -> subprocess.Popen[bytes]:
    """Start a program that reads nothing and prints to a file; `wait` must follow. OSError where it cannot be started.

    A file, not a pipe: a child that outlives the program may hold it, and delays nobody.
    """
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C comes to us alone, and the program ends with all its children
        )
    _running.add(process)
    return process


def wait(process: subprocess.Popen[bytes], timeout_s: float) -> int:
    """The program's exit code, once it has ended and with it what is left of its group.

    Raises subprocess.TimeoutExpired where it had to be ended after `timeout_s` seconds.
    """
    end_s = time.monotonic() + timeout_s
    try:
        while not _has_ended(process):
            if time.monotonic() >= end_s:
                raise subprocess.TimeoutExpired(process.args, timeout_s)
            time.sleep(_POLL_S)
    finally:
        end(process)
        process.wait()
        _running.discard(process)
    return process.returncode


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program and its children, at once."""
    if process.returncode is None:  # else its number may be another program's by now
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def end_all() -> None:
    """End every program that is running, for a process that is about to end without a word."""
    for process in list(_running):
        end(process)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """It is left unreaped: until then no other program can have its number, nor its group."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True
