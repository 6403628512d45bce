"""The command line on a fake device, with what a machine can do to a process: a full disk, a read-only folder, being
killed in the middle of a write."""

import builtins
import hashlib
import io
import os
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from kernelbench import build, devices
from kernelbench.cli import commands
from kernelbench.core import places
from kernelbench.core.records import Arrays
from kernelbench.measure import gpu_process
from kernelbench.measure.bench import InProcessBench
from kernelbench.planning.catalog import load_catalog
from kernelbench.planning.user_code import end_process
from kernelbench.report import style
from kernelbench.walks import run as run_walk
from tests.build.conftest import fake_compiler
from tests.conftest import LIMITS, softmax, write_kernels
from tests.fake_gpu import FakeDevice

# Once, before processes are forked from this one.
for name in (*style.FOR_COMPARISONS, *style.FOR_PAGES, "kernelbench.suite"):
    import_module(name)


@dataclass(frozen=True)
class Hooks:
    root: Path = Path()
    gpu: str = "Fake GPU"  # its name, by which it is locked
    slow_s: float = 0.0  # what each run of a kernel takes
    stuck: int = 0  # in the case of so many columns `other` is stuck in code that no signal interrupts
    room: int | None = None  # bytes that still fit below `where`
    where: str = "run"
    error: int = 28  # the error where no more fit
    streams: Mapping[int, str] = field(default_factory=dict)  # what became of 0, 1 or 2: "closed", "full", "unread"
    kill_at: int | None = None  # the write at which the process is killed, half of it done


def main(arguments: list[str], hooks: Hooks, files: tuple[Path, Path]) -> None:
    """Never returns."""
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    for number, state in hooks.streams.items():
        _spoil(number, state)
    sys.argv = ["kernelbench", *arguments]
    _fake(hooks)
    if hooks.room is not None or hooks.kill_at is not None:
        _Disk(hooks).install()
    try:
        commands.main()
    except SystemExit as ended:
        sys.stdout.flush()
        end_process(int(ended.code or 0))
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        end_process(70)


def _spoil(number: int, state: str) -> None:
    """As a shell does it: with `>&-`, `>/dev/full`, or a reader that is gone."""
    if state == "closed":
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)  # as Python starts then
        return
    reader, writer = os.pipe()
    os.dup2(os.open("/dev/full", os.O_WRONLY) if state == "full" else writer, number)
    os.close(reader)
    os.close(writer)


def _fake(hooks: Hooks) -> None:
    root = hooks.root
    if not (root / "kernels").exists():
        write_kernels(root)
        (root / "published").mkdir()
        shutil.copy(places.LEDGER / "softmax-fusion.yaml", root / "published")
    compiler = fake_compiler(root, root / "nvcc.log")

    def slowly(arrays: Arrays) -> None:
        if hooks.slow_s:  # a sleep of 0 s gives the CPU away
            time.sleep(hooks.slow_s)
        softmax(arrays)

    def stuck(arrays: Arrays) -> None:
        if arrays["x"].shape[-1] == hooks.stuck:
            (root / "stuck").touch()
            hashlib.pbkdf2_hmac("sha256", b"", b"", 40_000_000)
        slowly(arrays)

    device = FakeDevice({"good": (slowly, 50e-6, 5e-6), "other": (stuck, 50e-6, 5e-6)})
    device.name = hooks.gpu
    changes: tuple[tuple[Any, str, Any], ...] = (
        (places, "runs", lambda: root / "runs"),
        (places, "RECORDED", root / "recorded"),
        (places, "cache", lambda: root / "cache"),
        (places, "KERNELS", root / "kernels"),
        (places, "SPECIMENS", root / "specimens"),
        (places, "LEDGER", root / "published"),
        (devices, "open_device", lambda name: device),
        (
            gpu_process,
            "WorkerBench",
            lambda opener, own, _: InProcessBench(opener(), load_catalog(specimens=True, own=own)),
        ),
        (build, "find_compiler", lambda nvcc=None: compiler),
        (run_walk, "measured_limits", lambda *arguments: LIMITS),
    )
    for module, name, value in changes:
        setattr(module, name, value)


class _Disk:
    """Files below a folder that come to lie on a disk with little room, or whose writing ends the process."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks, self._folder = hooks, str(hooks.root / hooks.where)
        self._open, self._room, self._writes = io.open, hooks.room, 0

    def install(self) -> None:
        builtins.open = io.open = self.open  # type: ignore[assignment]

    def open(self, file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if not isinstance(file, int) and str(file).startswith(self._folder) and set(mode) & set("wax"):
            if self._room is not None and self._room <= 0:
                raise OSError(self._hooks.error, os.strerror(self._hooks.error), str(file))
            if "b" in mode:
                return io.BufferedWriter(_File(self, file, mode.replace("b", ""), opener=options.get("opener")))
        return self._open(file, mode, *rest, **options)

    def taken(self, size: int) -> int:
        """How much of a write is done."""
        self._writes += 1
        if self._writes == self._hooks.kill_at:
            return -(size // 2) - 1
        if self._room is None:
            return size
        if self._room <= 0:
            raise OSError(self._hooks.error, os.strerror(self._hooks.error))
        fits = min(size, self._room)
        self._room -= fits
        return fits


class _File(io.FileIO):
    def __init__(self, disk: _Disk, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._disk = disk

    def write(self, data: Any) -> int:
        taken = self._disk.taken(len(data))
        if taken < 0:
            super().write(data[: -taken - 1])
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write(data[:taken])
