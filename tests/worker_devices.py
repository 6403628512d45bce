"""Devices for a worker's process: kernels that take it down, and devices that do not open."""

import logging
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelbench.core.errors import DeviceError, DeviceLost, NoDevice
from kernelbench.core.records import Arrays, Implementation
from tests.fake_gpu import FakeDevice, raising, softmax


def hangs(arrays: Arrays) -> None:
    time.sleep(1000)


def crashes(arrays: Arrays) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def exits(arrays: Arrays) -> None:
    os._exit(3)


loses = raising(DeviceLost("launching loses: an illegal memory access was encountered"))
refuses = raising(DeviceError("launching refuses: too many resources requested for launch"))


class Later:
    """Right at first, and then what `then` does: in the rounds, not in the verification."""

    def __init__(self, then: Callable[[Arrays], None]) -> None:
        self.then, self.runs = then, 0

    def __call__(self, arrays: Arrays) -> None:
        self.runs += 1
        (softmax if self.runs < 10 else self.then)(arrays)


KERNELS = {"good": softmax, "other": softmax, "hangs": hangs, "crashes": crashes, "exits": exits, "loses": loses}
KERNELS |= {"refuses": refuses, "hangs_later": Later(hangs), "loses_later": Later(loses)}


def device() -> FakeDevice:
    return FakeDevice({name: (kernel, 50e-6, 5e-6) for name, kernel in KERNELS.items()})


SHARED: list[Any] = []


def with_semaphore() -> FakeDevice:
    SHARED.append(multiprocessing.get_context("spawn").Lock())
    warnings.warn("this library has something to say", stacklevel=1)
    logging.getLogger("library").warning("and to log")
    return device()


class Compiling(FakeDevice):
    """Whose library compiles for two seconds when it is prepared for the first time."""

    compiled = False

    def executable(self, implementation: Implementation, *arguments: Any) -> Callable[[], Any]:
        if not self.compiled:
            self.compiled = True
            time.sleep(2)
        return super().executable(implementation, *arguments)


def compiling() -> FakeDevice:
    return Compiling({"good": (softmax, 50e-6, 5e-6)})


class Leaking(FakeDevice):
    """Whose library keeps 3 GiB per case."""

    kept = 0

    def free_bytes(self) -> int:
        return 80 * 2**30 - self.kept

    def release(self) -> None:
        self.kept += 3 * 2**30


def leaking() -> FakeDevice:
    return Leaking({"good": (softmax, 50e-6, 5e-6)})


def none() -> FakeDevice:
    raise NoDevice("No CUDA device: none here")


def dies() -> FakeDevice:
    os._exit(7)


def without_memory() -> FakeDevice:
    """Whose arrays take the process down before anybody's turn has come."""
    made = device()
    made.allocate = lambda specs: os._exit(9)  # type: ignore[method-assign,assignment,return-value]
    return made


def without_memory_once() -> FakeDevice:
    """The same, in the first process alone: the file that $ONCE names says that there was one."""
    mark = Path(os.environ["ONCE"])
    if mark.exists():
        return device()
    mark.touch()
    return without_memory()
