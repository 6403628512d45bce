"""CUDA errors as errors of kernelbench, by whether the context stays usable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cupy.cuda.memory import OutOfMemoryError
from cupy_backends.cuda.api.driver import CUDADriverError
from cupy_backends.cuda.api.runtime import CUDARuntimeError

from kernelbench.core.errors import DeviceError, DeviceLost, KernelbenchError, with_cause

# After these the context answers every further call with the same error (CUDA runtime API, "Error handling").
_STICKY = ("IllegalAddress", "LaunchFail", "LAUNCH_FAILED", "ILLEGAL", "Misaligned", "MISALIGNED", "IllegalInstruction",
           "HardwareStack", "InvalidPc", "INVALID_PC", "Assert", "ASSERT", "LaunchTimeout",
           "LAUNCH_TIMEOUT")  # fmt: skip
# The same as cudaGetErrorString says it, which libraries repeat.
_STICKY_TEXTS = ("illegal memory access", "unspecified launch failure", "misaligned address", "illegal instruction",
                 "device-side assert triggered")  # fmt: skip


@contextmanager
def cuda_errors(doing: str) -> Iterator[None]:
    """Turn CUDA errors into DeviceError or DeviceLost, with `doing` in the message."""
    try:
        yield
    except OutOfMemoryError as error:
        raise DeviceError(f"out of GPU memory while {doing}: {error}") from error
    except (CUDADriverError, CUDARuntimeError) as error:
        text = str(error)
        lost = any(word in text for word in (*_STICKY, *_STICKY_TEXTS))
        raise (DeviceLost if lost else DeviceError)(f"{text} while {doing}") from error


def library_call(call: Callable[[], Any], doing: str) -> Callable[[], Any]:
    """`call`, with errors of a library turned into DeviceError, which costs only the rows of that peer."""

    def guarded() -> Any:
        try:
            with cuda_errors(doing):
                return call()
        except KernelbenchError:
            raise
        except Exception as error:  # a library's own errors have no common base
            said = with_cause(error)
            lost = any(word in said for word in _STICKY_TEXTS)
            raise (DeviceLost if lost else DeviceError)(f"{type(error).__name__} while {doing}: {said}") from error

    return guarded
