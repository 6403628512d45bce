"""Standard input, output and error, even if they are closed, full, or no longer read."""

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
    """A descriptor that keeps its first error instead of raising it: a lost output must not stop a measurement."""

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
    """Make all three streams usable at the start of a command, so that none raises.

    /dev/null replaces a closed stream; else the next opened file would get its number, and what is printed. Characters
    that an output cannot encode are written as escapes.
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
        return stream  # belongs to a test, or to a program that calls this one
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
    """The error of standard output, if it could not be written."""
    sys.stdout.flush()
    output = _output(sys.stdout)
    return output.error if output else None


def while_read(items: Iterable[_Item]) -> Iterator[_Item]:
    """The items, until standard output can no longer be written: for commands that only print."""
    for item in items:
        yield item
        if _lost():
            return


def exit_code(code: int) -> int:
    """The exit code of a command: `code`, or another one if its output was lost.

    141 if the reader is gone; 2, with a message, if standard output cannot be written. A command that was stopped by a
    signal keeps its code. Errors of standard error are ignored.
    """
    error = _lost()
    if error is None or code >= 128:
        return code
    if isinstance(error, BrokenPipeError):
        return READER_GONE
    print(f"output: {error.strerror}", file=sys.stderr)
    return InputError.exit_code
