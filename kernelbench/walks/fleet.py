"""fleet: suites -> GPUs -> jobs -> workers -> run folders -> joined -> one page. `run` on many GPUs at once."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.core.progress import Progress
from kernelbench.fleet import jobs
from kernelbench.fleet.client import Start, is_finished, jobs_of, join_parts, run_all
from kernelbench.fleet.dispatch import JobOutcome
from kernelbench.fleet.folder import Fleet, place_fleet, write_fleet
from kernelbench.fleet.workers import Workers, version_differences
from kernelbench.planning.catalog import load_catalog
from kernelbench.runs.environment import command_text, utc_now
from kernelbench.runs.folders import folder_to_itself
from kernelbench.suite import find_suite
from kernelbench.walks.request import Request, read_suites


def run_fleet(
    request: Request, options: Sequence[str], workers: Workers, progress: Progress, start: Start
) -> tuple[Fleet, tuple[JobOutcome, ...]]:
    """Measure the suites on every GPU, or shared among them. The fleet, and what became of each job.

    `options`: those of the command line that every worker's `kernelbench run` gets too.
    """
    suites = read_suites(request, load_catalog(specimens=True, own=request.kernels), progress)
    paths = {suite.name: find_suite(name, places.SUITES) for name, suite in zip(request.suites, suites, strict=True)}
    if len(paths) < len(suites):
        raise InputError("two of the suites have the same name, and so would have the same folder")
    if workers.cluster:
        jobs.require_names([*paths, *([request.out.name] if request.out else ())])
    with workers.started() as (client, members):
        gpus = tuple(member.gpu for member in members)
        workers.check(gpus)
        wanted = Fleet(
            Path(), command_text(request.arguments), utc_now(), {name: jobs.digest_of(paths[name]) for name in paths},
            tuple(options), workers.shared, gpus,
        )  # fmt: skip
        fleet = place_fleet(wanted, request.out, suites[0], progress, resume=request.resume)
        with folder_to_itself(fleet.folder):
            notes = [*fleet.notes, *version_differences(members)]
            for line in notes[len(fleet.notes) :]:
                progress.say(line)
            write_fleet(replace(fleet, notes=tuple(notes)))
            found = jobs_of(fleet, suites, paths, local=not workers.cluster)
            left = [job for job in found if not is_finished(fleet, job)]
            if len(left) < len(found):
                progress.say(f"{len(found) - len(left)} of {len(found)} runs are finished")
            there = frozenset(gpu.resource for gpu in gpus)
            fleet, ended = run_all(client, left, fleet, notes, there, progress, start)
            if workers.shared:
                join_parts(fleet, suites, progress)
            whole = all(one.is_complete for one in ended)
            fleet = replace(fleet, finished=utc_now() if whole else None)
            write_fleet(fleet)
            return fleet, ended
