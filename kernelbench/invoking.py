"""How a command ends: with its own exit code, or with one message on stderr and the code of the error."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kernelbench.errors import InputError, KernelbenchError
from kernelbench.texts import printable

INTERRUPTED = 130  # 128 + SIGINT, as shells count


def invoke(group: click.Group, arguments: Sequence[str]) -> int:
    """The exit code of a command. Not click's own `main`, which would end a closed pipe with 1, a failed row."""
    try:
        with group.make_context("kernelbench", list(arguments)) as context:
            return group.invoke(context) or 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        _say(f"{_usage(error)}Error: {error.format_message()}")
        return InputError.exit_code
    except KernelbenchError as error:
        _say(f"{error}")
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say("\nStopped. Finished cases are kept; the same command with --resume goes on.")
        return INTERRUPTED


def _usage(error: click.ClickException) -> str:
    """How the command is used, where the mistake is one of usage."""
    context = getattr(error, "ctx", None)
    if context is None:
        return ""
    return f"{context.get_usage()}\nTry '{context.command_path} {context.help_option_names[0]}' for help.\n\n"


def _say(text: str) -> None:
    """Messages repeat what files and options hold."""
    click.echo(printable(text), err=True)
