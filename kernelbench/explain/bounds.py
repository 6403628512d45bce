"""Lower bounds on the time of a kernel: each resource alone, at full rate, without a pause.

A bound is not a time: kernels also wait for what is not counted here, so two bounds do not tell which of two kernels is
faster. A bound holds for runs that begin with the L2 cleared, at any clock up to the highest.

* DRAM: the first launch reads from memory; of later reads, and of all writes, as much as fits in the L2 may stay there.
* L1: 4 sectors of global memory per clock and multiprocessor, on every GPU since Volta (half of that on a T4).
* Shared memory: one wavefront per clock and multiprocessor.

Instructions are those of the PTX, of which the compiler makes fewer or more. So their issue, one warp instruction per
clock and scheduler, is stored beside the bound but is not part of it.
"""

from kernelbench.core.counters import SECTOR_BYTES, Counters
from kernelbench.core.gpu import DeviceProperties
from kernelbench.explain.counted import Counted, LaunchShape
from kernelbench.explain.findings import Bound

_Part = tuple[Counters, LaunchShape | None]

SECTORS_PER_CLOCK = 128 // SECTOR_BYTES
WAVEFRONTS_PER_CLOCK = 1


def tightest_bound(one: Counted, gpu: DeviceProperties) -> Bound | None:
    """The tightest of the bounds; None if no counter gives one."""
    parts = _parts(one)
    dram_bytes = sum(_dram_bytes(one, number, part, gpu.l2_bytes) for number, part in enumerate(parts))
    seconds = {"DRAM bytes": dram_bytes / gpu.peak_bytes_per_s}
    issue = None
    if gpu.max_clock_hz:
        rates = [(counters, _multiprocessors(shape, gpu) * gpu.max_clock_hz) for counters, shape in parts]
        seconds["sectors through the L1"] = sum(own.global_sectors / SECTORS_PER_CLOCK / rate for own, rate in rates)
        seconds["shared wavefronts"] = sum(own.shared_wavefronts / WAVEFRONTS_PER_CLOCK / rate for own, rate in rates)
        issue = sum(own.warp_instructions / gpu.schedulers_per_multiprocessor / rate for own, rate in rates)
    resource = max(seconds, key=lambda name: seconds[name])
    return Bound(seconds[resource], resource, gpu.name, issue) if seconds[resource] > 0 else None


def _parts(one: Counted) -> list[_Part]:
    """Counters of each launch with its shape; all launches as one where only totals were kept."""
    if len(one.launches) != len(one.shapes) or not one.launches:
        return [(one.counters, one.shapes[0] if len(one.shapes) == 1 else None)]
    return [(launch.counters, shape) for launch, shape in zip(one.launches, one.shapes, strict=True)]


def _dram_bytes(one: Counted, number: int, part: _Part, kept: int) -> float:
    read, written = _distinct_bytes(one, *part)
    return (read if number == 0 else max(0.0, read - kept)) + max(0.0, written - kept)


def _distinct_bytes(one: Counted, counters: Counters, shape: LaunchShape | None) -> tuple[float, float]:
    """Distinct bytes read and written. Counts scaled up from a sample include data that all blocks read several times;
    so they are limited to the size of the launch's arrays."""
    read, written = float(counters.read_once_bytes), float(counters.written_once_bytes)
    most = (shape.array_bytes if shape else 0) or (one.least_bytes if one.sampled else 0) or read + written
    shrink = min(1.0, most / (read + written)) if read + written else 1.0
    return read * shrink, written * shrink


def _multiprocessors(shape: LaunchShape | None, gpu: DeviceProperties) -> int:
    """Multiprocessors that can have work."""
    return min(gpu.multiprocessors, shape.blocks) if shape else gpu.multiprocessors
