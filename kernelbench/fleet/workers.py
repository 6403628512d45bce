"""The workers of a fleet, which GPUs they have, and whether they run the code of this host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench.core.errors import InputError
from kernelbench.fleet import engine, jobs
from kernelbench.fleet.engine import OfferedGpu
from kernelbench.fleet.gpus import FleetGpu, named_gpus

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Workers:
    """Which GPUs measure: those that `gpus` names on this host, or those of a `cluster`, an address."""

    gpus: str = ""
    cluster: str = ""
    tls: Path | None = None
    shared: bool = False  # whether they share the cases; else each measures all

    @contextmanager
    def started(self) -> Iterator[tuple[Client, tuple[OfferedGpu, ...]]]:
        if self.cluster:
            with engine.of_a_cluster(self.cluster, self.tls) as client:
                yield client, engine.cluster_members(client)
            return
        gpus = named_gpus(self.gpus)
        self.check(gpus)
        with engine.of_this_host(gpus) as client:
            yield client, tuple(OfferedGpu(gpu, {}) for gpu in gpus)

    def check(self, gpus: Sequence[FleetGpu]) -> None:
        """InputError where these GPUs cannot share cases."""
        kinds = sorted({gpu.kind for gpu in gpus})
        if self.shared and len(kinds) > 1:
            raise InputError(
                f"--share: the GPUs are of different kinds ({', '.join(kinds)}), whose times do not belong in one run; "
                "leave --share out, and each measures every case"
            )


def version_differences(members: Sequence[OfferedGpu]) -> list[str]:
    """A sentence for each version in which the hosts differ from this one."""
    own = {name: str(value) for name, value in jobs.describe_worker().items() if name != "gpu"}
    return [
        f"{member.gpu.label} has another {name} than this host: {value}, here {own.get(name)}"
        for member in members
        for name, value in member.code.items()
        if value != own.get(name)
    ]
