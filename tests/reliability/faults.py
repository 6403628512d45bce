"""What can go wrong around a run, one function a fault: what the user sees then, and what is left of the rows.

Each plays its fault on a stage and fails by itself where a finished row is lost, a row stands twice, a traceback is
shown, or the run cannot be gone on with.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelbench.runs.results import ENVIRONMENT_FILE, RESULTS_FILE, SAMPLES_FILE, read_run
from tests.processes import until
from tests.reliability.child import Hooks
from tests.reliability.stage import (
    COLUMNS,
    CUDA,
    FAKE,
    SIMULATOR,
    Done,
    Process,
    Rows,
    Stage,
    cases,
    lost,
    rows,
    send,
    written,
)

SLOWLY = Hooks(slow_s=0.002)
READ_ONLY = 30  # EROFS
HALF = "columns<=128"  # --filter for the first half of the suite
FAULTS: dict[str, Fault] = {}


@dataclass(frozen=True)
class Outcome:
    seen: str  # by the user, in the command's own words
    exit_code: int
    kept: int  # rows on disk after the fault
    lost: int = 0  # finished rows that are gone, or are others, after the fault or after --resume


@dataclass(frozen=True)
class Fault:
    title: str
    play: Callable[[Stage], Outcome]
    kinds: tuple[str, ...]


def fault(title: str, *kinds: str) -> Callable[[Callable[[Stage], Outcome]], Callable[[Stage], Outcome]]:
    def add(play: Callable[[Stage], Outcome]) -> Callable[[Stage], Outcome]:
        FAULTS[play.__name__] = Fault(title, play, kinds)
        return play

    return add


def said(done: Done, *places: Path, line: int = -1) -> str:
    """The last line on stderr, without this machine's folders."""
    assert "Traceback" not in done.err, done.err
    text = done.err.strip().splitlines()[line]
    for place in places:
        text = text.replace(str(place), "RUN")
    return text


def told(stage: Stage, done: Done, before: Rows, code: int, *, goes_on: bool = False) -> Outcome:
    """What a command said that ended with `code`, and what is left of the run: also of one that then `goes_on`."""
    assert done.code == code, done.err
    left = rows(stage.out)
    gone = lost(before, left) + (resumed(stage, left) if goes_on else 0)
    return Outcome(said(done, stage.out), done.code, len(left), gone)


def resumed(stage: Stage, before: Rows) -> int:
    """Go on with the run to its end; the finished rows of `before` that are lost."""
    done = stage.run("--resume")
    assert done.code in (0, 1), done.err
    after = rows(stage.out)
    assert cases(after) == len(COLUMNS), "all cases are there"
    assert {key[:2] for key in after} == {(case, name) for case, *_ in after for name in stage.names}, "whole ones"
    run = read_run(stage.out)
    assert run.environment["finished"]
    if stage.kind != SIMULATOR:
        timed = run.samples.groupby(["case", "implementation", "cache", "method"]).size()
        own = {(row.case, row.implementation, row.cache, row.method): row.samples for row in run.rows}
        assert timed.to_dict() == own
    return lost(before, after)


def readable(stage: Stage) -> None:
    done = stage.command("compare", stage.out, "--out", stage.root / "compared").wait()
    assert done.code == 0, done.err
    done = stage.command("report", stage.out, "--out", stage.root / "compared" / "page.html").wait()
    assert done.code == 0, done.err


@dataclass
class OneRun:
    """Bad kernels in one run beside two right ones; what becomes of each is an outcome of its own."""

    folders: tuple[Path, ...]
    names: tuple[str, ...]
    columns: int
    options: tuple[Any, ...] = ()
    played: dict[str, list[dict[str, str]]] = field(default_factory=dict)  # its rows, by kind of stage

    def row(self, stage: Stage, name: str) -> dict[str, str]:
        if stage.kind not in self.played:
            kernels = [word for folder in self.folders for word in ("--kernels", folder)]
            only = ",".join((stage.names[0], *self.names, stage.names[1]))
            done = stage.run(*kernels, "--only", only, "--filter", f"columns={self.columns}", *self.options)
            assert done.code == 1, done.err
            assert "Traceback" not in done.err, done.err
            self.played[stage.kind] = written(stage)
        (row,) = [row for row in self.played[stage.kind] if row["implementation"] == name]
        return row

    def outcome(self, stage: Stage, row: dict[str, str]) -> Outcome:
        others = [one["status"] for one in self.played[stage.kind] if one["implementation"] in stage.names]
        return Outcome(row["reason"].partition("\n")[0], 1, others.count("ok"), len(others) - others.count("ok"))


