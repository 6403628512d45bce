"""One job of a fleet: a suite, or a part of its cases, on one GPU; and how a worker does it.

A job is data: the name and hash of a suite that the worker has itself, and options of `kernelbench run`. The worker
starts that command as a process, and answers with the folder that it wrote.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import kernelbench
from kernelbench.core import places
from kernelbench.core.errors import InputError, KernelbenchError, ResultsError
from kernelbench.core.texts import printable
from kernelbench.fleet.gpus import FleetGpu, worker_gpu
from kernelbench.runs.folders import folder_to_itself
from kernelbench.runs.results import ENVIRONMENT_FILE, RESULTS_FILE, SAMPLES_FILE, read_run
from kernelbench.suite import find_suite

LOCAL_VARIABLE = "KERNELBENCH_FLEET_LOCAL"  # set where workers are of the same user, host and folders as their client
RUN_FILES = (RESULTS_FILE, SAMPLES_FILE, ENVIRONMENT_FILE)
# Options that a worker takes from another host, and whether they have a value. None names a file or runs code.
_OPTIONS = {
    "--only": True, "--filter": True, "--set": True, "--dtype": True, "--cache": True, "--timeout": True,
    "--seed": True, "--part": True, "--quick": False, "--full": False, "--self-test": False, "--specimens": False,
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,120}")
_POLL_S, _TOLD_EVERY_S, _LOCK_S = 0.1, 0.5, 120.0
_RESUMED = re.compile(r"\d+ of \d+ cases are finished|\d+ cases? (is|are) measured again: .*")  # says --resume
_running: dict[str, set[subprocess.Popen[bytes]]] = {}  # by fleet
_starting = threading.Lock()


class RefusedJob(KernelbenchError):
    """This worker does not do such a job; the text says why."""


@dataclass(frozen=True)
class FleetJob:
    """A suite, or a part of it, on one GPU."""

    fleet: str  # the name of the fleet's folder
    label: str  # the GPU's
    resource: str  # the GPU's: its worker has it
    suite: str  # its name; its file on a worker of the same host
    digest: str  # of the suite's file
    options: tuple[str, ...]  # of `kernelbench run`
    folder: str  # of the run, where workers share the client's folders; else ''
    cases: int
    cost: float  # about how long it takes; its unit is the same for all jobs of a fleet

    @property
    def name(self) -> str:
        return Path(self.suite).stem

    @property
    def is_whole(self) -> bool:
        """Whether it is all cases of the suite, not a part of them."""
        return "--part" not in self.options


@dataclass(frozen=True)
class JobOutput:
    """What became of a job: `code` is that of the command; `files` the run's, where the client lacks its folder."""

    code: int
    said: tuple[str, ...]  # what was found finished, or measured again and why; the last words of one that failed
    files: Mapping[str, bytes]


def topic_of(fleet: str) -> str:
    """The topic of a fleet's progress. Dask has topics of its own, such as `all`, which may be a folder's name too."""
    return f"kernelbench-{fleet}"


def digest_of(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def code_digest() -> str:
    """One hash over every file of the package and the kernels, by which hosts compare what they would run."""
    found = sha256()
    for folder in (places.PACKAGE, places.KERNELS, places.SPECIMENS):
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".cu", ".cuh", ".cpp", ".h", ".yaml") and "_data" not in path.parts:
                found.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def describe_worker() -> dict[str, Any]:
    """What a worker says of itself: its GPU, and the code that it would run."""
    gpu = worker_gpu()
    return {
        "gpu": vars(gpu) if gpu else None,
        "kernelbench": kernelbench.__version__,
        "code": code_digest(),
        "python": sys.version.split()[0],
    }


# ---- On a worker ---------------------------------------------------------------------------------


