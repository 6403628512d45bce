"""Functions of a user's kernel folder: what they raise becomes one line that names their file.

kernelbench's own kernels are tested; a mistake in them may show its traceback.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

from kernelbench.errors import DeviceError, InputError, KernelbenchError, Problem, raised_at
from kernelbench.records import Implementation, Operation


def guarded_operation(operation: Operation, path: Path) -> Operation:
    """The operation with all of its functions guarded; without them no case can be run, so they raise InputError."""
    names = ("arrays", "reference", "bytes_moved", "flops", "tolerance", "split", "large")
    return replace(operation, **_guarded(operation, names, path, InputError))


def guarded_implementation(implementation: Implementation, path: Path) -> Implementation:
    """The implementation with its functions guarded; they raise DeviceError, which costs its own rows."""
    return replace(implementation, **_guarded(implementation, ("plan", "prepare", "reference"), path, DeviceError))


def _guarded(record: Any, names: tuple[str, ...], path: Path, kind: type[KernelbenchError]) -> dict[str, Any]:
    found = {name: getattr(record, name) for name in names}
    return {name: _guard(function, name, path, kind) for name, function in found.items() if function is not None}


def _guard(function: Callable[..., Any], name: str, path: Path, kind: type[KernelbenchError]) -> Callable[..., Any]:
    @wraps(function, assigned=())
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except KernelbenchError:
            raise
        except (Exception, SystemExit) as error:
            text = f"its {name} raised {type(error).__name__}: {error}"
            raise kind(str(Problem(path, raised_at(error, path), text))) from error

    return call
