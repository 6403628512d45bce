"""The program that Nsight Compute profiles: each implementation once, in an NVTX range named by its number.

    python -m kernelbench.measure.profiling.ncu_target JOB OUTCOMES

JOB is a pickled `ProfileJob` of the parent process. OUTCOMES gets a line of JSON per implementation
as soon as it has run.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TextIO

from kernelbench.core.contracts import Device
from kernelbench.core.errors import DeviceLost, reason_of
from kernelbench.core.records import Arrays, Binary, Case, LaunchPlan
from kernelbench.measure.placements import filled_arrays
from kernelbench.planning.catalog import Catalog, load_catalog
from kernelbench.planning.own_file import CuFile
from kernelbench.planning.twins import find_implementation


@dataclass(frozen=True)
class Item:
    """One implementation of one case; functions cannot be pickled, so the implementation is sent by name."""

    number: int  # names its NVTX range
    case: Case
    name: str
    plan: LaunchPlan | None
    binary: Binary | None


@dataclass(frozen=True)
class ProfileJob:
    """`items`: those of one case follow one another."""

    opener: Callable[[], Device]
    own: tuple[Path | CuFile, ...]  # the user's folders and files of kernels
    seed: int
    items: tuple[Item, ...]


Profiled = Callable[[str], AbstractContextManager[None]]


def launch_all(job: ProfileJob, profiled: Profiled, outcomes: TextIO) -> None:
    """Run each item twice: first as it comes, so that libraries compile and tune, then inside its range."""
    catalog, device = load_catalog(specimens=True, own=job.own), job.opener()
    for case, items in groupby(job.items, key=lambda item: item.case):
        arrays = filled_arrays(device, catalog.operations[case.operation], case, job.seed)
        for item in items:
            reason = ""
            try:
                _launch(device, catalog, item, arrays, profiled)
            except DeviceLost:
                raise
            except Exception as error:  # the others still run
                reason = reason_of(error)
            print(json.dumps({"number": item.number, "reason": reason}), file=outcomes, flush=True)
        del arrays
        device.release()


def _launch(device: Device, catalog: Catalog, item: Item, arrays: Arrays, profiled: Profiled) -> None:
    found = find_implementation(catalog.implementations[item.case.operation], item.name)
    executable = device.executable(found, item.case, item.plan, item.binary, arrays)
    executable()
    device.clock.wait()
    with profiled(str(item.number)):
        executable()
        device.clock.wait()


def main(arguments: Sequence[str]) -> None:
    from kernelbench.devices.cuda.profiling import nvtx_range

    with open(arguments[0], "rb") as file:
        job: ProfileJob = pickle.load(file)
    with open(arguments[1], "w", encoding="utf-8") as outcomes:
        launch_all(job, nvtx_range, outcomes)


if __name__ == "__main__":
    main(sys.argv[1:])
