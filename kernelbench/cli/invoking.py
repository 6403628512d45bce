"""How a command ends: with its own exit code, or with one message on stderr and the code of the error."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

from kernelbench.cli.stopping import stop_on_signals
from kernelbench.cli.terminal import warn
from kernelbench.core.errors import InputError, KernelbenchError, RunWarning


def invoke(group: click.Group, arguments: Sequence[str]) -> int:
    """Run a command and return its exit code. click's `main` returns 1 for a closed pipe, our code of a failed row."""
    kept = " Finished cases are kept; the same command with --resume goes on." if arguments[:1] == ["run"] else ""
    kept = " Entries of finished cases are kept." if arguments[:1] == ["tune"] else kept
    with stop_on_signals(f"\nStopped at once.{kept}\n") as stop, _run_warnings_shown():
        code = 0
        with suppress(KeyboardInterrupt, click.Abort):
            stop.begin()
            code = _ended(group, arguments)
            sys.stdout.flush()  # may wait for the reader
            stop.raising = False
            if stop.signal is None:
                return code
        warn(f"\nStopped.{kept}")
        return stop.exit_code


def _ended(group: click.Group, arguments: Sequence[str]) -> int:
    try:
        with group.make_context("kernelbench", list(arguments) or ["--help"]) as context:
            return group.invoke(context) or 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        warn(f"{_usage(error)}Error: {error.format_message()}")
        return InputError.exit_code
    except KernelbenchError as error:
        warn(f"{error}")
        return error.exit_code
    except OSError as error:  # from a disk, a terminal or a process, which no other code explained
        warn(os_error_text(error))
        return InputError.exit_code
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "new thread" not in str(error):
            raise
        limits = "the limit on memory (`ulimit -v`) or on processes (`ulimit -u`)"
        warn(f"{str(error) or 'out of memory'}: raise {limits}, if one is low")
        return InputError.exit_code


def os_error_text(error: OSError) -> str:
    """The system call that was refused, as in `/tmp/x: No space left on device`."""
    return f"{error.filename or 'output'}: {error.strerror or error}"


@contextmanager
def _run_warnings_shown() -> Iterator[None]:
    """Show each RunWarning once, as a line of its own."""
    shown: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", RunWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, RunWarning):
                others(message, category, *place, **more)
            elif str(message) not in shown:
                shown.add(str(message))
                warn(f"warning: {message}")

        warnings.showwarning = show
        yield


def _usage(error: click.ClickException) -> str:
    """How the command is used, where the mistake is one of usage."""
    context = getattr(error, "ctx", None)
    if context is None:
        return ""
    return f"{context.get_usage()}\nTry '{context.command_path} {context.help_option_names[0]}' for help.\n\n"
