"""Every error that kernelbench raises on purpose. Nothing else may end a command.

KernelbenchError            shown as one message, never a traceback; its `exit_code` ends the command
+-- InputError              what the user wrote is wrong: option, suite, ledger, kernel folder    exit 2
|   +-- ProblemsError       several places at once, each with file and line                      exit 2
|   +-- OwnFileError        the .cu of `--cu`, or an option of its launch                        exit 2
+-- NoDevice                no CUDA device, driver or CuPy where one is needed                   exit 2
+-- NoCompiler              no nvcc where one is needed                                          exit 2
+-- ResultsError            a run on disk cannot be read or written                              exit 2
+-- Unsupported             an implementation refuses a case: the row shows the reason
+-- MissingLibrary          a peer's library is absent: the row is skipped with the reason
+-- NoCounters              hardware counters cannot be read here: those of the simulator stand alone
+-- BuildError              nvcc refused a kernel: the row shows command and first error
+-- PtxError                PTX that the simulator cannot read or run: the row shows line and reason
+-- DeviceError             a launch, allocation or library call failed on the device
    +-- DeviceLost          the context is poisoned: nothing can be measured in it any more
"""

import re
import shutil
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from click import unstyle

LEAST_ROOM = 2**24  # bytes; below this a compiler may have run out of room: its own files, deleted since, took the rest
# Words of a compiler that say what went wrong. `collect2: error: ld returned 1 exit status` does not.
_TOLD = re.compile(r"\b(?:error|fatal)\b(?!: ld returned)")


class KernelbenchError(Exception):
    """Base of all; `str(error)` is the whole message for the user."""

    exit_code = 1


class InputError(KernelbenchError):
    """An option, a suite, a ledger entry or a kernel folder is wrong."""

    exit_code = 2


@dataclass(frozen=True)
class Problem:
    """One mistake in a file: `suites/softmax.yaml:12: unknown key 'sqe' under 'axes'; ...`."""

    path: Path
    line: int  # counted from 1; 0 where the whole file is meant
    text: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else f"{self.path}"
        return f"{place}: {self.text}"


class ProblemsError(InputError):
    """All mistakes found in one reading, in the order of their lines; those of one line as they were found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda one: (one.path, one.line)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class OwnFileError(InputError):
    """A mistake in the .cu of `--cu` or in its options: it ends the command, because every row would repeat it."""


class NoDevice(KernelbenchError):
    exit_code = 2


class NoCompiler(KernelbenchError):
    exit_code = 2


class ResultsError(KernelbenchError):
    exit_code = 2


class RunWarning(UserWarning):
    """A run on disk can be read, but part of it is missing; shown as one line, and the command goes on."""


class Unsupported(KernelbenchError):
    """Raised by a plan or a peer: `Unsupported("columns must be at most 1024, got 4096")`."""


class MissingLibrary(KernelbenchError):
    """Raised by a peer whose library cannot be imported; the text says how to install it."""


class NoCounters(KernelbenchError):
    """Hardware counters cannot be read; the text says why, and what to do about it."""


# Errors of the operation or of the simulator: after these no implementation can be measured.
EVERYBODYS = (InputError, NoCompiler)


class BuildError(KernelbenchError):
    """nvcc or ptxas failed. `command` repeats it; `log` is all that the compiler said."""

    def __init__(self, message: str, command: Sequence[str], log: str) -> None:
        super().__init__(message)
        self.command = tuple(command)
        self.log = log


class PtxError(KernelbenchError):
    """PTX is malformed, too large, or has an instruction that the simulator lacks: `line 12: ...`."""


class DeviceError(KernelbenchError):
    """A device call failed for one implementation; the others can go on."""


class DeviceLost(DeviceError):
    """The device context is unusable (illegal address, launch failure, ...)."""


def words_of(error: BaseException) -> str:
    """The message of an error; '' where str() fails, as it may for a class of the user's."""
    try:
        return str(error)
    except Exception:
        return ""


def with_cause(error: BaseException) -> str:
    """The message of a library's error, and what it was raised from in the first place."""
    root, seen = error, {id(error)}
    while root.__cause__ is not None and id(root.__cause__) not in seen:  # an error may be raised from itself
        root = root.__cause__
        seen.add(id(root))
    said, cause = words_of(error), words_of(root)
    return said if cause in said else f"{said}; caused by {type(root).__name__}: {cause}"


def reason_of(error: BaseException) -> str:
    """An error as the reason of a row: our own by its message, any other by type and message, on one plain line."""
    if isinstance(error, KernelbenchError):
        return words_of(error)
    kind = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
    return f"{kind}: {' '.join(unstyle(words_of(error)).split())}"


def full_disk_advice(log: str, folder: Path) -> str:
    """What to do where a compiler found no room for its files in `folder`; '' where it was no lack of room. Its log
    lies there, too, and may be empty for the same reason."""
    advice = "; free disk space, or name another folder in KERNELBENCH_CACHE"
    if "No space left on device" in log or "Disk quota exceeded" in log:
        return advice
    full = not _TOLD.search(log) and _free_bytes(folder) < LEAST_ROOM
    return f"; the disk of {folder} is full or nearly so{advice}" if full else ""


def _free_bytes(folder: Path) -> float:
    try:
        return shutil.disk_usage(folder).free
    except OSError:  # the folder is gone, which is no lack of room
        return inf


def raised_at(error: BaseException, path: Path) -> int:
    """The line of the Python file `path` at which an error was raised; 0 if there is none."""
    file = str(path.absolute())  # as Python names the files of modules
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno or 0
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] or 0 if lines else 0
