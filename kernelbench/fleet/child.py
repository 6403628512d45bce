"""`python -m kernelbench.fleet.child PARENT run ..`: the command line, which stops when the process PARENT ends.

A worker may be killed at any moment. What it started must not use the GPU beside its successor, so the system is asked
to send SIGTERM, upon which a run keeps its finished cases and ends.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for the signal, then run the command that follows PARENT."""
    parent = int(sys.argv.pop(1))
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # it ended before it was asked for
        sys.exit(128 + signal.SIGTERM)

    runpy.run_module("kernelbench", run_name="__main__")


if __name__ == "__main__":
    main()
