"""The Dask cluster of a fleet: that of this host, or one that runs already, and the workers that hosts offer it."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kernelbench.core.errors import InputError, MissingLibrary
from kernelbench.core.libraries import pip_install
from kernelbench.fleet import jobs, private
from kernelbench.fleet.dispatch import ABSENT_S
from kernelbench.fleet.gpus import FleetGpu, fleet_gpu_from_mapping, told_apart
from kernelbench.fleet.jobs import LOCAL_VARIABLE

if TYPE_CHECKING:
    from distributed import Client, Nanny, Security

_POLL_S = 0.2
_CONNECT_S = 15.0
_START_S = 120.0  # for a worker process, on a host that is busy
_CLOSE_S = 10.0  # for nannies to end their workers, which end with this process in any case
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class OfferedGpu:
    """A GPU that workers offer, and the code that they would run."""

    gpu: FleetGpu
    code: Mapping[str, str]


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


def nanny_options(gpu: FleetGpu, folder: Path, host: str) -> dict[str, Any]:
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
def of_this_host(gpus: Sequence[FleetGpu]) -> Iterator[Client]:
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


async def offer(gpus: Sequence[FleetGpu], address: str, security: Security, say: Callable[[str], None]) -> None:
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


def cluster_members(client: Client) -> tuple[OfferedGpu, ...]:
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
    return tuple(
        OfferedGpu(gpu, codes[gpu.resource]) for gpu in told_apart(fleet_gpu_from_mapping(one["gpu"]) for one in found)
    )
