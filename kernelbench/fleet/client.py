"""A fleet on the client's side: the jobs that suites make, what comes back of each, and parts joined into runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench.core.progress import Progress
from kernelbench.core.records import Suite
from kernelbench.core.writing import write_whole
from kernelbench.fleet.dispatch import Advance, JobOutcome, run_jobs
from kernelbench.fleet.folder import Fleet, write_fleet
from kernelbench.fleet.gpus import FleetGpu
from kernelbench.fleet.jobs import RUN_FILES, FleetJob
from kernelbench.fleet.sharing import Share, costs_of, shares_of
from kernelbench.runs.folders import is_run
from kernelbench.runs.joining import join_runs
from kernelbench.runs.results import read_run
from kernelbench.suite import select_part

if TYPE_CHECKING:
    from distributed import Client

Start = Callable[[Sequence[FleetJob], str | None], Advance]  # shows jobs, taken from the GPU of a label if given


def jobs_of(fleet: Fleet, suites: Sequence[Suite], paths: Mapping[str, Path], *, local: bool) -> list[FleetJob]:
    """A job per suite and GPU; where GPUs share the cases, as `sharing` deals them."""
    costs = costs_of(suites, fleet.gpus[0].kind, changed=bool(fleet.options))
    if fleet.shared:
        shares = shares_of(costs, [len(suite.cases) for suite in suites], len(fleet.gpus))
    else:
        shares = [Share(suite, gpu) for suite in range(len(suites)) for gpu in range(len(fleet.gpus))]
    labels = {gpu.label: gpu for gpu in fleet.gpus}
    found = []
    for share in shares:
        suite, gpu = suites[share.suite], fleet.gpus[share.gpu]
        if not share.part:
            gpu = labels.get(fleet.taken_over.get(suite.name, ""), gpu)
        own = select_part(suite, share.part) if share.part else suite
        job = FleetJob(
            fleet=fleet.folder.name,
            label=gpu.label,
            resource=gpu.resource,
            suite=str(paths[suite.name].absolute()) if local else suite.name,
            digest=fleet.suites[suite.name],
            options=(*fleet.options, "--part", share.part) if share.part else fleet.options,
            folder=str(fleet.place(gpu.label, suite.name).absolute()) if local else "",
            cases=len(own.cases),
            cost=costs[share.suite] * len(own.cases) / len(suite.cases),
        )
        found.append(job)
    return found


def _on(fleet: Fleet, job: FleetJob, gpu: FleetGpu) -> FleetJob:
    """The same job on another GPU."""
    folder = str(fleet.place(gpu.label, job.name).absolute()) if job.folder else ""
    return replace(job, label=gpu.label, resource=gpu.resource, folder=folder)


def is_finished(fleet: Fleet, job: FleetJob) -> bool:
    """Whether an earlier session has brought the whole run of this job."""
    folder = fleet.place(job.label, job.name)
    if not is_run(folder):
        return False
    run = read_run(folder)
    return not run.stopped and len({row.case for row in run.rows}) == job.cases


def run_all(
    client: Client,
    found: Sequence[FleetJob],
    fleet: Fleet,
    notes: list[str],
    there: frozenset[str],
    progress: Progress,
    start: Start,
) -> tuple[Fleet, tuple[JobOutcome, ...]]:
    """The fleet as it came out, and every job as it ended; `there`: the GPUs that have a worker, by resource.

    What is worth a remark is said, and added to `notes`, also when this is interrupted.
    """
    results: list[JobOutcome] = []
    advance = start(found, None)
    gpus = {gpu.resource: gpu for gpu in fleet.gpus if gpu.resource in there}
    taken_over = dict(fleet.taken_over)

    def written() -> Fleet:
        now = replace(fleet, notes=tuple(notes), taken_over=dict(taken_over))
        write_fleet(now)
        return now

    def take_over(job: FleetJob, resource: str) -> FleetJob:
        taken = _on(fleet, job, gpus[resource])
        taken_over[job.name] = taken.label
        written()  # before it begins: --resume then finds it there
        start([taken], job.label)
        return taken

    def say(text: str) -> None:
        notes.append(text)
        progress.say(text)

    def ended(one: JobOutcome) -> None:
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
        if job.resource not in gpus:
            ended(JobOutcome(job, None, "no worker has this GPU now"))
    try:
        ready = [job for job in found if job.resource in gpus]
        run_jobs(client, ready, gpus, advance, ended, take_over if fleet.shared else None)
    finally:
        fleet = written()
    return fleet, tuple(results)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a run that another host sent; no other names than a run's."""
    if files:
        folder.mkdir(parents=True, exist_ok=True)
    for name in RUN_FILES:
        if name in files:
            write_whole(folder / name, files[name])


def join_parts(fleet: Fleet, suites: Sequence[Suite], progress: Progress) -> None:
    """Join what the GPUs have of each suite; what is missing is said."""
    for suite in suites:
        parts = {
            gpu.label: path for gpu in fleet.gpus if is_run(path := fleet.place(gpu.label, suite.name))
        }  # not every GPU has a part of each suite
        if parts:
            run = join_runs(parts, fleet.folder / suite.name, [case.key for case in suite.cases])
            if missing := len({case.key for case in suite.cases} - {row.case for row in run.rows}):
                progress.say(f"{suite.name}: {missing} of {len(suite.cases)} cases are missing; --resume goes on")