def begun(stage: Stage, *options: Any, least: int = 1, **how: Any) -> Process:
    """A run that has cases on disk, and goes on."""
    if stage.kind == FAKE:
        how.setdefault("hooks", SLOWLY)
    process = stage.start(*options, **how)
    until(lambda: cases(rows(stage.out)) >= least)
    return process


@fault("killed (`kill -9`) at random moments, resumed each time", FAKE, SIMULATOR, CUDA)
def killed_at_random_moments(stage: Stage) -> Outcome:
    chance, gone, kept = random.Random(1), 0, 0
    began = time.monotonic()
    hooks = {"hooks": SLOWLY} if stage.kind == FAKE else {}
    done = stage.run(**hooks)
    assert done.code == 0, done.err
    took = time.monotonic() - began
    finished = len(rows(stage.out))
    for _ in range(stage.moments):
        before = rows(stage.out)
        if len(before) == finished:
            shutil.rmtree(stage.out)
            before = {}
        process = stage.start("--resume", **hooks)
        time.sleep(chance.uniform(0, took))
        send(process)
        process.wait()
        left = rows(stage.out)
        gone += lost(before, left)
        if left:
            assert len(read_run(stage.out).rows) == len(left), "readable at any time"
            kept = max(kept, len(left))
    before = rows(stage.out)
    return Outcome(f"nothing; {stage.moments} times", -signal.SIGKILL, kept, gone + resumed(stage, before))


@fault("killed in the middle of each write, one after the other", FAKE)
def killed_in_every_write(stage: Stage) -> Outcome:
    gone, kept, number = 0, 0, 0
    while True:
        number += 1
        before = rows(stage.out)
        done = stage.run("--resume", hooks=Hooks(kill_at=2 + number % 7))
        left = rows(stage.out)
        gone += lost(before, left)
        kept = max(kept, len(left))
        if done.code == 0:
            break
        assert done.code == -signal.SIGKILL, done.err
        assert number < 40, "it gets on"
    assert number > 3, "writes were hit"
    assert [path.name for path in stage.out.iterdir() if path.suffix == ".part"] == [], "nothing is left half written"
    return Outcome(f"nothing; {number - 1} times", -signal.SIGKILL, kept, gone + resumed(stage, rows(stage.out)))


def stopped(stage: Stage, *numbers: int, read: bool = False, **how: Any) -> Outcome:
    process = begun(stage, least=2, **how)
    if "hooks" in how:
        until((stage.root / "stuck").exists)
        time.sleep(0.1)  # the library is entered a moment later
    for number in numbers:
        send(process, number)
        time.sleep(0.3 if stage.kind == FAKE else 0.05)
    began = time.monotonic()
    done = process.wait()
    assert time.monotonic() - began < 10, "it ends soon"
    assert done.code == 128 + numbers[0]
    left = rows(stage.out)
    assert cases(left) >= 2
    if read:
        readable(stage)
    return Outcome(said(done), done.code, len(left), resumed(stage, left))


@fault("Ctrl-C (SIGINT)", FAKE, SIMULATOR)
def interrupted(stage: Stage) -> Outcome:
    return stopped(stage, signal.SIGINT, read=True)


@fault("Ctrl-C twice, the first one stuck in a library", FAKE, CUDA)
def interrupted_twice(stage: Stage) -> Outcome:
    how = {"hooks": Hooks(slow_s=0.002, stuck=COLUMNS[2])} if stage.kind == FAKE else {}
    found = stopped(stage, signal.SIGINT, signal.SIGINT, **how)
    assert stage.kind != FAKE or "at once" in found.seen
    return found


@fault("SIGTERM, as of a job scheduler", FAKE)
def terminated(stage: Stage) -> Outcome:
    return stopped(stage, signal.SIGTERM)


