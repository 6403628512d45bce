"""One run at a time on a GPU."""

import fcntl
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.devices.gpu_lock import gpu_to_itself

GPU = {"name": "NVIDIA H200", "pci_bus_id": "0000:3B:00.0"}


class Said:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(places, "locks", lambda: tmp_path)
    return tmp_path


def lock_in(folder: Path) -> Path:
    (found,) = folder.glob("*.lock")
    return found


def test_a_second_run_says_that_it_waits_and_begins_when_the_first_ends() -> None:
    said, order = Said(), []

    def second() -> None:
        with gpu_to_itself(GPU, said):  # type: ignore[arg-type]
            order.append("second")

    with gpu_to_itself(GPU, Said()):  # type: ignore[arg-type]
        thread = threading.Thread(target=second)
        thread.start()
        until = time.monotonic() + 10
        while not said.lines and time.monotonic() < until:
            time.sleep(0.01)
        order.append("first")
    thread.join(10)
    assert said.lines == ["Another kernelbench run is using NVIDIA H200; waiting for it to end"]
    assert order == ["first", "second"]


def test_with_no_wait_a_second_run_ends_with_what_to_do() -> None:
    with gpu_to_itself(GPU, Said()):  # type: ignore[arg-type]
        refused = pytest.raises(InputError, match="another kernelbench run is using NVIDIA H200")
        with refused, gpu_to_itself(GPU, Said(), wait=False):  # type: ignore[arg-type]
            pass
        with gpu_to_itself({**GPU, "pci_bus_id": "0000:5E:00.0"}, Said(), wait=False):  # type: ignore[arg-type]
            pass  # another GPU of the same kind
    with gpu_to_itself(GPU, Said(), wait=False):  # type: ignore[arg-type]
        pass


HOLDER = """
import sys, time
from kernelbench.devices.gpu_lock import gpu_to_itself
with gpu_to_itself({"name": "NVIDIA H200", "pci_bus_id": "0000:3B:00.0"}, None):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_holder_that_is_killed_gives_the_gpu_back(temporary: Path) -> None:
    environment = {**os.environ, "KERNELBENCH_LOCKS": str(temporary), "TMPDIR": "/another"}
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True, env=environment)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(InputError), gpu_to_itself(GPU, Said(), wait=False):  # type: ignore[arg-type]
        pass
    holder.kill()
    holder.wait(10)
    with gpu_to_itself(GPU, Said(), wait=False):  # type: ignore[arg-type]
        pass


def test_the_lock_can_be_opened_by_every_user_whatever_the_umask(temporary: Path) -> None:
    before = os.umask(0o077)
    try:
        with gpu_to_itself(GPU, Said()):  # type: ignore[arg-type]
            assert stat.S_IMODE(lock_in(temporary).stat().st_mode) == 0o644
    finally:
        os.umask(before)


def test_a_lock_of_another_user_needs_no_right_to_write(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gpu_to_itself(GPU, Said()):  # type: ignore[arg-type]
        pass
    really = os.open

    def of_another_user(path: Any, flags: int, *rest: Any) -> int:
        if str(path).endswith(".lock") and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise PermissionError(13, "Permission denied")  # what a shared folder's file of another user answers
        return really(path, flags, *rest)

    monkeypatch.setattr(os, "open", of_another_user)
    said = Said()
    with gpu_to_itself(GPU, said):  # type: ignore[arg-type]
        refused = pytest.raises(InputError, match="another kernelbench run")
        with refused, gpu_to_itself(GPU, Said(), wait=False):  # type: ignore[arg-type]
            pass
    assert said.lines == []


@pytest.mark.parametrize("what", ["link", "no folder", "no locks"])
def test_where_there_can_be_no_lock_the_run_goes_on_and_says_so(
    what: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gpu_to_itself(GPU, Said()):  # type: ignore[arg-type]
        path = lock_in(temporary)
    if what == "link":
        path.rename(temporary / "elsewhere")
        path.symlink_to(temporary / "elsewhere")
    elif what == "no folder":
        monkeypatch.setattr(places, "locks", lambda: temporary / "gone")
    else:
        monkeypatch.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(37, "No locks available")))
    said, measured = Said(), False
    with gpu_to_itself(GPU, said):  # type: ignore[arg-type]
        measured = True
    assert measured
    (line,) = said.lines
    assert line.startswith("Other runs of kernelbench cannot be kept off NVIDIA H200 (")
    assert line.endswith("name a writable folder in KERNELBENCH_LOCKS")


def test_what_goes_wrong_inside_is_not_taken_for_the_lock() -> None:
    with pytest.raises(OSError, match="disk"), gpu_to_itself(GPU, Said()):  # type: ignore[arg-type]
        raise OSError("disk")
