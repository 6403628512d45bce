"""A lock that lets one run at a time use a GPU, because two that measure side by side disturb each other."""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.core.progress import Progress


@contextmanager
def gpu_to_itself(device: Mapping[str, Any], progress: Progress, *, wait: bool = True) -> Iterator[None]:
    """Lock the GPU that `device` describes (`pci_bus_id`, else `name`) against other runs of kernelbench.

    Waits for another run that holds it, and says so; InputError if `wait` is False. The lock is the operating system's,
    on a file in a folder that all users share, and ends with the process, however that ends. If the file
    cannot be made, the run goes on, and says so.
    """
    which = str(device.get("pci_bus_id") or device["name"])
    name = f"kernelbench-{re.sub(r'[^a-z0-9]+', '-', f'gpu {which}'.lower())}.lock"
    with ExitStack() as stack:
        try:
            file = _opened(places.locks() / name)
            stack.callback(os.close, file)
            _take(file, device["name"], progress, wait=wait)
        except OSError as error:
            progress.say(
                f"Other runs of kernelbench cannot be kept off {device['name']} ({error}); name a writable folder in "
                "KERNELBENCH_LOCKS"
            )
        yield


def _opened(path: Path) -> int:
    """Open the lock file, which may be another user's, since a lock needs no right to write. Links are refused, and
    opening a pipe does not block."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, flags)  # with O_CREAT the system may refuse another user's file
    except FileNotFoundError:
        file = os.open(path, flags | os.O_CREAT, 0o644)
        os.fchmod(file, 0o644)  # whatever the umask: the next user must be able to open it
        return file


def _take(file: int, name: str, progress: Progress, *, wait: bool) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        if not wait:
            raise InputError(
                f"--no-wait: another kernelbench run is using {name}; "
                "try again later, or leave the option out to wait for it"
            ) from error
        progress.say(f"Another kernelbench run is using {name}; waiting for it to end")
        fcntl.flock(file, fcntl.LOCK_EX)
