"""Kills workers, nannies, clients and the scheduler of a fleet of eight simulated GPUs at random moments.

    python -m tests.fleet.kills [--times 20] [--seed 1]

A campaign is one fleet. A process of each kind is killed, in any order; what died is started again, and --resume goes
on; once more a process of each kind is killed; then --resume goes on until everything is measured. Counted over all
campaigns: rows lost (missing at the end, or on disk before a kill and not kept), rows twice (in a file, or measured
again by --resume), hangs (a client that took more than HANG_S). The exit code is 1 unless all are 0. It needs nvcc, and
takes about 80 s per campaign on two idle cores.
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
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from kernelbench.core import places

ROOT = Path(__file__).resolve().parent.parent.parent
GPUS = ("a100", "a100-80", "a100-sxm", "a100-sxm-80", "a30", "h100", "h100-pcie", "h200")
PER_HOST = 2
HOSTS = tuple(GPUS[first : first + PER_HOST] for first in range(0, len(GPUS), PER_HOST))
KINDS = ("worker", "nanny", "client", "scheduler")
OPTIONS = ("--only", "ft", "--filter", "seq<=32")
SUITES = {"softmax": 2, "softmax_half": 4}  # rows per GPU: of one kernel on two cases, and on four
PARTS = tuple((gpu, suite) for gpu in GPUS for suite in SUITES)
HANG_S = 240.0
_FINISHED = re.compile(r"(\d+) of (\d+) cases are finished")


@dataclass
class Outcome:
    kills: Counter[str] = field(default_factory=Counter)  # by kind, of processes that were alive
    in_flight: Counter[str] = field(default_factory=Counter)  # of these, kills after which rows were missing
    lost: int = 0
    twice: int = 0
    hangs: int = 0

    @property
    def bad(self) -> bool:
        return bool(self.lost or self.twice or self.hangs)


class Lab:
    """A scheduler, and a service with two GPUs each in place of four hosts."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.services: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}

    def mend(self) -> None:
        """Start what is not running, and wait until it is complete."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            for service in self.services.values():  # they end with their scheduler
                service.wait(timeout=HANG_S)
            self.scheduler = self._start(
                "scheduler", sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "tcp://127.0.0.1",
                "--port", str(self.port), "--dashboard-address", "127.0.0.1:0", "--no-dashboard",
            )  # fmt: skip
            time.sleep(2)
        for gpus in HOSTS:
            if gpus not in self.services or self.services[gpus].poll() is not None:
                names = ",".join(f"simulated:{gpu}" for gpu in gpus)
                self.services[gpus] = self._start(
                    gpus[0], sys.executable, "-m", "kernelbench", "worker", self.address, "--gpus", names
                )
        self._wait_for_workers()

    def _wait_for_workers(self) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            end_s = time.monotonic() + HANG_S
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
        command = [sys.executable, "-m", "kernelbench", "run", *SUITES, "--cluster", self.address]
        return self._start(f"client-{out.name}", *command, *OPTIONS, "--no-report", "--out", str(out), *more)

    def worker_processes(self, gpus: tuple[str, ...]) -> list[psutil.Process]:
        """The Dask workers that the nannies of a service have started."""
        found = psutil.Process(self.services[gpus].pid).children()
        return [one for one in found if any("spawn_main" in word for word in one.cmdline())]

    def kill(self, kind: str, client: subprocess.Popen[bytes], chance: random.Random) -> bool:
        """Kill one process of a kind, if it lives."""
        host = chance.choice(HOSTS)
        try:
            if kind == "worker":
                chance.choice(self.worker_processes(host)).kill()
            else:
                one = {"nanny": self.services[host], "client": client, "scheduler": self.scheduler}[kind]
                if one.poll() is not None:
                    return False
                one.kill()
                one.wait()
        except (IndexError, psutil.NoSuchProcess):
            return False
        return True

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


def campaign(lab: Lab, number: int, seconds: float, chance: random.Random, outcome: Outcome) -> float:
    """One fleet with two kills of each kind; `seconds`: about how long a session takes. Returns that of the last."""
    out = lab.folder / f"{lab.folder.name.lower().replace('_', '-')}-{number}"
    spool = places.runs() / "fleets" / out.name
    client, kept = lab.client(out), {part: set[tuple[str, str]]() for part in PARTS}
    for longest in (seconds, seconds / 2):  # less is left for the second session
        for kind in chance.sample(KINDS, len(KINDS)):
            time.sleep(chance.uniform(0, longest / len(KINDS)))
            for gpu, suite in PARTS:
                kept[gpu, suite].update(rows(spool / gpu / suite))
            if lab.kill(kind, client, chance):
                outcome.kills[kind] += 1
                outcome.in_flight[kind] += any(len(own) < SUITES[suite] for (_, suite), own in kept.items())
        outcome.hangs += not ended(client)
        lab.mend()
        began = time.monotonic()
        client = lab.client(out, *(["--resume"] if (out / "fleet.json").is_file() else []))
    outcome.hangs += not ended(client)
    _count(out, spool, kept, outcome)
    shutil.rmtree(spool, ignore_errors=True)
    return time.monotonic() - began


def _count(out: Path, spool: Path, kept: dict[tuple[str, str], set[tuple[str, str]]], outcome: Outcome) -> None:
    for (gpu, suite), before in kept.items():
        found = rows(out / gpu / suite)
        lost = max(0, SUITES[suite] - len(set(found))) + len(before - set(found))
        twice = len(found) - len(set(found)) + _again(spool / gpu / f"{suite}.log", before)
        if lost or twice:
            said = (out.parent / f"client-{out.name}.log").read_text().splitlines()[-3:]
            print(f"  {out.name} {gpu} {suite}: lost {lost}, twice {twice}: {' | '.join(said)}", flush=True)
        outcome.lost += lost
        outcome.twice += twice


def _again(log: Path, before: set[tuple[str, str]]) -> int:
    """Cases that were on disk before the kill, and that the last session did not find finished."""
    said = log.read_text() if log.is_file() else ""
    if " measured again" in said:
        return 1
    found = _FINISHED.search(said)
    return max(0, len({case for case, _ in before}) - int(found[1])) if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="kills of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=8797)
    arguments = parser.parse_args()
    chance, outcome, number = random.Random(arguments.seed), Outcome(), 0
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        lab = Lab(Path(folder), arguments.port)
        try:
            lab.mend()
            began = time.monotonic()
            assert ended(lab.client(lab.folder / "whole"))
            seconds = time.monotonic() - began
            shutil.rmtree(places.runs() / "fleets" / "whole")
            while any(outcome.kills[kind] < arguments.times for kind in KINDS):
                last = campaign(lab, number, seconds, chance, outcome)
                number += 1
                print(f"campaign {number}: {outcome}, the last session took {last:.0f} s", flush=True)
        finally:
            lab.end()
    kills = ", ".join(
        f"{outcome.kills[kind]} of a {kind} ({outcome.in_flight[kind]} with rows missing)" for kind in KINDS
    )
    print(f"{number} campaigns, kills: {kills}")
    print(f"rows lost {outcome.lost}, rows twice {outcome.twice}, hangs {outcome.hangs}")
    return int(outcome.bad)


if __name__ == "__main__":
    sys.exit(main())
