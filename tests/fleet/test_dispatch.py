"""Which job a GPU of a fleet does next."""

from dataclasses import replace
from pathlib import Path

from kernelbench.fleet.client import _on, jobs_of
from kernelbench.fleet.dispatch import Queues
from kernelbench.fleet.folder import Fleet
from kernelbench.fleet.gpus import named_gpus
from kernelbench.fleet.jobs import FleetJob

JOB = FleetJob("f", "h200", "one", "a", "", (), "", 6, 6.0)
A, B, C = (replace(JOB, suite=name, cost=cost) for name, cost in (("a", 9.0), ("b", 2.0), ("c", 5.0)))
D = replace(JOB, suite="d", resource="two", cost=1.0)


def on(job: FleetJob, resource: str) -> FleetJob:
    return replace(job, resource=resource)


def test_each_gpu_does_its_own_in_order() -> None:
    queues = Queues([A, B, C, D], ["one", "two"], on)
    assert list(queues.next_jobs(())) == [A, D]
    assert list(queues.next_jobs({"one", "two"})) == []
    assert list(queues.next_jobs({"two"})) == [B]


def test_a_gpu_that_is_free_takes_the_longest_that_another_has_not_begun() -> None:
    queues = Queues([A, B, C, D], ["one", "two", "idle"], on)
    assert list(queues.next_jobs(())) == [A, D, on(C, "idle")], "also one that never had a job"
    assert list(queues.next_jobs({"one", "idle"})) == [on(B, "two")]
    assert not queues.left
    alone = Queues([A, B, C, D], ["one", "two"], None)
    assert list(alone.next_jobs({"one"})) == [D]
    assert list(alone.next_jobs({"one"})) == [], "where every GPU measures every row"


def test_a_gpu_whose_job_failed_takes_over_no_other() -> None:
    queues = Queues([A, B, C, D], ["one", "two"], on)
    assert list(queues.next_jobs(())) == [A, D]
    queues.no_take_over("two")
    assert list(queues.next_jobs({"one"})) == []
    assert list(queues.next_jobs({"two"})) == [B], "the other goes on"


def test_a_part_of_a_suite_stays_with_its_gpu() -> None:
    part = replace(A, options=("--part", "1/2"))
    queues = Queues([B, part], ["one", "two"], on)
    assert list(queues.next_jobs({"two"})) == [B]
    assert list(queues.next_jobs({"one"})) == []
    assert queues.left


def test_what_nobody_will_do_is_given_up() -> None:
    queues = Queues([A, B, D], ["one", "two"], None)
    assert queues.give_up("one") == [A, B]
    assert queues.give_up() == [D]
    assert not queues.left


def test_resume_finds_a_suite_where_another_gpu_has_taken_it(tmp_path: Path) -> None:
    from kernelbench.core import places
    from kernelbench.suite import find_suite, read_suite
    from tests.catalog import catalog

    known = catalog(specimens=True)
    names = ("softmax", "relu")
    paths = {name: find_suite(name, places.SUITES) for name in names}
    suites = [read_suite(paths[name], known.operations, known.implementations) for name in names]
    gpus = named_gpus("simulated:h200,simulated:h200")
    fleet = Fleet(tmp_path, "", "", dict.fromkeys(names, ""), (), True, gpus)
    first = {job.name: job for job in jobs_of(fleet, suites, paths, local=True)}
    assert first["softmax"].label != first["relu"].label
    again = jobs_of(replace(fleet, taken_over={"relu": first["softmax"].label}), suites, paths, local=True)
    taken = {job.name: job for job in again}["relu"]
    assert taken == _on(fleet, first["relu"], next(gpu for gpu in gpus if gpu.label == first["softmax"].label))
    assert taken.folder == str(tmp_path / "parts" / taken.label / "relu")
