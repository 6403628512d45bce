"""Turns wrong results of an operation's functions, and errors of functions in a user's kernel folder, into one line
that names their file."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

from kernelbench.core.errors import (
    DeviceError,
    InputError,
    KernelbenchError,
    MissingLibrary,
    Problem,
    Unsupported,
    raised_at,
    words_of,
)
from kernelbench.core.records import Implementation, Operation
from kernelbench.planning.definition_checks import RESULTS
from kernelbench.planning.user_code import LIMIT_S, limit_user_code

_OF_A_ROW = (Unsupported, MissingLibrary, DeviceError)
_LONG = ("prepare", "reference")  # these work on the arrays of a case, so they have no time limit


def guarded_operation(operation: Operation, path: Path, *, own: bool) -> Operation:
    """The operation, with the results of all its functions checked. They raise InputError, because no case can be run
    without them. `own`: it is the user's, and errors that its functions raise become InputError too."""
    for name, problem in RESULTS.items():  # the arrays first: other checks need them
        if function := getattr(operation, name):
            passed = (KernelbenchError, MemoryError) if name == "reference" else (KernelbenchError,)
            call = _guard(function, name, path, InputError, passed) if own else function
            change: dict[str, Any] = {name: _checked(call, name, path, partial(problem, operation))}
            operation = replace(operation, **change)
    return operation


def guarded_implementation(implementation: Implementation, path: Path) -> Implementation:
    """The implementation with its functions guarded; they raise DeviceError, which costs only its own rows."""
    found = {name: getattr(implementation, name) for name in ("plan", "prepare", "reference")}
    guards: dict[str, Any] = {
        name: _guard(one, name, path, DeviceError, _OF_A_ROW) for name, one in found.items() if one is not None
    }
    if (tunable := implementation.tunable) is not None:
        functions = {name: getattr(tunable, name) for name in ("layout", "candidates")}
        guarded: dict[str, Any] = {
            name: _guard(one, name, path, DeviceError, _OF_A_ROW) for name, one in functions.items() if one is not None
        }
        guards["tunable"] = replace(tunable, **guarded)
    return replace(implementation, **guards)


def _guard(
    function: Callable[..., Any],
    name: str,
    path: Path,
    kind: type[KernelbenchError],
    passed: tuple[type[Exception], ...],
) -> Callable[..., Any]:
    """The function, with all errors turned into `kind`, except Ctrl-C and the types in `passed`."""

    @wraps(function, assigned=())
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            with limit_user_code(None if name in _LONG else LIMIT_S):
                return function(*arguments, **options)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, *passed)):
                raise
            text = f"its {name} raised {type(error).__name__}: {words_of(error)}"
            raise kind(str(Problem(path, raised_at(error, path), text))) from error

    return call


def _checked(function: Callable[..., Any], name: str, path: Path, problem_of: Callable[..., str]) -> Callable[..., Any]:
    @wraps(function, assigned=())
    def call(*arguments: Any) -> Any:
        found = function(*arguments)
        if problem := problem_of(found, *arguments):
            raise InputError(str(Problem(path, 0, f"its {name}: {problem}")))
        return found

    return call
