"""Jobs to the workers of a fleet, and back what became of them.

Each GPU does its own jobs in order, one at a time; one that is free takes over what others have not begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kernelbench.core.errors import reason_of
from kernelbench.fleet import jobs
from kernelbench.fleet.jobs import FleetJob, JobOutput

if TYPE_CHECKING:
    from distributed import Client, Future

ABSENT_S = 60.0  # after which a GPU whose worker is gone counts as lost; a nanny starts another one in 3 s
_STOP_S = 30.0  # for the runs of a fleet to end after Ctrl-C
_POLL_S = 0.2
_ANSWER_S = 15.0
LOST_WORKER = "its worker was lost"
LOST_SCHEDULER = "the scheduler was lost"
NOT_BEGUN = "it had not begun"
Advance = Callable[[str, str, int], None]  # label of a GPU, suite, finished cases


@dataclass(frozen=True)
class JobOutcome:
    """A job that is over: with what its worker returned, or why there is nothing."""

    job: FleetJob
    done: JobOutput | None
    lost: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the whole run is there, be it with failed rows."""
        return self.done is not None and self.done.code in (0, 1)


class Queues:
    """Jobs by GPU. Loads were dealt by the times of other runs, so they come out uneven."""

    def __init__(
        self, found: Sequence[FleetJob], gpus: Iterable[str], take_over: Callable[[FleetJob, str], FleetJob] | None
    ) -> None:
        """`gpus`: all by resource, also those without a job. `take_over(job, resource)`: the job as that GPU
        takes it over; None if each GPU does only its own."""
        self._take_over = take_over
        self._failing: set[str] = set()
        self._queues = {resource: [job for job in found if job.resource == resource] for resource in gpus}

    @property
    def left(self) -> bool:
        return any(self._queues.values())

    def next_jobs(self, busy: Container[str]) -> Iterator[FleetJob]:
        """A job for each GPU that is not busy, if there is one: its own first, then the longest of the GPU that has the
        most left. A part of a suite stays where it is: the GPU that is free may have another part of it."""
        free = [resource for resource in self._queues if resource not in busy]
        for resource in free:
            if self._queues[resource]:
                yield self._queues[resource].pop(0)
            elif self._take_over and resource not in self._failing and (job := self._longest()):
                self._queues[job.resource].remove(job)
                yield self._take_over(job, resource)

    def _longest(self) -> FleetJob | None:
        """The longest whole suite of the GPU with the most left."""
        for queue in sorted(self._queues.values(), key=lambda queue: -sum(job.cost for job in queue)):
            if whole := [job for job in queue if job.is_whole]:
                return max(whole, key=lambda job: job.cost)
        return None

    def no_take_over(self, resource: str) -> None:
        """This GPU takes over no other job: one of its own failed as a whole, and others might fail as fast."""
        self._failing.add(resource)

    def give_up(self, resource: str | None = None) -> list[FleetJob]:
        """The jobs of a GPU, or of all, which nobody is to do any more."""
        given = [job for own, queue in self._queues.items() if resource in (None, own) for job in queue]
        for own in self._queues:
            if resource in (None, own):
                self._queues[own] = []
        return given


def run_jobs(
    client: Client,
    found: Sequence[FleetJob],
    gpus: Collection[str],
    advance: Advance,
    ended: Callable[[JobOutcome], None],
    take_over: Callable[[FleetJob, str], FleetJob] | None = None,
) -> None:
    """Call `ended` with each job as it ends, in any order. One that is lost is not tried again: --resume does that.

    `gpus`: those that have a worker, by resource. `take_over`: the job of another GPU for one that has no more of its
    own; None where each GPU does its own alone. On KeyboardInterrupt the runs of all workers are stopped; what they
    have finished comes back before it goes on.
    """
    if not found:
        return
    fleet = found[0].fleet
    topic = jobs.topic_of(fleet)
    client.subscribe_topic(topic, lambda event: advance(event[1]["label"], event[1]["suite"], event[1]["cases"]))
    queues = Queues(found, gpus, take_over)
    waiting: dict[Future, FleetJob] = {}  # one per GPU at most
    seen = dict.fromkeys(gpus, time.monotonic())
    try:
        while waiting or queues.left:
            for one in _collect(waiting, ended):
                if not one.is_complete:
                    queues.no_take_over(one.job.resource)
            _look_for_workers(client, seen)
            _give_up(client, waiting, queues, seen, ended)
            ready = client.status == "running"  # else there is nobody to submit to
            for job in queues.next_jobs({job.resource for job in waiting.values()}) if ready else ():
                future = client.submit(jobs.measure, asdict(job), resources={job.resource: 1}, pure=False, retries=0)
                waiting[future] = job
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        for job in queues.give_up():
            ended(JobOutcome(job, None, NOT_BEGUN))
        _stop(client, waiting, fleet, ended)
        raise


def _collect(waiting: dict[Future, FleetJob], ended: Callable[[JobOutcome], None]) -> list[JobOutcome]:
    over = [future for future in waiting if future.done()]
    found = [_ended(future, waiting.pop(future)) for future in over]
    for one in found:
        ended(one)
    return found


def _ended(future: Future, job: FleetJob) -> JobOutcome:
    from distributed import KilledWorker

    if future.status == "finished":
        with suppress(OSError, TimeoutError):
            values = future.result(timeout=_ANSWER_S)
            return JobOutcome(job, JobOutput(values["code"], tuple(values["said"]), values["files"]))
        return JobOutcome(job, None, LOST_WORKER)  # between its last word and our question
    if future.status != "error":
        return JobOutcome(job, None, LOST_SCHEDULER)
    error = future.exception(timeout=_ANSWER_S)
    return JobOutcome(job, None, LOST_WORKER if isinstance(error, KilledWorker) else reason_of(error))


def _look_for_workers(client: Client, seen: dict[str, float]) -> None:
    """Note which GPUs have a worker now."""
    if client.status != "running":
        return
    for worker in client.scheduler_info(n_workers=-1)["workers"].values():
        seen.update(dict.fromkeys(seen.keys() & worker["resources"].keys(), time.monotonic()))


def _give_up(
    client: Client,
    waiting: dict[Future, FleetJob],
    queues: Queues,
    seen: Mapping[str, float],
    ended: Callable[[JobOutcome], None],
) -> None:
    """End jobs that nobody will do: those of a GPU without a worker, and all of a client without a scheduler."""
    now = time.monotonic()
    lost = LOST_SCHEDULER if client.status != "running" else LOST_WORKER
    for resource, last in seen.items():
        if client.status != "closed" and now - last <= ABSENT_S:
            continue
        for future, job in list(waiting.items()):
            if job.resource == resource:
                ended(JobOutcome(job, None, lost))
                del waiting[future]
                with suppress(Exception):  # there may be nobody to tell
                    future.cancel()
        for job in queues.give_up(resource):
            ended(JobOutcome(job, None, lost))


def _stop(client: Client, waiting: dict[Future, FleetJob], fleet: str, ended: Callable[[JobOutcome], None]) -> None:
    """Stop running jobs, and end them with what they have finished; those that had not begun are given up."""
    running = {key for keys in client.processing().values() for key in keys}
    for future, job in list(waiting.items()):
        if not future.done() and future.key not in running:
            ended(JobOutcome(job, None, NOT_BEGUN))
            del waiting[future]
            future.cancel()
    with suppress(OSError, TimeoutError):
        client.run(jobs.stop, fleet, on_error="ignore")
    end_s = time.monotonic() + _STOP_S
    while waiting and time.monotonic() < end_s:
        _collect(waiting, ended)
        time.sleep(_POLL_S)
