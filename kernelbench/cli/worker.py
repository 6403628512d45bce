"""The command `worker`: lends the GPUs of this host to fleets."""

import asyncio
from pathlib import Path

import click

from kernelbench.cli.options import TEXT, TLS
from kernelbench.cli.terminal import say, warn
from kernelbench.core.errors import InputError


@click.command()
@click.argument("address", type=TEXT, required=False, metavar="[ADDRESS]")
@click.option(
    "--gpus",
    type=TEXT,
    default="all",
    show_default=True,
    metavar="GPU,..",
    help="The GPUs to lend, named as in `run --gpus`.",
)
@TLS
@click.option(
    "--make-tls",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a new key for a cluster to this file, and exit.",
)
def worker(address: str | None, gpus: str, tls: Path | None, make_tls: Path | None) -> int:
    """Lend the GPUs of this host to `run --cluster` until the Dask scheduler at ADDRESS ends.

    `run --cluster` sends names of suites and options. This host runs its own suites and kernels, and refuses suites
    that differ from the sender's. Dask lets whoever holds the cluster's key run any program here, so if the
    scheduler is on another host, ADDRESS must be tls://HOST:PORT.

    \b
    Examples:
      kernelbench worker --make-tls fleet.pem
      kernelbench worker tls://node1:8786 --tls fleet.pem
      kernelbench worker tcp://127.0.0.1:8786 --gpus simulated:a100,simulated:h200
    """
    from kernelbench.fleet import engine, private
    from kernelbench.fleet.gpus import named_gpus

    engine.require_dask()
    if make_tls:
        private.make_tls(make_tls)
        say(f"{make_tls}: copy it to every host of the cluster, and keep it from others")
        return 0
    if address is None:
        raise InputError("ADDRESS is missing: tls://HOST:PORT of a Dask scheduler")
    security = private.security_of(address, tls)
    try:
        asyncio.run(engine.offer(named_gpus(gpus), address, security, warn))
    except OSError as error:
        raise InputError(f"{address}: no scheduler answers ({error})") from error
    warn(f"{address}: the scheduler has ended")
    return 1
