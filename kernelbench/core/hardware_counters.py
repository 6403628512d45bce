"""Hardware counters: what Nsight Compute is asked for, and its answers per launch, beside the simulator's.

They are read in a pass of their own, in which each kernel is replayed several times: it gives counts, never times.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from kernelbench.core.counters import SECTOR_BYTES, Counters

_GLOBAL, _LOCAL = "_pipe_lsu_mem_global_op_", "_pipe_lsu_mem_local_op_"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
# The same accesses counted from their addresses. On an H200, the pipe's count is what instructions need in small
# launches, and about 1 % more in a kernel that fills the GPU. The count from addresses is 6 where the pipe takes 4, for
# loads of 16 bytes with few lanes on (results/h200/simulator/hardware.csv.gz).
_WAVEFRONTS_BY_ADDRESS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"


@dataclass(frozen=True)
class HardwareMetric:
    """One column of counters.csv: the sum of `sources`, as far as a GPU has them, times `factor`.

    `compared`: it counts what the field of that name in `Counters` counts, so the two should be equal. `also`: sources
    of the same count, where neither is exact; the smaller sum that is not 0 is taken, because both err upwards.
    """

    name: str
    unit: str
    meaning: str
    sources: tuple[str, ...]
    compared: bool = False
    factor: float = 1.0
    also: tuple[str, ...] = ()


def _sum(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}.sum" for name in names)


HARDWARE_METRICS: Mapping[str, HardwareMetric] = {
    one.name: one
    for one in (
        HardwareMetric("global_load_requests", "", "warp instructions that load from global memory, with cp.async",
                       _sum(f"l1tex__t_requests{_GLOBAL}ld", f"l1tex__t_requests{_GLOBAL}ldgsts"), compared=True),
        HardwareMetric("global_load_sectors", "", "sectors of 32 bytes that these loads touch",
                       _sum(f"l1tex__t_sectors{_GLOBAL}ld", f"l1tex__t_sectors{_GLOBAL}ldgsts"), compared=True),
        HardwareMetric("global_store_requests", "", "warp instructions that store to global memory",
                       _sum(f"l1tex__t_requests{_GLOBAL}st"), compared=True),
        HardwareMetric("global_store_sectors", "", "sectors of 32 bytes that these stores touch",
                       _sum(f"l1tex__t_sectors{_GLOBAL}st"), compared=True),
        HardwareMetric("global_atomic_sectors", "", "sectors of 32 bytes that global atomics touch",
                       _sum(f"l1tex__t_sectors{_GLOBAL}red", f"l1tex__t_sectors{_GLOBAL}atom"), compared=True),
        HardwareMetric("shared_load_wavefronts", "", "passes over the 32 banks for shared loads",
                       _sum(f"{_WAVEFRONTS}ld"), compared=True, also=_sum(f"{_WAVEFRONTS_BY_ADDRESS}ld")),
        HardwareMetric("shared_store_wavefronts", "", "passes over the 32 banks for shared stores",
                       _sum(f"{_WAVEFRONTS}st"), compared=True, also=_sum(f"{_WAVEFRONTS_BY_ADDRESS}st")),
        HardwareMetric("shared_atomic_wavefronts", "", "passes over the 32 banks for shared atomics",
                       _sum(f"{_WAVEFRONTS}atom"), compared=True),
        HardwareMetric("local_load_sectors", "", "sectors of 32 bytes that loads from local memory touch",
                       _sum(f"l1tex__t_sectors{_LOCAL}ld"), compared=True),
        HardwareMetric("local_store_sectors", "", "sectors of 32 bytes that stores to local memory touch",
                       _sum(f"l1tex__t_sectors{_LOCAL}st"), compared=True),
        HardwareMetric("warp_instructions", "", "instructions of the machine code executed, counted per warp",
                       _sum("smsp__inst_executed")),
        HardwareMetric("lanes_per_instruction", "", "active lanes per warp instruction, of 32",
                       ("smsp__thread_inst_executed_per_inst_executed.ratio",)),
        HardwareMetric("l2_bytes", "B", "bytes between the L1 caches and the L2",
                       _sum("lts__t_sectors_srcunit_tex"), factor=SECTOR_BYTES),
        HardwareMetric("dram_read_bytes", "B", "bytes read from DRAM, with caches that were empty at the start",
                       _sum("dram__bytes_read")),
        HardwareMetric("dram_written_bytes", "B", "bytes written to DRAM before the kernel ended",
                       _sum("dram__bytes_write")),
        HardwareMetric("achieved_occupancy", "", "active warps per multiprocessor, on average, over its maximum",
                       ("sm__warps_active.avg.pct_of_peak_sustained_active",), factor=0.01),
    )
}  # fmt: skip
COMPARED = tuple(name for name, metric in HARDWARE_METRICS.items() if metric.compared)

# Why a warp does not issue, by Nsight Compute's name; in cycles per instruction issued.
STALLS: Mapping[str, str] = {
    "barrier": "a barrier of its block",
    "branch_resolving": "the target of a branch",
    "dispatch_stall": "the dispatcher",
    "drain": "its stores, before it ends",
    "imc_miss": "a constant that is not in the cache",
    "lg_throttle": "room in the queue of global and local memory instructions",
    "long_scoreboard": "data from global or local memory",
    "math_pipe_throttle": "an arithmetic pipe that is in use",
    "membar": "a memory fence",
    "mio_throttle": "room in the queue of shared memory and special instructions",
    "misc": "something that has no name of its own",
    "no_instruction": "its next instruction to be fetched",
    "not_selected": "other warps that were ready too",
    "selected": "nothing: it issues",
    "short_scoreboard": "data from shared memory or a special function",
    "sleeping": "the end of its sleep",
    "tex_throttle": "room in the queue of texture instructions",
    "wait": "the fixed latency of an instruction",
}
STALL_METRICS: Mapping[str, str] = {
    name: f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio" for name in STALLS
}


@dataclass(frozen=True)
class ProfiledLaunch:
    """One launch in a report of Nsight Compute. Names are those of HARDWARE_METRICS and STALLS."""

    kernel: str  # without parameters and template arguments
    symbol: str  # as the compiler names it
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    values: Mapping[str, float]
    missing: Mapping[str, str] = field(default_factory=dict)  # metrics without a value, with the reason
    stalls: Mapping[str, float] = field(default_factory=dict)
    range_names: tuple[str, ...] = ()  # open NVTX ranges, outermost first
    gpu: str = ""
    further: Mapping[str, float] = field(default_factory=dict)  # of FURTHER, what the report has


# What reports of others may have, and the pass does not ask for.
FURTHER: Mapping[str, str] = {
    "registers": "launch__registers_per_thread",
    "shared_bytes": "launch__shared_mem_per_block",
    "theoretical_occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "global_sectors": "memory_l2_theoretical_sectors_global",
    "global_ideal_sectors": "memory_l2_theoretical_sectors_global_ideal",
    "shared_wavefronts": "memory_l1_wavefronts_shared",
    "shared_ideal_wavefronts": "memory_l1_wavefronts_shared_ideal",
}

Agreement = Literal["equal", "explained", "unexplained", ""]  # "": there is nothing to compare


@dataclass(frozen=True)
class CountedLaunch:
    """One launch of an implementation: the hardware's counters beside the simulator's. A row of counters.csv."""

    case: str  # its key
    implementation: str
    launch: int  # from 1 on, in the order of the plan
    kernel: str  # its symbol in the plan; of a library, the name without parameters and template arguments
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    hardware: Mapping[str, float] = field(default_factory=dict)  # by metric; what is missing has a reason
    stalls: Mapping[str, float] = field(default_factory=dict)
    simulated: Mapping[str, int] = field(default_factory=dict)  # by metric, of SIMULATED
    sampled: str = ""  # "64 of 262144 blocks"; counts of the simulator are scaled to all
    agreement: Agreement = ""
    differences: str = ""  # metrics that differ, each as hardware / simulator
    explanation: str = ""  # of those that have one
    unexplained: tuple[str, ...] = ()  # metrics that differ and have none
    reason: str = ""  # why cells are empty


SIMULATED = (*COMPARED, "warp_instructions")


def simulated_values(counters: Counters) -> dict[str, int]:
    """The simulator's counts, by metric of SIMULATED."""
    return {name: int(getattr(counters, name)) for name in SIMULATED}


@dataclass(frozen=True)
class AgreementCounts:
    """How counters agree over all launches. Metrics that are 0 on both sides are not counted."""

    launches: int  # that were compared
    metrics: int
    equal: int
    explained: int
    unexplained: int


def count_agreement(launches: Iterable[CountedLaunch]) -> AgreementCounts:
    compared = [one for one in launches if one.agreement]
    metrics = equal = unexplained = 0
    for one in compared:
        pairs = [(one.hardware[name], one.simulated[name]) for name in COMPARED if name in one.hardware]
        metrics += sum(bool(real or simulated) for real, simulated in pairs)
        equal += sum(bool(real) and round(real) == simulated for real, simulated in pairs)
        unexplained += len(one.unexplained)
    return AgreementCounts(len(compared), metrics, equal, metrics - equal - unexplained, unexplained)
