"""Counters as the simulator would give them, for kernels whose behaviour is known by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from kernelbench.core.counters import Counters, LaunchCounters
from kernelbench.devices.known import known_gpu
from kernelbench.explain.counted import Counted, LaunchShape

CASE = "seq=512 shape=32x64x512x512 axis=-1 dtype=float32"
REQUESTS = 1_000_000
BYTES = 128 * REQUESTS  # of the input, and of the output: 4 bytes a lane, read and written once

# One read and one write of everything by full warps, nothing else.
LEAN = {
    "warp_instructions": 20 * REQUESTS,
    "thread_instructions": 32 * 20 * REQUESTS,
    "global_load_requests": REQUESTS,
    "global_load_sectors": 4 * REQUESTS,
    "global_load_ideal_sectors": 4 * REQUESTS,
    "global_load_requested_bytes": BYTES,
    "global_store_requests": REQUESTS,
    "global_store_sectors": 4 * REQUESTS,
    "global_store_ideal_sectors": 4 * REQUESTS,
    "global_store_requested_bytes": BYTES,
    "read_once_bytes": BYTES,
    "written_once_bytes": BYTES,
}
SHAPE = LaunchShape("kernel", blocks=10_000, threads=256, registers=32, array_bytes=2 * BYTES)


def counted(
    name: str,
    *,
    launches: int = 1,
    role: str = "kernel",
    shape: LaunchShape = SHAPE,
    lines: dict[tuple[str, int], Counters] | None = None,
    conflicts: dict[tuple[str, int], tuple[int, int]] | None = None,
    sampled: str = "",
    inputs: tuple[str, ...] = ("x",),
    broadcast: tuple[str, ...] = (),
    **counters: Any,
) -> Counted:
    """A lean kernel but for the given counters; each of several launches does the same."""
    one = Counters(**{**LEAN, **counters})
    run = LaunchCounters("kernel", one, lines or {}, shape.blocks, shape.blocks, conflicts or {})
    return Counted(
        CASE, name, sum([one] * launches, Counters()), role, 2 * BYTES, (shape,) * launches, (run,) * launches,
        sampled, known_gpu("h200"), inputs, broadcast,
    )  # fmt: skip


@pytest.fixture
def make() -> Callable[..., Counted]:
    return counted
