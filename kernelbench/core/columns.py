"""Every column of every CSV file that kernelbench writes: name, unit and meaning.

An empty cell means "not measured"; the row's `reason` says why. docs/reading-a-report.md is made from
this list.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelbench.core.hardware_counters import HARDWARE_METRICS, SIMULATED


@dataclass(frozen=True)
class Column:
    name: str
    unit: str  # "" for text and counts
    meaning: str


# Counts of the simulator over all launches of a row; empty where a GPU measured. Each but `sampled` and the ways is a
# field or a property of `counters.Counters`.
COUNTERS = (
    Column("sampled", "", "simulator: the blocks that were run, as 64 of 262144 blocks; counts are scaled to all"),
    Column("warp_instructions", "", "PTX instructions executed, counted per warp; not those of the machine code"),
    Column("lanes_per_instruction", "", "active lanes per warp instruction, of 32"),
    Column("global_load_requests", "", "warp instructions that load from global memory"),
    Column("global_load_sectors", "", "sectors of 32 bytes that these loads touch, summed over requests"),
    Column("global_load_ideal_sectors", "", "the fewest sectors that hold the bytes asked for"),
    Column("global_store_requests", "", "warp instructions that store to global memory"),
    Column("global_store_sectors", "", "sectors of 32 bytes that these stores touch"),
    Column("global_store_ideal_sectors", "", "the fewest sectors that hold the bytes stored"),
    Column("global_atomic_requests", "", "warp instructions that are global atomics"),
    Column("global_atomic_sectors", "", "sectors of 32 bytes that these atomics touch"),
    Column("shared_load_requests", "", "warp instructions that load from shared memory"),
    Column("shared_load_wavefronts", "", "passes over the 32 banks for these loads; more than ideal: bank conflicts"),
    Column("shared_load_ideal_wavefronts", "", "the fewest passes for the bytes asked for"),
    Column("shared_store_requests", "", "warp instructions that store to shared memory"),
    Column("shared_store_wavefronts", "", "passes over the 32 banks for these stores"),
    Column("shared_store_ideal_wavefronts", "", "the fewest passes for the bytes stored"),
    Column("shared_atomic_requests", "", "warp instructions that are shared atomics"),
    Column("shared_atomic_wavefronts", "", "passes over the 32 banks for these atomics"),
    Column("shared_copy_requests", "", "warp instructions that copy to shared memory, or from it in bulk (cp.async)"),
    Column("shared_copy_wavefronts", "", "passes over the 32 banks for these copies, as if they were stores"),
    Column("shared_copy_ideal_wavefronts", "", "the fewest passes for the bytes copied"),
    Column("least_conflict_ways", "", "fewest wavefronts, over the ideal, of a request with bank conflicts"),
    Column("most_conflict_ways", "", "most wavefronts, over the ideal, of such a request; empty without conflicts"),
    Column("local_load_requests", "", "warp instructions of the PTX that load from local memory; without spills"),
    Column("local_load_sectors", "", "sectors of 32 bytes that these loads touch"),
    Column("local_store_requests", "", "warp instructions that store to local memory"),
    Column("local_store_sectors", "", "sectors of 32 bytes that these stores touch"),
    Column("barriers", "", "arrivals of warps at block-wide barriers"),
    Column("branches", "", "branches executed, counted per warp"),
    Column("divergent_branches", "", "branches of the PTX where a warp diverges; machine code may predicate them"),
    Column("read_once_bytes", "B", "distinct sectors of global memory read, in bytes, summed over launches"),
    Column("written_once_bytes", "B", "distinct sectors of global memory written, in bytes, summed over launches"),
)


# results.csv: one row per case, implementation, cache and method. In a row without a measurement (status other than ok)
# cache and method are empty.
RESULTS = (
    Column("suite", "", "name of the suite"),
    Column("case", "", "key of the case, unique within the suite"),
    Column("operation", "", "name of the operation"),
    Column("shape", "", "extents, as 32x64x16x16"),
    Column("axis", "", "axis of the operation, as in the suite"),
    Column("dtype", "", "element type"),
    Column("axes", "", "values of the suite's axes, as seq=16"),
    Column("implementation", "", "name of the implementation"),
    Column("role", "", "kernel, peer, yardstick or specimen"),
    Column("arithmetic", "", "accurate or fast"),
    Column("status", "", "ok, wrong, failed, unsupported or skipped"),
    Column("reason", "", "why there is no time, or a remark on it"),
    Column("cache", "", "cold: L2 cleared before every sample; warm: L2 with the kernel's own data"),
    Column("method", "", "events: two events around the launch; graph: difference of two graphs"),
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
    Column("share_of_ceiling", "", "bandwidth over the bandwidth of the best copy on this GPU in this run"),
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
    Column("absolute_tolerance", "", "allowed |got - expected| in addition"),
    Column("seed", "", "seed of the random inputs that were timed"),
    Column("launches", "", "each launch as entry<<<grid, block, shared bytes>>>, separated by ;"),
    Column("registers", "", "registers per thread, the most of all launches"),
    Column("static_shared_bytes", "B", "static shared memory per block, the most of all launches"),
    Column("spill_bytes", "B", "spill stores plus loads per thread, the most of all launches"),
    Column("input_loads", "", "global load instructions per input, as x=4; 0: the input is never read"),
    Column("binary", "", "hash of the source, its headers, flags, architecture and compiler"),
    Column("sm_clock_hz", "Hz", "SM clock during the row's samples"),
    Column("power_w", "W", "power draw during the row's samples: of all implementations of the case, which take turns"),
    Column("temperature_c", "C", "GPU temperature during the row's samples"),
    Column("throttle", "", "NVML's reasons for a lowered clock during the row's samples"),
    Column("energy_j", "J", "run --energy: energy per call of the whole board, while the kernel runs back to back"),
    Column("disturbed", "", "samples that were kept although disturbed, as 12 of 40 samples beside another process"),
    *COUNTERS,
)
LATER = frozenset(
    {"disturbed", "energy_j", "max_error_ulp", *(column.name for column in COUNTERS)}
)  # not in early versions
# Columns of RESULTS that may be infinite: the error of an infinite output is infinite.
INFINITE = frozenset(
    {"max_absolute_error", "max_relative_error", "max_error_ulp", "relative_tolerance", "absolute_tolerance"}
)

# samples.csv.gz: one row per measurement; of more than 1000 samples several rows.
SAMPLES = (
    Column("case", "", "key of the case"),
    Column("implementation", "", "name of the implementation"),
    Column("cache", "", "cold or warm"),
    Column("method", "", "events or graph"),
    Column("rounds", "", "rounds of the case, as 0-3 5; samples of a round were taken together, in random order"),
    Column("seconds", "s", "the times of the samples, one per round, separated by spaces"),
)

# counters.csv: one row per launch, of the pass that `run --counters` makes after the timing.
HARDWARE_COUNTERS = (
    Column("case", "", "key of the case"),
    Column("implementation", "", "name of the implementation"),
    Column("launch", "", "number of the launch, from 1 on; 0 where the implementation was not profiled"),
    Column("kernel", "", "name of the kernel"),
    Column("grid", "", "blocks, as 4x2x1"),
    Column("block", "", "threads per block, as 128x1x1"),
    *(Column(one.name, one.unit, f"hardware: {one.meaning}") for one in HARDWARE_METRICS.values()),
    Column("stalls", "", "hardware: cycles that a warp waits per instruction issued, by reason, as barrier=1.25"),
    *(Column(f"simulated_{name}", "", f"simulator: {name} of the same launch") for name in SIMULATED),
    Column("sampled", "", "simulator: the blocks that were run, as 64 of 262144 blocks; counts are scaled to all"),
    Column("agreement", "", "equal, explained, unexplained, or empty where nothing was compared"),
    Column("differences", "", "metrics that differ, each as hardware / simulator"),
    Column("explanation", "", "why they differ: what the machine code has, or the sample of blocks"),
    Column("unexplained", "", "metrics that differ and have no explanation, separated by spaces"),
    Column("reason", "", "why cells are empty"),
)

# comparison.csv: one row per case, cache and implementation, against the baseline.
COMPARISON = (
    Column("suite", "", "name of the suite"),
    Column("case", "", "key of the case"),
    Column("cache", "", "cold or warm"),
    Column("method", "", "timing method of both sides"),
    Column("implementation", "", "implementation that is compared"),
    Column("baseline", "", "implementation that it is compared with"),
    Column("median_s", "s", "median time of the implementation"),
    Column("baseline_s", "s", "median time of the baseline"),
    Column("speedup", "", "baseline_s / median_s"),
    Column("speedup_low", "", "lower end of its 95 % interval"),
    Column("speedup_high", "", "upper end of its 95 % interval"),
    Column("verdict", "", "FASTER or SLOWER than the baseline, the SAME, or UNSURE"),
    Column("more_samples", "", "further samples per side that would decide an UNSURE verdict; empty above 10000"),
    Column("shared_rounds", "", "rounds by which the interval is paired; empty if too few"),
    Column("share_of_ceiling", "", "bandwidth over the bandwidth of the best copy on this GPU"),
    Column("energy_j", "J", "energy per call of the whole board, back to back; empty without run --energy"),
    Column("bytes_per_j", "B/J", "bytes_moved / energy_j"),
    Column("published_speedup", "", "published time of the baseline over published time of the implementation"),
    Column("published_device", "", "GPU of the published figure"),
    Column("published_share", "", "bandwidth of the published time over the peak of that GPU"),
    Column("claim", "", "id of the ledger entry with the published figure"),
    Column("reason", "", "why cells are empty, or a remark on the verdict"),
    Column("global_bytes", "B", "simulator: global sectors loaded, stored and in atomics, times 32 bytes"),
    Column("global_bytes_ratio", "", "global_bytes over those of the baseline; below 1 is less traffic"),
    Column("distinct_bytes", "B", "simulator: read_once_bytes + written_once_bytes"),
    Column("distinct_bytes_ratio", "", "distinct_bytes over those of the baseline"),
    Column("shared_wavefronts", "", "simulator: passes over the banks of shared memory, over all accesses"),
    Column("shared_wavefronts_ratio", "", "shared_wavefronts over those of the baseline"),
    Column("warp_instructions", "", "simulator: PTX instructions executed, counted per warp"),
    Column("warp_instructions_ratio", "", "warp_instructions over those of the baseline"),
)

_PART = (
    ("", "yes, in part, no or open over the cases that count; empty where it is not asked for"),
    ("_required", "what is asked for, in words"),
    ("_by", "who asks for it: stated (the source) or set here"),
    ("_words", "the source's words, or why this project asks for it"),
)

# claims.csv: one row for each published claim of the suite.
CLAIMS = (
    Column("id", "", "id of the ledger entry"),
    Column("title", "", "what was published"),
    Column("verdict", "", "holds, direction only, holds in part, does not hold or not decided"),
    *(Column(f"direction{end}", "", f"who is faster: {meaning}") for end, meaning in _PART),
    *(Column(f"size{end}", "", f"by how much: {meaning}") for end, meaning in _PART),
    Column("sentence", "", "the numbers, in a sentence"),
)

# compare RUN RUN --format csv: one row per row of either run.
CHANGES = (
    Column("case", "", "key of the case"),
    Column("implementation", "", "implementation that is compared"),
    Column("cache", "", "cold or warm"),
    Column("method", "", "timing method of both sides"),
    Column("first_s", "s", "median time in the first run"),
    Column("second_s", "s", "median time in the second run"),
    Column("first_share", "", "share of the first GPU's ceiling, in the first run"),
    Column("second_share", "", "share of the second GPU's ceiling, in the second run"),
    Column("ratio", "", "second_s / first_s, for different GPUs first_share / second_share; above 1: slower"),
    Column("ratio_low", "", "lower end of its 95 % interval"),
    Column("ratio_high", "", "upper end of its 95 % interval"),
    Column("band", "", "noise band: ratios from 1 / (1 + band) to 1 + band are the same"),
    Column("verdict", "", "whether the second run is FASTER, SLOWER, the SAME, or UNSURE"),
    Column("more_samples", "", "further samples per run that would decide an UNSURE verdict"),
    Column("first_samples", "", "raw samples in the first run; 0 where it has none"),
    Column("second_samples", "", "raw samples in the second run"),
    Column("code", "", "same, other code, other binary (if code is not known) or other launches; empty for a library"),
    Column("first_status", "", "ok, wrong, failed, unsupported or skipped; empty where the first run has no such row"),
    Column("second_status", "", "the same for the second run"),
    Column("reason", "", "why there is no verdict, or a remark on it"),
)

# history --format csv: one row per row of the runs and step in it; of a row without a step one with empty cells.
HISTORY = (
    Column("suite", "", "name of the suite"),
    Column("device", "", "name of the GPU"),
    Column("case", "", "key of the case"),
    Column("implementation", "", "name of the implementation"),
    Column("cache", "", "cold or warm"),
    Column("method", "", "timing method"),
    Column("runs", "", "runs that have a time of the row"),
    Column("first_s", "s", "level that the history begins with: median of its runs' medians"),
    Column("last_s", "s", "level that it ends with"),
    Column("step", "UTC", "start of the first run of a new level"),
    Column("step_run", "", "folder of that run"),
    Column("step_before", "", "folder of the last run of the level before"),
    Column("step_ratio", "", "new level over the one before; above 1: slower"),
    Column("step_band", "", "least change, in either direction, that this row could show there"),
    Column("step_runs", "", "runs on the new level"),
    Column("step_code", "", "same, other code, other binary (if code is not known) or other launches, since before"),
    Column("step_differences", "", "what else differs between the two runs"),
)


def names(columns: tuple[Column, ...]) -> list[str]:
    return [column.name for column in columns]
