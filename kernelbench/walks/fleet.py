"""fleet: suites -> GPUs -> jobs -> workers -> run folders -> joined -> one page. `run` on many GPUs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.core.progress import Progress
from kernelbench.core.records import Suite
from kernelbench.core.writing import write_whole
from kernelbench.fleet import engine, jobs
from kernelbench.fleet.engine import Ended, Member
from kernelbench.fleet.folder import Fleet, is_fleet, newest_fleet, resumed, write_fleet
from kernelbench.fleet.gpus import Gpu, named_gpus
from kernelbench.fleet.jobs import RUN_FILES, Job
from kernelbench.planning.catalog import load_catalog
from kernelbench.runs.environment import command_text, now
from kernelbench.runs.folders import folder_to_itself, is_run, new_folder
from kernelbench.runs.joining import join
from kernelbench.runs.results import read_run
from kernelbench.suite import find_suite, select_part
from kernelbench.walks.request import Request, read_suites

if TYPE_CHECKING:
    from distributed import Client

Start = Callable[[Sequence[Job]], engine.Advance]  # shows the jobs, and how far each GPU is


@dataclass(frozen=True)
class Workers:
    """Which GPUs measure: those that `gpus` names on this host, or those of a `cluster`, an address."""

    gpus: str = ""
    cluster: str = ""
    tls: Path | None = None
    shared: bool = False  # whether they share the cases; else each measures all

    @contextmanager
    def started(self) -> Iterator[tuple[Client, tuple[Member, ...]]]:
        if self.cluster:
            with engine.of_a_cluster(self.cluster, self.tls) as client:
                yield client, engine.members_of(client)
            return
        gpus = named_gpus(self.gpus)
        self.check(gpus)
        with engine.of_this_host(gpus) as client:
            yield client, tuple(Member(gpu, {}) for gpu in gpus)

    def check(self, gpus: Sequence[Gpu]) -> None:
        """InputError where these GPUs cannot share cases."""
        kinds = sorted({gpu.kind for gpu in gpus})
        if self.shared and len(kinds) > 1:
            raise InputError(
                f"--share: the GPUs are of different kinds ({', '.join(kinds)}), whose times do not belong in one run; "
                "leave --share out, and each measures every case"
            )


def run_fleet(
    request: Request, options: Sequence[str], workers: Workers, progress: Progress, start: Start
) -> tuple[Fleet, tuple[Ended, ...]]:
    """Measure the suites on every GPU, or shared among them. The fleet, and what became of each job.

    `options`: those of the command line that every worker's `kernelbench run` gets too.
    """
    suites = read_suites(request, load_catalog(specimens=True, own=request.kernels))
    paths = {suite.name: find_suite(name, places.SUITES) for name, suite in zip(request.suites, suites, strict=True)}
    if len(paths) < len(suites):
        raise InputError("two of the suites have the same name, and so would have the same folder")
    with workers.started() as (client, members):
        gpus = tuple(member.gpu for member in members)
        workers.check(gpus)
        wanted = Fleet(
            Path(), command_text(request.arguments), now(), {name: jobs.digest_of(paths[name]) for name in paths},
            tuple(options), workers.shared, gpus,
        )  # fmt: skip
        fleet = _placed(wanted, request, suites, progress)
        with folder_to_itself(fleet.folder):
            notes = [*fleet.notes, *_code_notes(members, progress)]
            write_fleet(replace(fleet, notes=tuple(notes)))
            found = _jobs(fleet, suites, paths, local=not workers.cluster)
            left = [job for job in found if not _is_finished(fleet, job)]
            if len(left) < len(found):
                progress.say(f"{len(found) - len(left)} of {len(found)} runs are finished")
            ended = _run(client, left, fleet, notes, gpus, progress, start)
            if workers.shared:
                _join(fleet, suites, progress)
            whole = all(one.done and one.done.code in (0, 1) for one in ended)
            fleet = replace(fleet, notes=tuple(notes), finished=now() if whole else None)
            write_fleet(fleet)
            return fleet, ended


def _placed(wanted: Fleet, request: Request, suites: Sequence[Suite], progress: Progress) -> Fleet:
    """The fleet with its folder: a new one, or with --resume the newest of these suites, or that of --out."""
    folder = request.out or (newest_fleet(list(wanted.suites)) if request.resume else None)
    if request.resume and folder and is_fleet(folder):
        progress.say(f"Going on with {folder}")
        fleet = resumed(folder, wanted)
        known = {gpu.resource for gpu in fleet.gpus}
        for gpu in wanted.gpus:
            if gpu.resource not in known:
                progress.say(f"{gpu.label} is left out: this fleet shared its cases among other GPUs")
        return fleet
    if folder and is_fleet(folder):
        raise InputError(f"--out {folder}: already holds a fleet; add --resume to go on with it")
    if folder and is_run(folder):
        raise InputError(f"--out {folder}: holds a run of one device; choose another folder for several GPUs")
    count = len(wanted.gpus)
    title = f"{count} gpu{'s' if count > 1 else ''}"
    return replace(wanted, folder=folder or new_folder(suites[0], title, progress, resume=False))


def _jobs(fleet: Fleet, suites: Sequence[Suite], paths: Mapping[str, Path], *, local: bool) -> list[Job]:
    """A job per suite and GPU. Of a shared suite with fewer cases than GPUs a job per case, on other GPUs each time."""
    found, turn, gpus = [], 0, fleet.gpus
    for suite in suites:
        count = min(len(gpus), len(suite.cases)) if fleet.shared else len(gpus)
        for number in range(count):
            gpu = gpus[(turn + number) % len(gpus)]
            part = f"{number + 1}/{count}"
            own = select_part(suite, part) if fleet.shared else suite
            job = Job(
                fleet=fleet.folder.name,
                label=gpu.label,
                resource=gpu.resource,
                suite=str(paths[suite.name].absolute()) if local else suite.name,
                digest=fleet.suites[suite.name],
                options=(*fleet.options, "--part", part) if fleet.shared else fleet.options,
                folder=str(fleet.place(gpu.label, suite.name).absolute()) if local else "",
                cases=len(own.cases),
            )
            found.append(job)
        turn += count
    return found


def _is_finished(fleet: Fleet, job: Job) -> bool:
    """Whether an earlier session has brought the whole run of this job."""
    folder = fleet.place(job.label, job.name)
    if not is_run(folder):
        return False
    run = read_run(folder)
    return not run.stopped and len({row.case for row in run.rows}) == job.cases


def _run(
    client: Client,
    found: Sequence[Job],
    fleet: Fleet,
    notes: list[str],
    gpus: Sequence[Gpu],
    progress: Progress,
    start: Start,
) -> tuple[Ended, ...]:
    """Every job as it ended. What is worth a remark is said, and added to `notes`, also when this is interrupted."""
    results: list[Ended] = []
    there = {gpu.resource for gpu in gpus}
    advance = start(found)

    def say(text: str) -> None:
        notes.append(text)
        progress.say(text)

    def ended(one: Ended) -> None:
        job, done = one.job, one.done
        results.append(one)
        if done is None:
            say(f"{job.label}: {job.name} was not finished: {one.lost}; --resume goes on")
            return
        _write(fleet.place(job.label, job.name), done.files)
        for line in done.said:
            say(f"{job.label}: {job.name}: {line}")
        if done.code not in (0, 1):
            say(f"{job.label}: {job.name} ended with code {done.code}; --resume goes on")
        else:
            advance(job.label, job.name, job.cases)

    for job in found:
        if job.resource not in there:
            ended(Ended(job, None, "no worker has this GPU now"))
    try:
        engine.run_jobs(client, [job for job in found if job.resource in there], advance, ended)
    finally:
        write_fleet(replace(fleet, notes=tuple(notes)))
    return tuple(results)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a run that another host sent; no other names than a run's."""
    if files:
        folder.mkdir(parents=True, exist_ok=True)
    for name in RUN_FILES:
        if name in files:
            write_whole(folder / name, files[name])


def _join(fleet: Fleet, suites: Sequence[Suite], progress: Progress) -> None:
    for suite in suites:
        parts = {
            gpu.label: path for gpu in fleet.gpus if is_run(path := fleet.place(gpu.label, suite.name))
        }  # of a suite with few cases not every GPU has a part
        if parts:
            run = join(parts, fleet.folder / suite.name, [case.key for case in suite.cases])
            if missing := len({case.key for case in suite.cases} - {row.case for row in run.rows}):
                progress.say(f"{suite.name}: {missing} of {len(suite.cases)} cases are missing; --resume goes on")


def _code_notes(members: Sequence[Member], progress: Progress) -> list[str]:
    """A sentence for each version in which the hosts differ from this one."""
    own = {name: str(value) for name, value in jobs.describe().items() if name != "gpu"}
    found = [
        f"{member.gpu.label} has another {name} than this host: {value}, here {own.get(name)}"
        for member in members
        for name, value in member.code.items()
        if value != own.get(name)
    ]
    for line in found:
        progress.say(line)
    return found
