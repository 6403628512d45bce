"""Where faults are played: kernelbench started as a process, on a fake device, the simulator or a GPU, and what it
left on disk."""

import csv
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from kernelbench.runs.results import RESULTS_FILE
from kernelbench.runs.row_checks import read_cells
from tests.processes import ROOT
from tests.reliability import child

FAKE, SIMULATOR, CUDA = "fake device", "simulator", "cuda"
LONGEST_S = 240.0  # of one command
COLUMNS = (32, 64, 128, 256, 512, 1024)  # of the suite's cases
SUITE = """\
title: A small suite
operation: softmax
shape: [{rows}, columns]
axes: {{columns: {columns}}}
implementations: [{names}]
baseline: {baseline}
"""
Rows = Mapping[tuple[str, ...], tuple[str, ...]]  # cells of results.csv by case, implementation, cache and method


@dataclass(frozen=True)
class Done:
    code: int  # below 0: the signal that ended it
    out: str
    err: str


class Process(Protocol):
    pid: int

    def wait(self) -> Done: ...


@dataclass(frozen=True)
class Stage:
    """`root` is a folder of this fault's own, `cache` one of compiled kernels, `moments` how often what is done at
    random moments is done."""

    kind: str
    root: Path
    cache: Path
    moments: int = 20

    @property
    def out(self) -> Path:
        return self.root / "run"

    @property
    def names(self) -> tuple[str, str]:
        return ("good", "other") if self.kind == FAKE else ("naive", "tree_shuffle")

    def suite(self, *added: str) -> Path:
        path = self.root / "small.yaml"
        names = ", ".join((*self.names, *added))
        rows = 4 if self.kind == FAKE else 64
        path.write_text(SUITE.format(rows=rows, columns=list(COLUMNS), names=names, baseline=self.names[0]))
        return path

    def run(self, *options: Any, hooks: child.Hooks | None = None, **how: Any) -> Done:
        """`kernelbench run` of the suite into `out`, to its end."""
        return self.start(*options, hooks=hooks, **how).wait()

    def start(self, *options: Any, hooks: child.Hooks | None = None, **how: Any) -> Process:
        device = {FAKE: "cuda", SIMULATOR: "simulated", CUDA: "cuda"}[self.kind]
        command = ["run", self.suite(), "--device", device, "--quick", "--no-report"]
        where = [] if "--out" in options else ["--out", self.out]
        return self.command(*command, *where, *options, hooks=hooks, **how)

    def command(self, *arguments: Any, hooks: child.Hooks | None = None, **how: Any) -> Process:
        """Any command of kernelbench."""
        words = [str(one) for one in arguments]
        number = len(list(self.root.glob("*.err")))
        files = (self.root / f"{number}.out", self.root / f"{number}.err")
        if self.kind == FAKE:
            return _Forked(words, replace(hooks or child.Hooks(), root=self.root), files)
        assert hooks is None
        return _Started(words, self.cache, files, **how)


class _Started:
    """The command line itself."""

    def __init__(self, words: list[str], cache: Path, files: tuple[Path, Path], **how: Any) -> None:
        self._files = files
        environment = {**os.environ, "KERNELBENCH_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
        with files[0].open("wb") as out, files[1].open("wb") as err:
            command = [*how.pop("before", ()), sys.executable, "-m", "kernelbench", *words]
            self._process = subprocess.Popen(command, stdout=out, stderr=err, env=environment, cwd=ROOT, **how)
        self.pid = self._process.pid

    def wait(self) -> Done:
        code = self._process.wait(LONGEST_S)
        return Done(code, *(file.read_text() for file in self._files))


class _Forked:
    """The command line with a fake device, in a process forked from one that has imported it all: a tenth of a second
    each."""

    def __init__(self, words: list[str], hooks: child.Hooks, files: tuple[Path, Path]) -> None:
        self._files = files
        for file in files:
            file.touch()  # also for one that is killed before it has begun
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.reliability.child"])
        self._process = context.Process(target=child.main, args=(words, hooks, files))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def wait(self) -> Done:
        self._process.join(LONGEST_S)
        assert self._process.exitcode is not None, "it does not end"
        return Done(self._process.exitcode, *(file.read_text() for file in self._files))


def rows(folder: Path) -> Rows:
    """Whole rows; no row may be there twice."""
    path = folder / RESULTS_FILE
    if not path.exists():
        return {}
    (header, *cells), _ = read_cells(path, path.read_text()) if path.stat().st_size else ([[]], True)
    places = [header.index(name) for name in ("case", "implementation", "cache", "method")] if header else []
    found = {tuple(row[place] for place in places): tuple(row) for row in cells}
    assert len(found) == len(cells), f"{path}: a row is there twice"
    return found


def written(stage: Stage) -> list[dict[str, str]]:
    """The cells of each row of its run by name."""
    with (stage.out / RESULTS_FILE).open(newline="") as file:
        return list(csv.DictReader(file))


def cases(found: Rows) -> int:
    return len({key[0] for key in found})


def lost(before: Rows, after: Rows) -> int:
    """Rows that are no longer there as they were, bit for bit."""
    return sum(after.get(key) != row for key, row in before.items())


def send(process: Process, number: int = signal.SIGKILL) -> None:
    with suppress(ProcessLookupError):  # at its end already
        os.kill(process.pid, number)
