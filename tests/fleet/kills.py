"""Kills a worker, a nanny, the scheduler or the client of a fleet of eight simulated GPUs at random moments.

    python -m tests.fleet.kills [--times 20] [--seed 1] [worker nanny scheduler client]

Each trial starts a fleet, kills one process, waits for the client to end, starts again what died, and goes on with
--resume. A line per kind: rows lost (missing after --resume, or finished before the kill and not kept), rows twice (in
a file, or measured again by --resume), hangs (a client that took more than HANG_S). The exit code is 1 unless all are
0. It needs nvcc, and takes about 25 s per trial on two cores.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil

from kernelbench.core import places

ROOT = Path(__file__).resolve().parent.parent.parent
GPUS = ("a100", "a100-80", "a100-sxm", "a100-sxm-80", "a30", "h100", "h100-pcie", "h200")
KINDS = ("worker", "nanny", "scheduler", "client")
OPTIONS = ("--only", "naive,ft", "--filter", "seq<=64")
EXPECTED = 6  # rows of a GPU: three cases, two implementations
HANG_S = 150.0
_FINISHED = re.compile(r"(\d+) of (\d+) cases are finished")


@dataclass
class Outcome:
    kills: int = 0
    unfinished: int = 0  # trials in which the kill left something to resume
    lost: int = 0
    twice: int = 0
    hangs: int = 0

    @property
    def bad(self) -> bool:
        return bool(self.lost or self.twice or self.hangs)


class Lab:
    """A scheduler, and a service with one GPU each in place of eight hosts."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.services: dict[str, subprocess.Popen[bytes]] = {}

    def mend(self) -> None:
        """Start what is not running, and wait until it is complete."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            for service in self.services.values():  # they end with their scheduler
                service.wait(timeout=60)
            self.scheduler = self._start(
                "scheduler", sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "tcp://127.0.0.1",
                "--port", str(self.port), "--dashboard-address", "127.0.0.1:0", "--no-dashboard",
            )  # fmt: skip
            time.sleep(2)
        for gpu in GPUS:
            if gpu not in self.services or self.services[gpu].poll() is not None:
                self.services[gpu] = self._start(
                    gpu, sys.executable, "-m", "kernelbench", "worker", self.address, "--gpus", f"simulated:{gpu}"
                )
        self._wait_for_workers()

    def _wait_for_workers(self) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            end_s = time.monotonic() + 90
            while True:
                found = client.scheduler_info(n_workers=-1)["workers"].values()
                offered = Counter(name for one in found for name in one["resources"])
                if len(offered) == len(GPUS) == len(found):
                    return
                assert time.monotonic() < end_s, f"workers did not come back: {offered}"
                time.sleep(0.2)

    def _start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0", "PYTHONPATH": str(ROOT)}
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.folder)

    def client(self, out: Path, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "kernelbench", "run", "softmax", "--cluster", self.address]
        return self._start(f"client-{out.name}", *command, *OPTIONS, "--no-report", "--out", str(out), *more)

    def worker_process(self, gpu: str) -> psutil.Process:
        """The Dask worker that the nanny of a service has started."""
        found = psutil.Process(self.services[gpu].pid).children()
        return next(one for one in found if any("spawn_main" in word for word in one.cmdline()))

    def end(self) -> None:
        for process in (*self.services.values(), *filter(None, [self.scheduler])):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in (*self.services.values(), *filter(None, [self.scheduler])):
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()


def rows(folder: Path) -> list[tuple[str, str]]:
    """Case and implementation of every row of a run folder; none where it is not there."""
    path = folder / "results.csv"
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return [(row["case"], row["implementation"]) for row in csv.DictReader(file)]


def ended(client: subprocess.Popen[bytes]) -> bool:
    """Whether the client ends in time; one that does not is killed."""
    try:
        client.wait(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        client.kill()
        client.wait()
        return False
    return True


def trial(lab: Lab, kind: str, number: int, chance: random.Random, outcome: Outcome) -> None:
    out = lab.folder / f"{lab.folder.name.lower().replace('_', '-')}-{kind}-{number}"
    spool = places.runs() / "fleets" / out.name
    client = lab.client(out)
    time.sleep(chance.uniform(0.5, 12.0))
    gpu = chance.choice(GPUS)
    before = {one: rows(spool / one / "softmax") for one in GPUS}
    if client.poll() is None:
        outcome.kills += 1
    try:
        target = {
            "worker": lambda: lab.worker_process(gpu), "nanny": lambda: lab.services[gpu],
            "scheduler": lambda: lab.scheduler, "client": lambda: client,
        }[kind]()  # fmt: skip
        target.send_signal(signal.SIGKILL)
    except (StopIteration, psutil.NoSuchProcess):
        pass
    outcome.hangs += not ended(client)
    lab.mend()
    outcome.unfinished += any(len(rows(out / one / "softmax")) < EXPECTED for one in GPUS)
    resumed = lab.client(out, *(["--resume"] if (out / "fleet.json").is_file() else []))
    outcome.hangs += not ended(resumed)
    _count(lab, out, spool, before, outcome)
    shutil.rmtree(spool, ignore_errors=True)


def _count(
    lab: Lab, out: Path, spool: Path, before: dict[str, list[tuple[str, str]]], outcome: Outcome
) -> None:
    for gpu in GPUS:
        found = rows(out / gpu / "softmax")
        lost = max(0, EXPECTED - len(set(found))) + len(set(before[gpu]) - set(found))
        twice = len(found) - len(set(found)) + _again(spool / gpu / "softmax.log", before[gpu])
        if lost or twice:
            print(f"  {out.name} {gpu}: lost {lost}, twice {twice}", flush=True)
        outcome.lost += lost
        outcome.twice += twice


def _again(log: Path, before: list[tuple[str, str]]) -> int:
    """Cases that were on disk before the kill, and that the last session did not find finished."""
    said = log.read_text() if log.is_file() else ""
    if " measured again" in said:
        return 1
    found = _FINISHED.search(said)
    return max(0, len({case for case, _ in before}) - int(found[1])) if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=KINDS)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=8797)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    outcomes = {kind: Outcome() for kind in arguments.kinds}
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        lab = Lab(Path(folder), arguments.port)
        try:
            lab.mend()
            for number in range(arguments.times):
                for kind in arguments.kinds:
                    trial(lab, kind, number, chance, outcomes[kind])
                    print(number, kind, outcomes[kind], flush=True)
        finally:
            lab.end()
    for kind, one in outcomes.items():
        print(
            f"{kind:10} {one.kills} kills, {one.unfinished} resumed: {one.lost} rows lost, {one.twice} rows twice, "
            f"{one.hangs} hangs"
        )
    return int(any(one.bad for one in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
