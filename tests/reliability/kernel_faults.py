"""What kernels, their compiler and the process that runs them can do."""

import os
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

from kernelbench.build import find_compiler
from tests.processes import until
from tests.reliability.faults import FAULTS, Fault, OneRun, Outcome, begun, fault, resumed, said, told
from tests.reliability.stage import COLUMNS, CUDA, SIMULATOR, Stage, lost, rows, written

HERE = Path(__file__).resolve().parent
FOLDERS = (HERE.parent / "gpu" / "broken", HERE / "broken")
BROKEN = {  # implementations of FOLDERS, by what they do
    "endless": "a kernel that hangs",
    "illegal_address": "an illegal address",
    "misaligned": "a misaligned address",
    "assertion": "a device assert",
    "trap": "a trap",
    "too_large": "out of launch resources: shared memory",
    "undeclared": "a kernel that does not compile",
}
CALLS = {"greedy": "out of memory on an allocation", "crashing": "a library that aborts the process"}
RUN = OneRun(FOLDERS, (*BROKEN, *CALLS), COLUMNS[1], ("--timeout", 10))


def _broken(name: str, stage: Stage) -> Outcome:
    row = RUN.row(stage, name)
    assert row["status"] == "failed", row
    return RUN.outcome(stage, row)


for _name, _title in {**BROKEN, **CALLS}.items():
    FAULTS[_name] = Fault(_title, partial(_broken, _name), (SIMULATOR, CUDA) if _name in BROKEN else (CUDA,))


@fault("the worker process killed (`kill -9`), as when memory runs out", CUDA)
def worker_killed(stage: Stage) -> Outcome:
    process = begun(stage)
    before = rows(stage.out)
    send_to = _worker_of(process.pid)
    os.kill(send_to, 9)
    done = process.wait()
    assert done.code in (0, 1), done.err
    assert "Traceback" not in done.err, done.err
    left = rows(stage.out)
    failed = [row["reason"] for row in written(stage) if row["status"] != "ok"]
    assert len(failed) <= 1, "it costs the row at work at most"
    return Outcome((failed or ["nothing"])[0], done.code, len(left) - len(failed), lost(before, left))


def _worker_of(parent: int) -> int:
    """The process that multiprocessing started for it, which is not the one that looks after its resources."""

    def found() -> list[int]:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [int(one) for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]

    until(found)
    return found()[0]


def own_kernel(stage: Stage) -> Path:
    """A folder with a kernel `mine` that is right, and was never compiled before."""
    done = stage.command("new", "softmax/mine", "--from", "naive", "--kernels", stage.root / "own").wait()
    assert done.code == 0, done.err
    _change(stage)
    return stage.root / "own"


def _change(stage: Stage) -> None:
    with (stage.root / "own" / "softmax" / "mine.cu").open("a") as file:
        file.write(f"// {uuid.uuid4()}\n")


@fault("nvcc missing", SIMULATOR)
def nvcc_missing(stage: Stage) -> Outcome:
    assert stage.run("--filter", f"columns={COLUMNS[0]}").code == 0
    before = rows(stage.out)
    done = stage.run("--resume", "--nvcc", "/nowhere/nvcc")
    assert done.code == 2
    left = rows(stage.out)
    return Outcome(said(done, line=0), done.code, len(left), lost(before, left) + resumed(stage, left))


@fault("nvcc killed (`kill -9`)", SIMULATOR)
def nvcc_killed(stage: Stage) -> Outcome:
    own, killing, nvcc = own_kernel(stage), stage.root / "killing", stage.root / "nvcc"
    real = find_compiler().path
    nvcc.write_text(f'#!/bin/sh\n[ -e "{killing}" ] && case "$*" in *mine.cu*) kill -9 $$;; esac\nexec "{real}" "$@"\n')
    nvcc.chmod(0o755)
    killing.touch()
    options = ("--kernels", own, "--nvcc", nvcc, "--filter", f"columns={COLUMNS[0]}")
    done = stage.run(*options)
    assert done.code == 1, done.err
    left = rows(stage.out)
    (failed,) = [row["reason"] for row in written(stage) if row["status"] != "ok"]
    killing.unlink()
    again = stage.run("--resume", *options)
    statuses = {row["status"] for row in written(stage) if row["implementation"] == "mine"}
    assert (again.code, statuses) == (0, {"ok"}), again.err
    assert "measured again: mine had no binary, now it has" in again.err
    return Outcome(failed.splitlines()[0], done.code, len(left) - 1)


def _entry(stage: Stage) -> Path:
    (command,) = [path for path in stage.cache.glob("[!.]*/[!.]*/command.txt") if str(stage.root) in path.read_text()]
    return command.parent


def _damaged_entry(stage: Stage, damage: Callable[[Path], None]) -> Outcome:
    own = own_kernel(stage)
    options = ("--kernels", own, "--filter", f"columns={COLUMNS[0]}")
    first = stage.run(*options)
    assert first.code == 0, first.err
    before = rows(stage.out)
    entry = _entry(stage)
    damage(entry)
    done = stage.run(*options, "--out", stage.root / "other")
    assert done.code == 0, done.err
    assert rows(stage.root / "other").keys() == before.keys()
    (line,) = [line for line in done.out.splitlines() if " binaries compiled in " in line]
    assert line.startswith("1 of "), line
    return Outcome(f"nothing: {line.split(' in ')[0]}", done.code, len(before), lost(before, rows(stage.out)))


@fault("an entry of the build cache cut off", SIMULATOR)
def cache_entry_cut_off(stage: Stage) -> Outcome:
    def cut(entry: Path) -> None:
        for path in entry.iterdir():
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return _damaged_entry(stage, cut)


@fault("a byte of a binary in the build cache changed", SIMULATOR)
def cache_entry_changed(stage: Stage) -> Outcome:
    def change(entry: Path) -> None:
        path = max(entry.glob("*.cubin"))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    return _damaged_entry(stage, change)


@fault("a build cache that cannot be written", SIMULATOR)
def cache_unwritable(stage: Stage) -> Outcome:
    assert stage.run("--filter", f"columns={COLUMNS[0]}").code == 0
    before = rows(stage.out)
    done = stage.run("--resume", before=("env", "KERNELBENCH_CACHE=/proc/kernelbench"))
    return told(stage, done, before, 2, goes_on=True)


@fault("a kernel changed before --resume", SIMULATOR)
def kernel_changed(stage: Stage) -> Outcome:
    return another_binary(stage, own_kernel(stage), lambda: _change(stage))


def another_binary(stage: Stage, own: Path, change: Callable[[], object]) -> Outcome:
    """A run with `mine`, which is then changed, and the run gone on with."""
    options = ("--kernels", own, "--filter", f"columns={COLUMNS[0]}")
    first = stage.run(*options)
    assert first.code == 0, first.err
    before = rows(stage.out)
    change()
    done = stage.run("--resume", *options)
    assert done.code == 0, done.err
    left = rows(stage.out)
    assert left.keys() == before.keys(), "in the place of what was there"
    (why,) = [line for line in done.err.splitlines() if "mine is another binary now" in line]
    return Outcome(why, done.code, len(left))