def _room_runs_out(stage: Stage, step: int, error: int) -> Outcome:
    """A run for each amount of room, from none on; each is then gone on with."""
    worst = Outcome("", 0, 10**6)
    room, kept = 0, 0
    while True:
        shutil.rmtree(stage.out, ignore_errors=True)
        done = stage.run(hooks=Hooks(room=room, error=error))
        if done.code == 0:
            break
        assert done.code == 2, (done.code, done.err)
        left = rows(stage.out)
        text = said(done, stage.out)
        if stage.out.exists():
            assert [path.name for path in stage.out.iterdir() if path.suffix == ".part"] == [], "nothing half written"
            worst = Outcome(text, done.code, max(kept, len(left)), worst.lost + lost(left, rows(stage.out)))
            worst = Outcome(text, done.code, worst.kept, worst.lost + resumed(stage, left))
        kept = max(kept, len(left))
        room += step
    assert kept, "some rows were there"
    return worst


@fault("disk full, at every write in turn", FAKE)
def disk_full(stage: Stage) -> Outcome:
    found = _room_runs_out(stage, 4_000 if stage.moments >= 20 else 16_000, 28)
    assert "No space left on device" in found.seen
    return found


@fault("folder read-only from some moment on", FAKE)
def read_only(stage: Stage) -> Outcome:
    found = _room_runs_out(stage, 8_000 if stage.moments >= 20 else 24_000, READ_ONLY)
    assert "Read-only file system" in found.seen
    return found


@fault("disk full: no file may grow beyond a limit (RLIMIT_FSIZE)", SIMULATOR)
def files_too_large(stage: Stage) -> Outcome:
    first = stage.run("--filter", HALF)
    assert first.code == 0, first.err
    before, size = rows(stage.out), max(path.stat().st_size for path in stage.out.iterdir()) + 800
    done = stage.run("--resume", before=("prlimit", f"--fsize={size}"))
    assert "File too large" in done.err
    return told(stage, done, before, 2, goes_on=True)


@fault("a place where nothing can be written", FAKE, SIMULATOR)
def unwritable(stage: Stage) -> Outcome:
    place = Path("/proc/kernelbench")
    done = stage.run("--out", place)
    assert done.code == 2
    assert "choose another place with --out" in done.err
    return Outcome(said(done, place), done.code, 0)


@fault("the run's folder moved away in the middle", FAKE, SIMULATOR)
def moved_away(stage: Stage) -> Outcome:
    process = begun(stage, least=2)
    aside = stage.root / "aside"
    before = rows(stage.out)
    stage.out.rename(aside)
    done = process.wait()
    assert not stage.out.exists(), "nothing is made in its place"
    aside.rename(stage.out)
    return told(stage, done, before, 2, goes_on=True)


@fault("no room for the report", FAKE)
def report_without_room(stage: Stage) -> Outcome:
    assert stage.run().code == 0
    before = rows(stage.out)
    done = stage.command("report", stage.out, hooks=Hooks(room=40_000)).wait()
    assert not list(stage.out.rglob("*.part")), "nothing is left half written"
    return told(stage, done, before, 2)


@fault("two runs into one folder, on two GPUs", FAKE)
def two_into_one_folder(stage: Stage) -> Outcome:
    process = begun(stage, hooks=Hooks(slow_s=0.005))
    done = stage.run("--resume", hooks=Hooks(gpu="Another GPU"))
    assert done.code == 2, done.err
    assert "another kernelbench run is writing into it" in done.err
    first = process.wait()
    assert first.code == 0, first.err
    left = rows(stage.out)
    return Outcome(said(done, stage.out), done.code, len(left), resumed(stage, left))


@fault("two runs on one GPU, the second with --no-wait", FAKE, CUDA)
def two_on_one_gpu(stage: Stage) -> Outcome:
    process = begun(stage, **({"hooks": Hooks(slow_s=0.005)} if stage.kind == FAKE else {}))
    os.kill(process.pid, signal.SIGSTOP)  # a run on a GPU may be over before the other one has begun
    done = stage.run("--no-wait", "--out", stage.root / "other")
    os.kill(process.pid, signal.SIGCONT)
    assert done.code == 2, done.err
    assert process.wait().code == 0
    left = rows(stage.out)
    return Outcome(said(done), done.code, len(left), resumed(stage, left))


