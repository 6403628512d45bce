"""Columns of the CSV files that kernelbench writes: name, unit and meaning.

An empty cell means "not measured"; the row's `reason` says why. Where a record holds a row, its fields are the columns,
and say all that is to be known of them; the others are listed here. docs/reading-a-report.md is made from both.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, get_type_hints

from kernelbench.core.hardware_counters import HARDWARE_METRICS, SIMULATED


@dataclass(frozen=True)
class Column:
    name: str
    unit: str  # "" for text and counts
    meaning: str
    later: bool = False  # missing in files of early versions
    infinite: bool = False  # whether a number may be infinite
    negative: bool = False  # whether a number may be below 0
    any_length: bool = False  # a text that early versions did not cut
    choices: tuple[str, ...] = ()  # the only texts, if there are some


Number = float | None  # a cell: None is an empty one
Count = int | None


def csv_column(meaning: str, unit: str = "", name: str = "", **rules: Any) -> Column:
    """The column of a record's field, as part of its type: `low_s: Annotated[float, csv_column("lower end", "s")]`.

    `name`: where it is not that of the field. `rules`: see Column.
    """
    return Column(name, unit, meaning, **rules)


def columns_of(record: type) -> tuple[Column, ...]:
    """The columns of a dataclass, in the order of its fields; those without a `csv_column` have none."""
    hints = get_type_hints(record, include_extras=True)
    found = [(one.name, column) for one in fields(record) for column in getattr(hints[one.name], "__metadata__", ())]
    return tuple(replace(column, name=column.name or name) for name, column in found)


# Counts of the simulator over all launches of a row; empty where a GPU measured. Each but `sampled` and the ways is a
# field or a property of `counters.Counters`.
COUNTERS = (
    Column("sampled", "", "simulator: the blocks that were run, as 64 of 262144 blocks; counts are scaled to all"),
    Column("warp_instructions", "", "PTX instructions executed, counted per warp; not those of the machine code"),
    Column("lanes_per_instruction", "", "active lanes per warp instruction, of 32"),
    Column("global_load_requests", "", "warp instructions that load from global memory"),
    Column("global_load_sectors", "", "sectors of 32 bytes that these loads touch, summed over requests"),
    Column("global_load_ideal_sectors", "", "the fewest sectors that hold the bytes asked for"),
    Column("global_load_requested_bytes", "B", "the bytes asked for, those of several lanes of a request once"),
    Column("global_store_requests", "", "warp instructions that store to global memory"),
    Column("global_store_sectors", "", "sectors of 32 bytes that these stores touch"),
    Column("global_store_ideal_sectors", "", "the fewest sectors that hold the bytes stored"),
    Column("global_store_requested_bytes", "B", "the bytes stored, those of several lanes of a request once"),
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
    Column("shared_copy_requests", "", "warp instructions of cp.async and st.async, and bulk copies"),
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

# history --format csv: one line per step of a row; a row without steps has one line with empty step cells.
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


def column_names(columns: Iterable[Column]) -> list[str]:
    return [column.name for column in columns]
