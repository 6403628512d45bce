"""Jobs of a fleet that have not begun: each GPU does its own in order; one that is free takes over what others have."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from kernelbench.fleet.jobs import Job


class Queues:
    """Jobs by GPU. Times of suites are known from other runs only, so the loads that were dealt come out uneven."""

    def __init__(self, found: Sequence[Job], gpus: Iterable[str], take_over: Callable[[Job, str], Job] | None) -> None:
        """`gpus`: all by resource, also those without a job. `take_over`: the job of one for another; None where each
        does its own alone."""
        self._take_over = take_over
        self._failing: set[str] = set()
        self._queues = {resource: [job for job in found if job.resource == resource] for resource in gpus}

    @property
    def left(self) -> bool:
        return any(self._queues.values())

    def next_jobs(self, busy: Container[str]) -> Iterator[Job]:
        """A job for each GPU that is not busy, if there is one: its own first, then the longest of the GPU that has the
        most left. A part of a suite stays where it is: the GPU that is free may have another part of it."""
        free = [resource for resource in self._queues if resource not in busy]
        for resource in free:
            if self._queues[resource]:
                yield self._queues[resource].pop(0)
            elif self._take_over and resource not in self._failing and (job := self._longest()):
                self._queues[job.resource].remove(job)
                yield self._take_over(job, resource)

    def _longest(self) -> Job | None:
        """The longest whole suite of the GPU with the most left."""
        for queue in sorted(self._queues.values(), key=lambda queue: -sum(job.cost for job in queue)):
            if whole := [job for job in queue if job.is_whole]:
                return max(whole, key=lambda job: job.cost)
        return None

    def leave_alone(self, resource: str) -> None:
        """A job of this GPU did not end well. So it takes over no other, which it might fail as fast."""
        self._failing.add(resource)

    def give_up(self, resource: str | None = None) -> list[Job]:
        """The jobs of a GPU, or of all, which nobody is to do any more."""
        given = [job for own, queue in self._queues.items() if resource in (None, own) for job in queue]
        for own in self._queues:
            if resource in (None, own):
                self._queues[own] = []
        return given
