"""Launch plans of broken.cu, and calls that ask for more memory than there is, or end the process."""

import os
from collections.abc import Callable
from functools import partial

from kernelbench import (
    Arrays,
    Case,
    DeviceProperties,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
    Scalar,
    import_library,
)

FAULTS = {"illegal_address": 1, "misaligned": 2, "endless": 3, "trap": 4, "assertion": 5}


def plan(case: Case, device: DeviceProperties, fault: int) -> LaunchPlan:
    launch = Launch("broken_f32", (1, 1, 1), (32, 1, 1), ("x", "y", Scalar("int64", case.elements)))
    return LaunchPlan((launch,), defines=(("FAULT", fault),))


def too_large(case: Case, device: DeviceProperties) -> LaunchPlan:
    """More shared memory than a block may have."""
    launch = Launch("broken_f32", (1, 1, 1), (32, 1, 1), ("x", "y", Scalar("int64", 1)), shared_bytes=2**20)
    return LaunchPlan((launch,), defines=(("FAULT", 0),))


def greedy(case: Case, arrays: Arrays, stream: int) -> Callable[[], Arrays]:
    return lambda: {"y": import_library("cupy").empty((2**45,), "uint8")}


def crashing(case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    return os.abort


IMPLEMENTATIONS = (
    *(Implementation(name, "broken", Origin("test"), plan=partial(plan, fault=n)) for name, n in FAULTS.items()),
    Implementation("too_large", "broken", Origin("test"), plan=too_large),
    Implementation("greedy", "broken", Origin("test"), prepare=greedy),
    Implementation("crashing", "broken", Origin("test"), prepare=crashing),
)
