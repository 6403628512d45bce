"""What no run on a GPU can be faster than: each resource taken alone, at full rate, without a pause.

A bound, never a time: kernels wait for what is not counted here, so two bounds say nothing about which of two
kernels is faster. It holds for runs that begin with the L2 cleared, at any clock up to the highest.

* DRAM: what the first launch reads must come from memory; of what later launches read, and of all that is written,
  as much as the L2 holds may stay there.
* L1: 4 sectors of global memory a clock and multiprocessor, on every GPU since Volta (half of that on a T4).
* Shared memory: one wavefront a clock and multiprocessor.

Instructions are those of the PTX, of which the compiler makes fewer or more. So their issue, one warp instruction a
clock and scheduler, is kept beside the bound but is no part of it.
"""

from __future__ import annotations

from kernelbench.core.counters import Counters
from kernelbench.core.gpu import DeviceProperties
from kernelbench.explain.counted import SECTOR_BYTES, Counted, LaunchShape
from kernelbench.explain.records import Bound

_Part = tuple[Counters, LaunchShape | None]

SECTORS_A_CLOCK = 128 // SECTOR_BYTES
WAVEFRONTS_A_CLOCK = 1


def bound(one: Counted, gpu: DeviceProperties) -> Bound | None:
    """The tightest of the bounds; None where nothing was counted that bounds anything."""
    parts = _parts(one)
    dram_bytes = sum(_dram_bytes(one, number, part, gpu.l2_bytes) for number, part in enumerate(parts))
    seconds = {"DRAM bytes": dram_bytes / gpu.peak_bytes_per_s}
    issue = None
    if gpu.max_clock_hz:
        rates = [(counters, _multiprocessors(shape, gpu) * gpu.max_clock_hz) for counters, shape in parts]
        seconds["sectors through the L1"] = sum(own.global_sectors / SECTORS_A_CLOCK / rate for own, rate in rates)
        seconds["shared wavefronts"] = sum(own.shared_wavefronts / WAVEFRONTS_A_CLOCK / rate for own, rate in rates)
        issue = sum(own.warp_instructions / gpu.schedulers_per_multiprocessor / rate for own, rate in rates)
    resource = max(seconds, key=lambda name: seconds[name])
    return Bound(seconds[resource], resource, gpu.name, issue) if seconds[resource] > 0 else None


def _parts(one: Counted) -> list[_Part]:
    """Counters of each launch with its shape; where launches were not kept apart, all of them as one."""
    if len(one.launches) != len(one.shapes) or not one.launches:
        return [(one.counters, one.shapes[0] if len(one.shapes) == 1 else None)]
    return [(launch.counters, shape) for launch, shape in zip(one.launches, one.shapes, strict=True)]


def _dram_bytes(one: Counted, number: int, part: _Part, kept: int) -> float:
    read, written = _distinct_bytes(one, *part)
    return (read if number == 0 else max(0.0, read - kept)) + max(0.0, written - kept)


def _distinct_bytes(one: Counted, counters: Counters, shape: LaunchShape | None) -> tuple[float, float]:
    """Bytes read and written at least once. Scaled up from a sample, what all blocks read alike counts too often;
    so a launch is held to the arrays that it is given."""
    read, written = float(counters.read_once_bytes), float(counters.written_once_bytes)
    most = (shape.array_bytes if shape else 0) or (one.least_bytes if one.sampled else 0) or read + written
    shrink = min(1.0, most / (read + written)) if read + written else 1.0
    return read * shrink, written * shrink


def _multiprocessors(shape: LaunchShape | None, gpu: DeviceProperties) -> int:
    """Those that can have work at all."""
    return min(gpu.multiprocessors, shape.blocks) if shape else gpu.multiprocessors
