"""Jobs to workers and back, on Dask: a cluster of this host, or one that runs already."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kernelbench.core.errors import InputError, MissingLibrary, reason_of
from kernelbench.core.libraries import pip_install
from kernelbench.fleet import jobs, private
from kernelbench.fleet.gpus import Gpu, gpu_of, told_apart
from kernelbench.fleet.jobs import LOCAL_VARIABLE, Done, Job
from kernelbench.fleet.queues import Queues

if TYPE_CHECKING:
    from distributed import Client, Future, Nanny, Security

ABSENT_S = 60.0  # after which a GPU whose worker is gone counts as lost; a nanny starts another one in 3 s
_STOP_S = 30.0  # for the runs of a fleet to end after Ctrl-C
_POLL_S = 0.2
_CONNECT_S = 15.0
_START_S = 120.0  # for a worker process, on a host that is busy
_CLOSE_S = 10.0  # for nannies to end their workers, which end with this process in any case
_LOOPBACK = "127.0.0.1"
LOST_WORKER = "its worker was lost"
LOST_SCHEDULER = "the scheduler was lost"
NOT_BEGUN = "it had not begun"


@dataclass(frozen=True)
class Ended:
    """A job that is over: with what its worker returned, or why there is nothing."""

    job: Job
    done: Done | None
    lost: str = ""

    @property
    def is_well(self) -> bool:
        """Whether the whole run is there, be it with failed rows."""
        return self.done is not None and self.done.code in (0, 1)


@dataclass(frozen=True)
class Member:
    """A GPU that workers offer, and the code that they would run."""

    gpu: Gpu
    code: Mapping[str, str]


Advance = Callable[[str, str, int], None]  # label of a GPU, suite, finished cases


def require_dask() -> None:
    """MissingLibrary, with the command that installs it; its log lines, also of its processes, are left out."""
    os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")
    try:
        import dask
        import distributed  # noqa: F401
    except ImportError as error:
        raise MissingLibrary(f"Dask is not installed; try: {pip_install('fleet')}") from error
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL + 1)
    dask.config.set({
        "distributed.scheduler.allowed-failures": 0,  # else what was in flight is measured again, on the same GPU
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.comm.timeouts.connect": f"{_CONNECT_S:.0f}s",
    })  # fmt: skip


def nanny_options(gpu: Gpu, folder: Path, host: str) -> dict[str, Any]:
    """How a nanny keeps the worker of one GPU, which does one job at a time.

    `folder`: for what Dask writes. `host`: the address at which both listen; without one Dask takes every interface.
    """
    return {
        "host": host,
        "dashboard_address": f"{_LOOPBACK}:0",
        "nthreads": 1,
        "resources": {gpu.resource: 1},
        "env": gpu.worker_environment,
        "memory_limit": None,
        "local_directory": str(folder),
        "dashboard": False,
    }


@contextmanager
def of_this_host(gpus: Sequence[Gpu]) -> Iterator[Client]:
    """A scheduler in this process, and a worker process for each GPU. Only this process has the key to them."""
    require_dask()
    from distributed import Client, Nanny, Scheduler, SpecCluster

    with TemporaryDirectory(prefix="kernelbench-fleet-") as folder:
        options = [nanny_options(gpu, Path(folder), _LOOPBACK) for gpu in gpus]
        for one in options:
            one["env"][LOCAL_VARIABLE] = "1"
        security = private.temporary()
        listening = {"host": _LOOPBACK, "protocol": "tls://", "security": security}
        cluster = SpecCluster(
            workers={
                gpu.label: {"cls": Nanny, "options": {**one, **listening}}
                for gpu, one in zip(gpus, options, strict=True)
            },
            scheduler={
                "cls": Scheduler, "options": {**listening, "dashboard": False, "dashboard_address": f"{_LOOPBACK}:0"},
            },
            security=security,
            silence_logs=logging.CRITICAL,
        )  # fmt: skip
        with closing(cluster), closing(Client(cluster, set_as_default=False)) as client:
            yield client


async def offer(gpus: Sequence[Gpu], address: str, security: Security, say: Callable[[str], None]) -> None:
    """Keep a worker for each GPU at the scheduler until that ends. OSError where no scheduler answers."""
    from distributed import Nanny
    from distributed.comm import get_local_address_for

    await _probe(address, security)
    with TemporaryDirectory(prefix="kernelbench-worker-") as folder:
        host = urlsplit(get_local_address_for(address)).hostname or _LOOPBACK  # of the interface that leads there
        nannies = [
            Nanny(address, security=security, death_timeout=_START_S, **nanny_options(gpu, Path(folder), host))
            for gpu in gpus
        ]
        try:
            await asyncio.gather(*nannies)
            say(f"{', '.join(gpu.label for gpu in gpus)} at {address}; Ctrl-C ends it")
            await _until_gone(nannies, address, security)
        finally:
            await asyncio.wait([asyncio.create_task(nanny.close()) for nanny in nannies], timeout=_CLOSE_S)


async def _probe(address: str, security: Security) -> None:
    """OSError where no scheduler answers."""
    from distributed.comm import connect

    await (await connect(address, timeout=_CONNECT_S, **security.get_connection_args("worker"))).close()


async def _until_gone(nannies: Sequence[Nanny], address: str, security: Security) -> None:
    """Wait until every nanny has ended, as each does when its worker loses the scheduler; or until those that are left
    have no worker, because it was to be started again just when the scheduler ended."""
    from distributed import Status

    ending = [asyncio.create_task(nanny.finished()) for nanny in nannies]
    while (await asyncio.wait(ending, timeout=_CONNECT_S))[1]:
        left = [one for one in nannies if one.status not in (Status.closed, Status.closing)]
        if any(one.process and one.process.status == Status.running for one in left):
            continue
        try:
            await _probe(address, security)
        except OSError:
            return


@contextmanager
def of_a_cluster(address: str, tls: Path | None) -> Iterator[Client]:
    """A cluster of hosts. InputError where its scheduler does not answer."""
    require_dask()
    security = private.security_of(address, tls)
    from distributed import Client

    try:
        client = Client(address, security=security, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise InputError(f"--cluster {address}: no scheduler answers ({error})") from error
    with closing(client):
        yield client


def cluster_members(client: Client) -> tuple[Member, ...]:
    """What the workers of a cluster offer; InputError without a GPU, or where two offer the same.

    A worker that ends while it is asked, and comes back, is asked again.
    """
    end_s = time.monotonic() + ABSENT_S
    answers = client.run(jobs.describe_worker, on_error="return")
    while any(isinstance(one, Exception) for one in answers.values()) and time.monotonic() < end_s:
        time.sleep(_POLL_S)
        answers = client.run(jobs.describe_worker, on_error="return")
    found = [one for one in answers.values() if isinstance(one, dict) and one["gpu"]]
    if not found:
        raise InputError("no worker of the cluster has a GPU yet; start `kernelbench worker ADDRESS` on each host")
    codes = {one["gpu"]["resource"]: {name: str(one[name]) for name in one if name != "gpu"} for one in found}
    return tuple(Member(gpu, codes[gpu.resource]) for gpu in told_apart(gpu_of(one["gpu"]) for one in found))


def run_jobs(
    client: Client,
    found: Sequence[Job],
    gpus: Collection[str],
    advance: Advance,
    ended: Callable[[Ended], None],
    take_over: Callable[[Job, str], Job] | None = None,
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
    waiting: dict[Future, Job] = {}  # one per GPU at most
    seen = dict.fromkeys(gpus, time.monotonic())
    try:
        while waiting or queues.left:
            for one in _collect(waiting, ended):
                if not one.is_well:
                    queues.leave_alone(one.job.resource)
            _look_for_workers(client, seen)
            _give_up(client, waiting, queues, seen, ended)
            ready = client.status == "running"  # else there is nobody to submit to
            for job in queues.next_jobs({job.resource for job in waiting.values()}) if ready else ():
                future = client.submit(jobs.measure, asdict(job), resources={job.resource: 1}, pure=False, retries=0)
                waiting[future] = job
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        for job in queues.give_up():
            ended(Ended(job, None, NOT_BEGUN))
        _stop(client, waiting, fleet, ended)
        raise


def _collect(waiting: dict[Future, Job], ended: Callable[[Ended], None]) -> list[Ended]:
    over = [future for future in waiting if future.done()]
    found = [_ended(future, waiting.pop(future)) for future in over]
    for one in found:
        ended(one)
    return found


def _ended(future: Future, job: Job) -> Ended:
    from distributed import KilledWorker

    if future.status == "finished":
        with suppress(OSError, TimeoutError):
            values = future.result(timeout=_CONNECT_S)
            return Ended(job, Done(values["code"], tuple(values["said"]), values["files"]))
        return Ended(job, None, LOST_WORKER)  # between its last word and our question
    if future.status != "error":
        return Ended(job, None, LOST_SCHEDULER)
    error = future.exception(timeout=_CONNECT_S)
    return Ended(job, None, LOST_WORKER if isinstance(error, KilledWorker) else reason_of(error))


def _look_for_workers(client: Client, seen: dict[str, float]) -> None:
    """Note which GPUs have a worker now."""
    if client.status != "running":
        return
    for worker in client.scheduler_info(n_workers=-1)["workers"].values():
        seen.update(dict.fromkeys(seen.keys() & worker["resources"].keys(), time.monotonic()))


def _give_up(
    client: Client,
    waiting: dict[Future, Job],
    queues: Queues,
    seen: Mapping[str, float],
    ended: Callable[[Ended], None],
) -> None:
    """End jobs that nobody will do: those of a GPU without a worker, and all of a client without a scheduler."""
    now = time.monotonic()
    lost = LOST_SCHEDULER if client.status != "running" else LOST_WORKER
    for resource, last in seen.items():
        if client.status != "closed" and now - last <= ABSENT_S:
            continue
        for future, job in list(waiting.items()):
            if job.resource == resource:
                ended(Ended(job, None, lost))
                del waiting[future]
                with suppress(Exception):  # there may be nobody to tell
                    future.cancel()
        for job in queues.give_up(resource):
            ended(Ended(job, None, lost))


def _stop(client: Client, waiting: dict[Future, Job], fleet: str, ended: Callable[[Ended], None]) -> None:
    """Stop running jobs, and end them with what they have finished; those that had not begun are given up."""
    running = {key for keys in client.processing().values() for key in keys}
    for future, job in list(waiting.items()):
        if not future.done() and future.key not in running:
            ended(Ended(job, None, NOT_BEGUN))
            del waiting[future]
            future.cancel()
    with suppress(OSError, TimeoutError):
        client.run(jobs.stop, fleet, on_error="ignore")
    end_s = time.monotonic() + _STOP_S
    while waiting and time.monotonic() < end_s:
        _collect(waiting, ended)
        time.sleep(_POLL_S)
