"""Launch plans of philox.cu: a random mask written by single bytes, by 4 or by 16 at once."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar
from ..common.launch_helpers import ELEMENTWISE_BLOCK, waves_grid

PER_CALL = 4  # words that the generator gives at once

ONEFLOW = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow/pull/2937",
    differs="Philox4x32-10 by counter, without the state of 48 bytes per thread that the original reads and writes; up "
    "to 32 waves of blocks of 256 where that has one block of 128 per multiprocessor; integers are compared",
)


def plan(case: Case, device: DeviceProperties, store_bytes: int) -> LaunchPlan:
    per_thread = max(PER_CALL, store_bytes)
    launch = Launch(
        entry="random_mask_philox_i8",
        grid=waves_grid(-(-case.elements // per_thread), device),
        block=(ELEMENTWISE_BLOCK, 1, 1),
        arguments=(
            "mask",
            Scalar("int64", case.elements),
            Scalar("int64", case.parameter("seed", 2020)),
            Scalar("int64", int(case.parameter("rate", 0.1) * 2**32)),
        ),
    )
    return LaunchPlan((launch,), defines=(("STORE", store_bytes),), reasons=(f"{per_thread} elements per thread",))


IMPLEMENTATIONS = (
    Implementation("single", "four bytes per thread, a store each", ONEFLOW, plan=partial(plan, store_bytes=1)),
    Implementation("packed_4", "four bytes per thread in one store", ONEFLOW, plan=partial(plan, store_bytes=4)),
    Implementation("packed_16", "sixteen bytes per thread in one store", ONEFLOW, plan=partial(plan, store_bytes=16)),
)
