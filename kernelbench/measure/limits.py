"""The floor and the ceilings of a GPU: what an empty kernel takes, and how fast DRAM is read, copied and written.

Every time of a run is read beside them: a kernel near the floor is measured together with its launch,
and no kernel can move bytes faster than the ceiling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kernelbench.contracts import Device, Executable
from kernelbench.errors import DeviceError
from kernelbench.measure.timing import GRAPH_REPEATS, EventTimer, FlushGraph, GraphTimer
from kernelbench.records import (
    Arrays,
    ArraySpec,
    Binary,
    Case,
    Implementation,
    Launch,
    LaunchPlan,
    Limits,
    Origin,
    Scalar,
)

COPY_BYTES = 4 * 2**30  # read and as many written: hundreds of times any L2, long enough for the start not to matter
PACK_BYTES, BLOCK = 16, 256
PACKS = (1, 2, 4, 8)  # in flight a thread
COPIES = {f"{kind}_{packs}": packs for kind in ("copy", "stream") for packs in PACKS}
# Bytes moved by each kind of kernel for a byte of its larger array.
MOVES = {"write": 1.0, "copy": 2.0, "stream": 2.0, "add": 1.5, "read": 1.0}
FLOOR_SAMPLES, COPY_SAMPLES = 50, 7
ABOVE_CEILING = 1.01  # a share of the ceiling that noise alone can reach: a row above is an error


@dataclass(frozen=True)
class _Yardstick:
    """What a device needs to run one entry of limits.cu."""

    device: Device
    binary: Binary

    def executable(self, launch: Launch, arrays: Arrays) -> Executable:
        plan = LaunchPlan((launch,))
        implementation = Implementation(launch.entry, "", Origin("written here"), plan=lambda case, device: plan)
        return self.device.executable(implementation, Case("limits", (1,), -1, "uint8"), plan, self.binary, arrays)


def measure_limits(device: Device, binary: Binary) -> Limits:
    """Floor by both methods, and the best copy of as many bytes as fit a third of the free memory."""
    yardstick = _Yardstick(device, binary)
    empty = yardstick.executable(Launch("limits_empty", (1, 1, 1), (1, 1, 1), ()), {})
    floor_s = _median(EventTimer(device.clock, [empty], "cold"), FLOOR_SAMPLES)
    flush_s = _median(FlushGraph(device.clock), FLOOR_SAMPLES)
    graph_floor_s = (_median(GraphTimer(device.clock, [empty]), FLOOR_SAMPLES) - flush_s) / GRAPH_REPEATS
    rates = _rates(device, yardstick)
    best = max(COPIES, key=lambda name: rates[name])
    others = {f"{kind}_bytes_per_s": _best(rates, kind) for kind in ("write", "add", "read")}
    return Limits(floor_s, graph_floor_s, rates[best], best, **others)


def _best(rates: Mapping[str, float], kind: str) -> float:
    return max(rates[f"{kind}_{packs}"] for packs in PACKS)


def _rates(device: Device, yardstick: _Yardstick) -> dict[str, float]:
    """Bytes read plus written per second, of each kernel of limits.cu but the empty one."""
    nbytes = min(COPY_BYTES, device.free_bytes() // 3) // (2 * PACK_BYTES) * (2 * PACK_BYTES)
    shape = (nbytes // 4,)  # random floats: a copy of zeros can be faster than one of data
    specs = [ArraySpec("in", shape, "float32", "input"), ArraySpec("out", shape, "float32", "output")]
    try:
        arrays = device.allocate(specs)
        device.fill(arrays, specs, seed=0)
        packs = nbytes // PACK_BYTES
        rates = {}
        for kind, moves in MOVES.items():
            for in_flight in PACKS:
                own = packs // 2 if kind == "add" else packs  # of its outputs: it adds the halves of its input
                grid = (-(-own // (BLOCK * in_flight)), 1, 1)
                launch = Launch(f"limits_{kind}_{in_flight}", grid, (BLOCK, 1, 1), ("in", "out", Scalar("int64", own)))
                timer = EventTimer(device.clock, [yardstick.executable(launch, arrays)], "cold")
                rates[f"{kind}_{in_flight}"] = moves * nbytes / _median(timer, COPY_SAMPLES)
    except DeviceError as error:
        raise DeviceError(f"a kernel that the ceilings are measured with failed: {error}") from error
    finally:
        arrays = {}
        device.release()
    return rates


def _median(timer: EventTimer | GraphTimer | FlushGraph, samples: int) -> float:
    timer.sample()  # the first run loads the module
    return float(np.median([timer.sample() for _ in range(samples)]))
