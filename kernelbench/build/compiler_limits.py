"""Limits on the memory and disk space of a compiler, so that an endless header fails only its own kernel."""

import os
import resource
from contextlib import suppress
from pathlib import Path

# Per process of a compiler: far more than a kernel needs. `#include "/dev/zero"` would take everything.
MEMORY_BYTES = 8 * 2**30
FILE_BYTES = 256 * 2**20  # per file that it writes, including its output
KEPT_BYTES = 2**20  # of its output, at the beginning and at the end

_ADVICE = {
    "out of memory allocating": f"a compiler may take {MEMORY_BYTES >> 30} GB; does it include an endless file?",
    "File size limit exceeded": f"a compiler's file may have {FILE_BYTES >> 20} MB; does it include an endless file?",
}


def limit_compiler(process: int) -> None:
    """Set both limits on a compiler that has just started, and so on its children. Lower limits are kept."""
    for which, most in ((resource.RLIMIT_DATA, MEMORY_BYTES), (resource.RLIMIT_FSIZE, FILE_BYTES)):
        with suppress(OSError):  # it has ended already
            soft, hard = resource.prlimit(process, which)
            if soft == resource.RLIM_INFINITY or soft > most:
                resource.prlimit(process, which, (most, hard))


def limit_advice(log: str) -> str:
    """Advice for a compiler that reached a limit; '' for one that did not."""
    return next((f"; {text}" for said, text in _ADVICE.items() if said in log), "")


def kept_output(path: Path) -> str:
    """The output of a compiler; if longer than twice KEPT_BYTES, its beginning and its end."""
    try:
        with path.open("rb") as file:
            text = file.read(2 * KEPT_BYTES)
            left_out = path.stat().st_size - 2 * KEPT_BYTES
            if left_out > 0:
                file.seek(-KEPT_BYTES, os.SEEK_END)
                text = text[:KEPT_BYTES] + f"\n.. {left_out} bytes left out ..\n".encode() + file.read(KEPT_BYTES)
    except OSError:  # its folder is gone
        return ""
    return text.decode(errors="replace")
