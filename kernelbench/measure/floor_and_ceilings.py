"""The floor and the ceilings of a GPU: the time of an empty kernel, and the bandwidth of DRAM and of the L2.

A time near the floor is mostly launch overhead, and no kernel can move bytes faster than the ceiling.
"""

from dataclasses import dataclass

import numpy as np

from kernelbench.core.contracts import Device, Executable
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import (
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
from kernelbench.measure.timing import GRAPH_REPEATS, EventTimer, FlushGraph, GraphTimer

COPY_BYTES = 4 * 2**30  # read, and as many written: far above any L2, and long enough to hide the launch
PACK_BYTES, BLOCK = 16, 256
PACKS = (1, 2, 4, 8)  # in flight per thread
COPIES = {f"{kind}_{packs}": packs for kind in ("copy", "stream") for packs in PACKS}
# Bytes moved per byte of the larger array, by kind of kernel.
MOVES = {"write": 1.0, "copy": 2.0, "stream": 2.0, "add": 1.5, "read": 1.0}
L2_MOVES = {"read": 1, "write": 1, "copy": 2}  # packs moved per pack
L2_SHARES = (1 / 16, 1 / 8, 1 / 4)  # of the L2; on GPUs whose L2 has two halves, a smaller share is faster
L2_BLOCKS, L2_PACKS = 4, 4  # resident blocks per multiprocessor; packs per thread and round
L2_BYTES = 2**31  # moved within the L2 by one run, long enough to hide the launch
FLOOR_SAMPLES, COPY_SAMPLES = 50, 7
# Factors beyond which a time is an error. Kernels may access memory in better ways than those of limits.cu: 19,024
# recorded rows reached at most 1.010 times the DRAM's ceiling. In a run on an H200 that was not kept, a softmax that
# Helion had tuned reached 1.015 times, right in every element.
ABOVE_CEILING, ABOVE_L2 = 1.03, 1.1
# The shortest of 4873 recorded medians was 1.11 times the floor by events. Launches of graphs may take 0.4 us less some
# time after the floor was measured: on an H100 with a floor of 1.08 us, right copies of 1 to 64 KB then took 0.86 us.
BELOW_FLOOR = {"events": 0.9, "graph": 0.5}


@dataclass(frozen=True)
class _Yardstick:
    """Makes executables of the kernels in limits.cu."""

    device: Device
    binary: Binary

    def executable(self, launch: Launch, arrays: Arrays) -> Executable:
        plan = LaunchPlan((launch,))
        implementation = Implementation(launch.entry, "", Origin("written here"), plan=lambda case, device: plan)
        return self.device.executable(implementation, Case("limits", (1,), -1, "uint8"), plan, self.binary, arrays)


def measure_limits(device: Device, binary: Binary) -> Limits:
    """Floor by both methods, and the bandwidths with arrays of up to a third of the free memory."""
    yardstick = _Yardstick(device, binary)
    empty = yardstick.executable(Launch("limits_empty", (1, 1, 1), (1, 1, 1), ()), {})
    try:
        rates = _rates(device, yardstick)  # before the floor: an idle GPU has not raised its clocks yet
        l2 = _l2_rate(device, yardstick)
        floor_s = _median(EventTimer(device.clock, [empty], "cold"), FLOOR_SAMPLES)
        graph_floor_s = _graph_floor(GraphTimer(device.clock, [empty]), FlushGraph(device.clock))
    except DeviceError as error:
        raise DeviceError(f"a kernel that measures the ceilings failed: {error}") from error
    finally:
        device.release()
    best = max(COPIES, key=lambda name: rates[name])
    others = {f"{kind}_bytes_per_s": max(rates[f"{kind}_{one}"] for one in PACKS) for kind in ("write", "add", "read")}
    return Limits(floor_s, graph_floor_s, rates[best], best, **others, l2_bytes_per_s=l2)


def _rates(device: Device, yardstick: _Yardstick) -> dict[str, float]:
    """Bytes read plus written per second, for each kernel of limits.cu except the empty one."""
    nbytes = min(COPY_BYTES, device.free_bytes() // 3) // (2 * PACK_BYTES) * (2 * PACK_BYTES)
    arrays, packs = _in_and_out(device, nbytes), nbytes // PACK_BYTES
    rates = {}
    for kind, moves in MOVES.items():
        for in_flight in PACKS:
            own = packs // 2 if kind == "add" else packs  # of the output; "add" adds the halves of its input
            grid = (-(-own // (BLOCK * in_flight)), 1, 1)
            launch = Launch(f"limits_{kind}_{in_flight}", grid, (BLOCK, 1, 1), ("in", "out", Scalar("int64", own)))
            timer = EventTimer(device.clock, [yardstick.executable(launch, arrays)], "cold")
            rates[f"{kind}_{in_flight}"] = moves * nbytes / _median(timer, COPY_SAMPLES)
    return rates


def _l2_rate(device: Device, yardstick: _Yardstick) -> float:
    """Bytes per second of the fastest kernel that reads, writes or copies data in the L2."""
    arrays = _in_and_out(device, int(max(L2_SHARES) * device.properties.l2_bytes) // PACK_BYTES * PACK_BYTES)
    rates = []
    for kind, moves in L2_MOVES.items():
        for share in L2_SHARES:
            packs = int(share * device.properties.l2_bytes) // (moves * PACK_BYTES)
            blocks = max(1, min(L2_BLOCKS * device.properties.multiprocessors, packs // BLOCK))
            a_round = blocks * BLOCK * L2_PACKS * moves * PACK_BYTES
            rounds = max(1, L2_BYTES // a_round)
            arguments = ("in", "out", Scalar("int32", packs), Scalar("int32", rounds))
            launch = Launch(f"limits_l2_{kind}", (blocks, 1, 1), (BLOCK, 1, 1), arguments)
            timer = EventTimer(device.clock, [yardstick.executable(launch, arrays)], "warm")
            rates.append(rounds * a_round / _median(timer, COPY_SAMPLES))
    return max(rates)


def _in_and_out(device: Device, nbytes: int) -> Arrays:
    """Two arrays of that size. The first holds random floats, because zeros can be copied faster."""
    shape = (nbytes // 4,)
    specs = [ArraySpec("in", shape, "float32", "input"), ArraySpec("out", shape, "float32", "output")]
    arrays = device.allocate(specs)
    device.fill(arrays, specs, seed=0)
    return arrays


def _graph_floor(empty: GraphTimer, flush: FlushGraph) -> float:
    """Median of the differences of samples taken in turn: a drift of 1 % between two series of flushes, of 30 µs each,
    would add a third to it or take that away."""
    empty.sample(), flush.sample()  # the first run loads the module
    return float(np.median([empty.sample() - flush.sample() for _ in range(FLOOR_SAMPLES)])) / GRAPH_REPEATS


def _median(timer: EventTimer, samples: int) -> float:
    timer.sample()  # the first run loads the module
    return float(np.median([timer.sample() for _ in range(samples)]))