def measure(values: Mapping[str, Any]) -> dict[str, Any]:
    """Do the job of these values, within a Dask worker; the values of a `JobOutput`.

    RefusedJob for what this worker would not run.
    """
    from distributed import get_worker

    worker = get_worker()
    job = FleetJob(**{**values, "options": tuple(values["options"])})
    gpu = worker_gpu()
    local = bool(os.environ.get(LOCAL_VARIABLE))
    suite = _checked(job, gpu, local=local)
    assert gpu is not None
    folder = Path(job.folder) if local else places.runs() / "fleets" / job.fleet / job.label / job.name
    folder.mkdir(parents=True, exist_ok=True)
    log = folder.parent / f"{job.name}.log"
    _wait_for(folder)
    process = _started(job, gpu, suite, folder, log)
    try:
        seen = -1
        while process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S if seen < 0 else _TOLD_EVERY_S)
            if (finished := _finished_cases(folder)) != seen:
                seen = finished
                worker.log_event(topic_of(job.fleet), {"label": job.label, "suite": job.name, "cases": finished})
    finally:
        _running[job.fleet].discard(process)
    files = {} if local else _files(folder)
    return {"code": process.returncode, "said": _said(log, process.returncode), "files": files}


def stop(fleet: str) -> int:
    """Stop what this worker does for a fleet, and return how many runs that were; finished cases are kept."""
    stopped = list(_running.get(fleet, ()))
    for process in stopped:
        process.send_signal(signal.SIGTERM)
    return len(stopped)


def require_names(names: Iterable[str]) -> None:
    """InputError for the name of a suite or a run that workers of other hosts would not take for a folder."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{name!r:.150}: hosts of a cluster make a folder of this name; expected letters, digits, '.', '_' and "
                "'-', a letter or a digit first"
            )


def _checked(job: FleetJob, gpu: FleetGpu | None, *, local: bool) -> Path:
    """The suite's file on this host; RefusedJob unless it is the client's, and all that the job asks for is allowed."""
    if gpu is None or gpu.resource != job.resource:
        raise RefusedJob(f"this worker has {gpu.resource if gpu else 'no GPU'}, not {job.resource}")
    names = (job.fleet, job.label, job.name)
    if not local and not (all(_NAME.fullmatch(name) for name in names) and job.name == job.suite):  # it names folders
        raise RefusedJob(f"not valid names of a fleet, a GPU and a suite: {', '.join(names)!r:.200}")
    if not local:
        _check_options(job.options)
    try:
        path = find_suite(job.suite, places.SUITES) if local else find_suite(f"{job.suite}.yaml", places.SUITES)
    except InputError as error:
        raise RefusedJob(f"{gpu.host} has {error}") from error
    if digest_of(path) != job.digest:
        raise RefusedJob(f"{gpu.host} has another {path.name} than the client; bring both to one version")
    return path.absolute()


def _check_options(options: Sequence[str]) -> None:
    words = iter(options)
    for word in words:
        if word not in _OPTIONS:
            raise RefusedJob(f"a worker of another host takes no option {word!r:.80}; it has {', '.join(_OPTIONS)}")
        if _OPTIONS[word] and next(words, "-").startswith("-"):
            raise RefusedJob(f"option {word} lacks its value")


def _wait_for(folder: Path) -> None:
    """Wait until an earlier run has left the folder: one whose worker was killed ends a moment after it."""
    end_s = time.monotonic() + _LOCK_S
    while True:
        try:
            with folder_to_itself(folder):
                return
        except ResultsError:
            if time.monotonic() > end_s:
                raise
        time.sleep(_POLL_S)


def _started(job: FleetJob, gpu: FleetGpu, suite: Path, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "kernelbench.fleet.child", str(os.getpid()), "run", str(suite), "--device", gpu.device,
        "--out", str(folder), "--resume", "--no-report", *job.options,
    ]  # fmt: skip
    with log.open("wb") as file, _starting:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )  # a session of its own: Ctrl-C reaches the client, which stops its jobs in order
        _running.setdefault(job.fleet, set()).add(process)
    return process


def _finished_cases(folder: Path) -> int:
    with suppress(ResultsError):  # not there yet
        if (folder / RESULTS_FILE).exists():
            return len({row.case for row in read_run(folder).rows})
    return 0


def _files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in RUN_FILES if (folder / name).is_file()}


def _said(log: Path, code: int) -> list[str]:
    lines = printable(log.read_text(encoding="utf-8", errors="replace")).splitlines()
    if code in (0, 1):
        return [found[0] for line in lines if (found := _RESUMED.search(line)) and not found[0].startswith("0 of ")]
    return [line for line in lines if line.strip()][-5:]
