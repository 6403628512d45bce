"""`python -m kernelbench.cli.job_server PARENT FOLDER`: runs the jobs of a fleet's worker, one after the other.

Each line of input is a job, as JSON: its name, and the words of its command line. What the command prints goes to
FOLDER/NAME.log; its exit code is the answer, a line too. One process does many jobs because it takes seconds to start,
to open a GPU and to import PyTorch. It ends when a command fails, and when no job has come for a while.

A worker may be killed at any moment. What it started must not use the GPU beside its successor, so the system is asked
to send SIGTERM when the process PARENT ends, upon which a run keeps its finished cases and ends.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelbench.cli.commands import cli
from kernelbench.cli.invoking import invoke
from kernelbench.core import places, streams
from kernelbench.measure.opening import bench_kept
from kernelbench.planning.user_code import end_process

IDLE_S = 10.0  # without a job, after which the process ends
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for the signal, then do jobs; the exit code is that of the last one."""
    parent, folder = int(sys.argv[1]), Path(sys.argv[2])
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # it ended before it was asked for
        sys.exit(128 + signal.SIGTERM)

    jobs, answers = os.dup(0), os.dup(1)  # neither is for what the jobs start
    _replace(0, os.open(os.devnull, os.O_RDONLY))
    streams.prepare()
    places.share_cache()
    code = 0
    with bench_kept(), os.fdopen(jobs) as lines:
        while code in (0, 1) and select.select([lines], [], [], IDLE_S)[0] and (line := lines.readline()):
            job = json.loads(line)
            with _printed_to(folder / f"{job['name']}.log"):
                sys.argv[1:] = job["words"]  # which a run records
                code = streams.exit_code(invoke(cli, job["words"]))
            os.write(answers, f"{code}\n".encode())
    atexit._run_exitfuncs()
    end_process(code)


@contextmanager
def _printed_to(log: Path) -> Iterator[None]:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    for number in (1, 2):
        os.dup2(file, number)
    os.close(file)
    yield
    sys.stdout.flush()
    sys.stderr.flush()


def _replace(number: int, file: int) -> None:
    os.dup2(file, number)
    os.close(file)


if __name__ == "__main__":
    main()
