"""Other programs: compilers in process groups of their own, ended with all their children, and short questions."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # signals that end a command cleanly
_POLL_S = 0.02
_running: set[subprocess.Popen[bytes]] = set()
FAILED = (OSError, subprocess.SubprocessError)  # what `output_of` raises


def output_of(command: Sequence[str], limit_s: float, *, check: bool = True) -> str:
    """What a program prints that reads nothing and soon ends; raises FAILED if it cannot be run or takes too long, and
    with `check` if it fails."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
        check=check,
    ).stdout


def start(
    command: Sequence[str], environment: Mapping[str, str], output: Path, folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a program that reads nothing and prints to a file; `wait` must follow. OSError if it cannot be started.

    `folder`: the program's current folder; None: ours.

    The output is a file, not a pipe, because a child that outlives the program would keep a pipe open.
    """
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,  # Ctrl-C reaches only kernelbench, and the group can be ended as a whole
        )
    _running.add(process)
    return process


def wait(process: subprocess.Popen[bytes], timeout_s: float, watch: Callable[[], None] = lambda: None) -> int:
    """Wait for the program, end the rest of its group, and return the program's exit code.

    `watch` is called again and again meanwhile. Raises subprocess.TimeoutExpired if the program was ended after
    `timeout_s` seconds.
    """
    end_s = time.monotonic() + timeout_s
    try:
        while not _has_ended(process):
            watch()
            if time.monotonic() >= end_s:
                raise subprocess.TimeoutExpired(process.args, timeout_s)
            time.sleep(_POLL_S)
    finally:
        end(process)
        process.wait()
        _running.discard(process)
    return process.returncode


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and its children."""
    if process.returncode is None:  # else the number may belong to another program by now
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def end_all() -> None:
    """Kill every running program, before this process ends abruptly."""
    for process in list(_running):
        end(process)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the program has ended. It stays unreaped, so that no other program can get its number or group."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True