@fault("the clock set back an hour between two runs", FAKE)
def clock_set_back(stage: Stage) -> Outcome:
    """As it is seen afterwards: the folder of the earlier run has a later time."""
    command = ("run", stage.suite(), "--device", "cuda", "--quick", "--no-report")
    done = stage.command(*command).wait()
    assert done.code == 0, done.err
    (first,) = (stage.root / "runs").iterdir()
    later = time.strftime("%Y%m%d-%H%M%S", time.localtime(time.time() + 3600))
    ahead = first.rename(first.with_name(f"{later}-x-small"))
    done = stage.command(*command, "--filter", HALF).wait()
    assert done.code == 0, done.err
    newest = max((stage.root / "runs").iterdir())
    before = rows(newest)
    assert (newest != ahead, cases(before)) == (True, 3), "the newest is the last by name"
    done = stage.command(*command, "--resume").wait()
    newest.rename(stage.out)
    assert cases(rows(stage.out)) == len(COLUMNS), "and is the one that is gone on with"
    text = said(done, newest, line=0)
    return Outcome(text, done.code, len(before), lost(before, rows(stage.out)))


def _half(stage: Stage) -> Rows:
    done = stage.run("--filter", HALF)
    assert done.code == 0, done.err
    return rows(stage.out)


@fault("a row of results.csv damaged", FAKE, SIMULATOR)
def damaged_row(stage: Stage) -> Outcome:
    before, path = _half(stage), stage.out / RESULTS_FILE
    lines = path.read_text().splitlines(keepends=True)
    assert ",softmax," in lines[2]
    path.write_text("".join([*lines[:2], lines[2].replace(",float32,", ",float3\x07,"), *lines[3:]]))
    done = stage.command("compare", stage.out).wait()
    assert done.code == 2, done.err
    assert stage.run("--resume").code == 2
    path.write_text("".join([*lines[:2], *lines[3:]]))  # as the message says
    left = rows(stage.out)
    case = next(key[0] for key in before if key not in left)
    others = {key: row for key, row in before.items() if key[0] != case}
    return Outcome(said(done, stage.out), done.code, len(left), resumed(stage, others))


@fault("results.csv cut off in its last row", FAKE, SIMULATOR)
def cut_off_row(stage: Stage) -> Outcome:
    before, path = _half(stage), stage.out / RESULTS_FILE
    path.write_text(path.read_text()[:-40])
    left = rows(stage.out)
    assert len(left) == len(before) - 1
    done = stage.command("compare", stage.out, "--out", stage.root).wait()
    assert done.code == 0, done.err
    case = list(before)[-1][0]
    whole = {key: row for key, row in left.items() if key[0] != case}
    return Outcome(said(done, stage.out), done.code, len(left), resumed(stage, whole))


@fault("samples.csv.gz cut off", FAKE)
def cut_off_samples(stage: Stage) -> Outcome:
    before, path = _half(stage), stage.out / SAMPLES_FILE
    path.write_bytes(path.read_bytes()[:-40])
    return told(stage, stage.command("report", stage.out, "--out", stage.root / "page.html").wait(), before, 0)


@fault("environment.json missing", FAKE, SIMULATOR)
def missing_environment(stage: Stage) -> Outcome:
    before = _half(stage)
    (stage.out / ENVIRONMENT_FILE).unlink()
    done = stage.command("compare", stage.out, "--out", stage.root).wait()
    refused = stage.run("--resume")
    assert (refused.code, "is not known" in refused.err) == (2, True), refused.err
    return told(stage, done, before, 0)


@fault("--resume on another GPU", FAKE)
def another_gpu(stage: Stage) -> Outcome:
    before, path = _half(stage), stage.out / ENVIRONMENT_FILE
    state = json.loads(path.read_text())
    state["device"]["name"] = "Tesla T4"
    path.write_text(json.dumps(state))
    done = stage.run("--resume")
    assert "it was measured on Tesla T4" in done.err
    return told(stage, done, before, 2)


@fault("no room on what standard output goes to", SIMULATOR)
def output_full(stage: Stage) -> Outcome:
    before = _half(stage)
    script = ("sh", "-c", '"$@" > /dev/full', "sh")
    return told(stage, stage.command("compare", stage.out, "--out", stage.root, before=script).wait(), before, 2)
