"""The floor and the ceiling of a GPU: what an empty kernel takes, and how fast the best of several copies is.

Every time of a run is read beside them: a kernel near the floor is measured together with its launch,
and no kernel can move bytes faster than the ceiling.
"""

from __future__ import annotations

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
COPIES = {f"{kind}_{packs}": packs for kind in ("copy", "stream") for packs in (1, 2, 4, 8)}
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
    rates = _copy_rates(device, yardstick)
    best = max(rates, key=lambda name: rates[name])
    return Limits(floor_s, graph_floor_s, rates[best], best)


def _copy_rates(device: Device, yardstick: _Yardstick) -> dict[str, float]:
    """Bytes read plus written per second, of each kernel of limits.cu."""
    nbytes = min(COPY_BYTES, device.free_bytes() // 3) // PACK_BYTES * PACK_BYTES
    shape = (nbytes // 4,)  # random floats: a copy of zeros can be faster than one of data
    specs = [ArraySpec("in", shape, "float32", "input"), ArraySpec("out", shape, "float32", "output")]
    try:
        arrays = device.allocate(specs)
        device.fill(arrays, specs, seed=0)
        packs = nbytes // PACK_BYTES
        rates = {}
        for name, in_flight in COPIES.items():
            grid = (-(-packs // (BLOCK * in_flight)), 1, 1)
            launch = Launch(f"limits_{name}", grid, (BLOCK, 1, 1), ("in", "out", Scalar("int64", packs)))
            timer = EventTimer(device.clock, [yardstick.executable(launch, arrays)], "cold")
            rates[name] = 2 * nbytes / _median(timer, COPY_SAMPLES)
    except DeviceError as error:
        raise DeviceError(f"the copy that the ceiling is measured with failed: {error}") from error
    finally:
        arrays = {}
        device.release()
    return rates


def _median(timer: EventTimer | GraphTimer | FlushGraph, samples: int) -> float:
    timer.sample()  # the first run loads the module
    return float(np.median([timer.sample() for _ in range(samples)]))
