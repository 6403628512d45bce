"""One run at a time on a GPU: two that measure side by side measure each other."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kernelbench import places
from kernelbench.errors import InputError, ResultsError
from kernelbench.progress import Progress


@contextmanager
def gpu_to_itself(device: Mapping[str, Any], progress: Progress, *, wait: bool = True) -> Iterator[None]:
    """Hold the GPU that `device` describes (`pci_bus_id`, else `name`) against other runs of kernelbench.

    Waits for another run that holds it, and says so; InputError if it must not. The lock is the operating system's,
    on a file of the cache folder: it ends with the process, however that ends.
    """
    which = str(device.get("pci_bus_id") or device["name"])
    path = places.cache() / f"{re.sub(r'[^a-z0-9]+', '-', f'gpu {which}'.lower())}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise ResultsError(f"{path}: cannot be made to keep other runs off the GPU: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if not wait:
                raise InputError(
                    f"--no-wait: another kernelbench run is using {device['name']}; "
                    "try again later, or leave the option out to wait for it"
                ) from error
            progress.say(f"Another kernelbench run is using {device['name']}; waiting for it to end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
