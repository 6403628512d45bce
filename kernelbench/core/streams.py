"""Standard input, output and error, whatever the shell made of them: closed, full, or no longer read by anybody."""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, TypeVar

from kernelbench.core.errors import InputError

READER_GONE = 141  # 128 + SIGPIPE, as shells count
_Item = TypeVar("_Item")


class Output(io.FileIO):
    """A descriptor that keeps its first error and raises none: output that nobody can read stops no measurement."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        while self.error is None:
            try:
                written = super().write(data)
            except OSError as error:
                self.error = error
                break
            if written is not None:
                return written
            select.select([], [self], [])  # a pipe that another program made non-blocking
        return memoryview(data).nbytes


def prepare() -> None:
    """Have all three streams, and none that raises: for the start of a command.

    /dev/null stands in for one that is closed. Otherwise the next file opened takes its number, and gets what is
    printed. Characters that the encoding of an output does not have are written as escapes.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest number that is free
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 - open to the end, as the other two
    sys.stdout, sys.stderr = _kept(sys.stdout, 1), _kept(sys.stderr, 2)


def _kept(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", errors="backslashreplace")
    if type(stream) is not io.TextIOWrapper or stream.fileno() != number or _output(stream):
        return stream  # of a test or of a program that calls this one
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(Output(number, "w", closefd=False)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering or stream.write_through,
    )


def _output(stream: TextIO) -> Output | None:
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return raw if isinstance(raw, Output) else None


def _lost() -> OSError | None:
    """Why standard output could not be written, if so."""
    sys.stdout.flush()
    output = _output(sys.stdout)
    return output.error if output else None


def while_read(items: Iterable[_Item]) -> Iterator[_Item]:
    """The items, as long as what is printed of them can be written: for commands that only print."""
    for item in items:
        yield item
        if _lost():
            return


def exit_code(code: int) -> int:
    """A command's exit code, or the one that says that its output was lost.

    141 where the reader is gone, 2 with a message where standard output cannot be written. A command that was stopped
    by a signal keeps its code. What standard error cannot take changes nothing.
    """
    error = _lost()
    if error is None or code >= 128:
        return code
    if isinstance(error, BrokenPipeError):
        return READER_GONE
    print(f"output: {error.strerror}", file=sys.stderr)
    return InputError.exit_code
