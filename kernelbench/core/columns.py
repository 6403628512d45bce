"""Every column of every CSV file that kernelbench writes: name, unit, meaning, once.

An empty cell means "not measured"; the row's `reason` says why. docs/reading-a-report.md is made from
this list.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    name: str
    unit: str  # "" for text and counts
    meaning: str


# What the simulator counts, over all launches of a row; empty where a GPU measured. Each is a field of
# `counters.Counters` or one of its properties, but for `sampled`.
COUNTERS = (
    Column(
        "sampled", "", "simulator: the blocks that were run, as 64 of 262144 blocks; counts are scaled to all of them"
    ),
    Column("warp_instructions", "", "PTX instructions executed, one for each warp; not those of the machine code"),
    Column("lanes_per_instruction", "", "active lanes of a warp instruction, of 32"),
    Column("global_load_requests", "", "warp instructions that load from global memory"),
    Column("global_load_sectors", "", "sectors of 32 bytes that these loads touch, each request on its own"),
    Column("global_load_ideal_sectors", "", "the fewest sectors that hold the bytes asked for"),
    Column("global_store_requests", "", "warp instructions that store to global memory"),
    Column("global_store_sectors", "", "sectors of 32 bytes that these stores touch"),
    Column("global_store_ideal_sectors", "", "the fewest sectors that hold the bytes stored"),
    Column("global_atomic_requests", "", "warp instructions that are global atomics"),
    Column("global_atomic_sectors", "", "sectors of 32 bytes that these atomics touch"),
    Column("shared_load_requests", "", "warp instructions that load from shared memory"),
    Column(
        "shared_load_wavefronts", "", "passes over the 32 banks that these loads take; more than ideal: bank conflicts"
    ),
    Column("shared_load_ideal_wavefronts", "", "the fewest passes for the bytes asked for"),
    Column("shared_store_requests", "", "warp instructions that store to shared memory"),
    Column("shared_store_wavefronts", "", "passes over the 32 banks that these stores take"),
    Column("shared_store_ideal_wavefronts", "", "the fewest passes for the bytes stored"),
    Column("shared_atomic_requests", "", "warp instructions that are shared atomics"),
    Column("shared_atomic_wavefronts", "", "passes over the 32 banks that these atomics take"),
    Column("shared_copy_requests", "", "warp instructions that copy to shared memory, or from it in bulk (cp.async)"),
    Column("shared_copy_wavefronts", "", "passes over the 32 banks that these copies take, as if they were stores"),
    Column("shared_copy_ideal_wavefronts", "", "the fewest passes for the bytes copied"),
    Column(
        "local_load_requests", "", "warp instructions that load from local memory, as the PTX has it; spills come later"
    ),
    Column("local_load_sectors", "", "sectors of 32 bytes that these loads touch"),
    Column("local_store_requests", "", "warp instructions that store to local memory"),
    Column("local_store_sectors", "", "sectors of 32 bytes that these stores touch"),
    Column("barriers", "", "times that a warp arrives at a block-wide barrier"),
    Column("branches", "", "branches executed, one for each warp"),
    Column(
        "divergent_branches", "", "those where lanes of a warp part, in the PTX; machine code may predicate instead"
    ),
    Column("read_once_bytes", "B", "distinct sectors of global memory read, in bytes, summed over launches"),
    Column("written_once_bytes", "B", "distinct sectors of global memory written, in bytes, summed over launches"),
)


# results.csv: one row for each case, implementation, cache and method; a row without a measurement
# (status other than ok) has cache and method empty.
RESULTS = (
    Column("suite", "", "name of the suite"),
    Column("case", "", "key of the case, unique within the suite"),
    Column("operation", "", "what is computed"),
    Column("shape", "", "extents, as 32x64x16x16"),
    Column("axis", "", "axis of the operation, as in the suite"),
    Column("dtype", "", "element type"),
    Column("axes", "", "values of the suite's axes, as seq=16"),
    Column("implementation", "", "who computes it"),
    Column("role", "", "kernel, peer, yardstick or specimen"),
    Column("arithmetic", "", "accurate or fast"),
    Column("status", "", "ok, wrong, failed, unsupported or skipped"),
    Column("reason", "", "why there is no time, or what to know about it"),
    Column("cache", "", "cold: L2 cleared before every sample; warm: the kernel's own data in it"),
    Column("method", "", "events: two events round the launch; graph: difference of two graphs"),
    Column("samples", "", "number of samples"),
    Column("median_s", "s", "median time"),
    Column("low_s", "s", "lower end of the 95 % interval of the median"),
    Column("high_s", "s", "upper end of the 95 % interval of the median"),
    Column("min_s", "s", "shortest sample"),
    Column("p5_s", "s", "5th percentile of the samples"),
    Column("p95_s", "s", "95th percentile of the samples"),
    Column("stopped", "", "why sampling ended: precise, sample limit or time limit"),
    Column("bytes_moved", "B", "least traffic: each input read once, each output written once"),
    Column("bandwidth_bytes_per_s", "B/s", "bytes_moved / median_s"),
    Column("share_of_ceiling", "", "bandwidth over that of the best copy on this GPU in this run"),
    Column("floor_limited", "", "yes: median below 3 times the time of an empty kernel"),
    Column(
        "check",
        "",
        "passed, failed, graded (a library that is off by its own rounding), or empty where nothing was checked",
    ),
    Column("max_absolute_error", "", "largest |got - expected| over all elements"),
    Column("max_relative_error", "", "largest |got - expected| / |expected| over all elements"),
    Column("max_error_ulp", "", "largest |got - expected| over the spacing of the output's type at expected"),
    Column("relative_tolerance", "", "allowed |got - expected| / |expected|"),
    Column("absolute_tolerance", "", "allowed |got - expected| beside it"),
    Column("seed", "", "seed of the random inputs that were timed"),
    Column("launches", "", "each launch as entry<<<grid, block, shared bytes>>>, separated by ;"),
    Column("registers", "", "largest number of registers a thread among the launches"),
    Column("static_shared_bytes", "B", "largest static shared memory a block among the launches"),
    Column("spill_bytes", "B", "largest spill stores plus loads per thread among the launches"),
    Column("input_loads", "", "global load instructions by input, as x=4; 0 means: never read"),
    Column("binary", "", "hash of source, all that it includes, flags, architecture and compiler"),
    Column("sm_clock_hz", "Hz", "SM clock round the row's samples"),
    Column("power_w", "W", "power draw round the row's samples"),
    Column("temperature_c", "C", "GPU temperature round the row's samples"),
    Column("throttle", "", "NVML's reasons for a lowered clock round the row's samples"),
    Column(
        "disturbed",
        "",
        "what some samples were taken beside or under, where too few others could be had, "
        "as 12 of 40 samples beside another process",
    ),
    *COUNTERS,
)
LATER = frozenset(
    {"disturbed", "max_error_ulp", *(column.name for column in COUNTERS)}
)  # of RESULTS; runs from before have none
TEXTS = (
    "suite", "case", "operation", "shape", "axes", "dtype", "implementation", "role", "arithmetic", "status",
    "reason", "cache", "method", "stopped", "floor_limited", "check", "launches", "input_loads", "binary", "throttle",
    "disturbed", "sampled",
)  # fmt: skip
# Numbers of RESULTS that may be infinite: an output of infinity is infinitely far from what was expected.
INFINITE = frozenset(
    {"max_absolute_error", "max_relative_error", "max_error_ulp", "relative_tolerance", "absolute_tolerance"}
)

# samples.csv.gz: one row a sample.
SAMPLES = (
    Column("case", "", "key of the case"),
    Column("implementation", "", "who computes it"),
    Column("cache", "", "cold or warm"),
    Column("method", "", "events or graph"),
    Column("round", "", "round of the case; samples of one round were taken together, in random order"),
    Column("seconds", "s", "time of one sample"),
)

# comparison.csv: one row for each case, cache and implementation, against the baseline.
COMPARISON = (
    Column("suite", "", "name of the suite"),
    Column("case", "", "key of the case"),
    Column("cache", "", "cold or warm"),
    Column("method", "", "timing method of both sides"),
    Column("implementation", "", "who is compared"),
    Column("baseline", "", "whom the speed-up divides by"),
    Column("median_s", "s", "median time of the implementation"),
    Column("baseline_s", "s", "median time of the baseline"),
    Column("speedup", "", "baseline_s / median_s"),
    Column("speedup_low", "", "lower end of its 95 % interval"),
    Column("speedup_high", "", "upper end of its 95 % interval"),
    Column("verdict", "", "FASTER, SLOWER, SAME or UNSURE than the baseline"),
    Column("more_samples", "", "samples to add to either side that would decide an UNSURE one; empty above 10000"),
    Column("shared_rounds", "", "rounds that the interval is paired by; empty where they were too few"),
    Column("share_of_ceiling", "", "bandwidth over that of the best copy on this GPU"),
    Column("published_speedup", "", "published time of the baseline over published time of the implementation"),
    Column("published_device", "", "GPU of the published figure"),
    Column("published_share", "", "bandwidth of the published time over the peak of that GPU"),
    Column("claim", "", "id of the ledger entry it is from"),
    Column("reason", "", "why cells are empty, or what to know of the verdict"),
    Column("global_bytes", "B", "simulator: global sectors loaded, stored and in atomics, times 32 bytes"),
    Column("global_bytes_ratio", "", "over that of the baseline; below 1 is less traffic"),
    Column("distinct_bytes", "B", "simulator: read_once_bytes + written_once_bytes"),
    Column("distinct_bytes_ratio", "", "over that of the baseline"),
    Column("shared_wavefronts", "", "simulator: passes over the banks of shared memory, of all its accesses"),
    Column("shared_wavefronts_ratio", "", "over that of the baseline"),
    Column("warp_instructions", "", "simulator: PTX instructions executed, one for each warp"),
    Column("warp_instructions_ratio", "", "over that of the baseline"),
)


# compare RUN RUN --format csv: one row for each row of either run.
CHANGES = (
    Column("case", "", "key of the case"),
    Column("implementation", "", "who is compared"),
    Column("cache", "", "cold or warm"),
    Column("method", "", "timing method of both sides"),
    Column("first_s", "s", "median time in the first run"),
    Column("second_s", "s", "median time in the second run"),
    Column("first_share", "", "share of the first GPU's ceiling, in the first run"),
    Column("second_share", "", "share of the second GPU's ceiling, in the second run"),
    Column(
        "ratio",
        "",
        "second_s / first_s; of two different GPUs first_share / second_share; above 1: slower",
    ),
    Column("ratio_low", "", "lower end of its 95 % interval"),
    Column("ratio_high", "", "upper end of its 95 % interval"),
    Column("band", "", "noise band: ratios from 1 / (1 + band) to 1 + band are the same"),
    Column("verdict", "", "the second run is FASTER, SLOWER or the SAME, or UNSURE"),
    Column("more_samples", "", "samples to add to the row, in each run, that would decide an UNSURE one"),
    Column("first_samples", "", "raw samples in the first run; 0 where it has none"),
    Column("second_samples", "", "raw samples in the second run"),
    Column(
        "code",
        "",
        "same, other code, other binary (of code not known) or other launches; empty for a library",
    ),
    Column("first_status", "", "ok, wrong, failed, unsupported or skipped; empty where the first run has no such row"),
    Column("second_status", "", "the same of the second run"),
    Column("reason", "", "why there is no verdict, or what to know about it"),
)


def names(columns: tuple[Column, ...]) -> list[str]:
    return [column.name for column in columns]
