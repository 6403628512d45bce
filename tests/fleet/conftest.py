"""Fleets as processes of their own, and what is left of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.processes import ROOT

pytest.importorskip("distributed", reason="the extra fleet is not installed")
import psutil

SECONDS = 200  # for a fleet, on a machine that is busy with other things
LOCAL = ("--dashboard-address", "127.0.0.1:0", "--no-dashboard")


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def tls_options(key: str) -> list[str]:
    return [word for option in ("--tls-ca-file", "--tls-cert", "--tls-key") for word in (option, key)]


def dask(name: str, *words: str, **variables: str) -> subprocess.Popen[str]:
    """A process of `dask scheduler` or `dask worker`."""
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{name}", *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | variables,
    )  # fmt: skip


class Fleets:
    """Starts `kernelbench` in an empty folder; ends whatever is left of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._started = folder, []

    def start(self, *words: str, program: Sequence[str] = ("-m", "kernelbench")) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *program, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)}, start_new_session=True,
        )  # fmt: skip
        self._started.append(process)
        return process

    def run(self, *words: str) -> tuple[int, str, str]:
        """Exit code, output and messages."""
        process = self.start(*words)
        out, messages = process.communicate(timeout=SECONDS)
        return process.returncode, out, messages

    def left(self) -> list[psutil.Process]:
        """Processes of this folder's fleets that still run."""
        mine = str(self.folder)
        found = []
        for one in psutil.process_iter(["cmdline"]):
            if any(mine in word for word in one.info["cmdline"] or ()) and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
        return found

    def end(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.communicate()
        for one in self.left():
            one.kill()


@pytest.fixture
def fleets(tmp_path: Path) -> Iterator[Fleets]:
    found = Fleets(tmp_path)
    yield found
    found.end()


def measuring(fleets: Fleets) -> Sequence[psutil.Process]:
    """The `kernelbench run` processes that workers have started."""
    return [one for one in fleets.left() if "kernelbench.fleet.child" in one.cmdline()]
