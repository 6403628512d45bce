"""Results as rows of results.csv and samples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from kernelbench.core import columns
from kernelbench.core.counters import LaunchCounters, conflict_ways, total_counters
from kernelbench.core.launch_texts import input_loads, launches_text
from kernelbench.core.operations import shape_text
from kernelbench.core.records import Check, LaunchPlan, Limits, Measurement, Operation, Result
from kernelbench.core.texts import kept_text
from kernelbench.runs.row_checks import row_problem
from kernelbench.runs.row_records import Row
from kernelbench.runs.samples import LEFT_OUT, Sample

_FIELDS = {one.name for one in fields(Row)}
_MOST_TEXT = 4_000  # characters of a reason: ten lines of a compiler, in each row of a suite
FLOOR_LIMITED = 3.0  # times an empty kernel, below which a time depends as much on the launch as on the kernel


def rows_of(suite: str, operation: Operation, result: Result, limits: Limits | None) -> list[Mapping[str, Any]]:
    """One row per measurement, or one row without times. `limits` is None if nothing is timed.

    Every row can be read back: if a value of the user's kernel prevents this, one failed row takes their place.
    """
    try:
        rows = _rows(suite, operation, _with_times_only(result), limits)
        problem = next((found for row in rows if (found := row_problem(row))), "")
    except (ArithmeticError, TypeError, ValueError) as error:  # a value of the user's kernel that is not a number
        problem = f"{type(error).__name__}: {error}"
    if not problem:
        return rows
    reason = kept_text(f"its row cannot be kept: {problem}", _MOST_TEXT)
    return [{**_case_cells(suite, result), "role": "", "arithmetic": "", "status": "failed", "reason": reason}]


def samples_of(result: Result, rows: Sequence[Mapping[str, Any]]) -> Iterator[Sample]:
    """The samples of the `rows` with times. Times are kept to picoseconds, far below the step of any
    clock."""
    timed = {(row.get("cache"), row.get("method")) for row in rows}
    for measured in _with_times_only(result).measurements:
        if (measured.cache, measured.method) not in timed:
            continue
        for number, seconds in zip(measured.rounds, measured.samples_s, strict=True):
            yield (
                result.case.key,
                result.implementation.name,
                measured.cache,
                measured.method,
                number,
                f"{seconds:.6g}",
            )


def launches_cell(plan: LaunchPlan) -> str:
    """All launches of a plan as results.csv keeps them."""
    return kept_text("; ".join(launches_text(plan)), _MOST_TEXT)


def _with_times_only(result: Result) -> Result:
    """The result with only the samples above 0, and a note of how many were left out: the difference of two graphs may
    be 0 or below. A measurement is left out completely if its interval begins at or below 0."""
    measurements, notes = [], []
    for one in result.measurements:
        good = [number for number, seconds in enumerate(one.samples_s) if seconds > 0]
        if one.low_s <= 0:
            notes.append(f"no {one.method} timing: too short to be told from the flushes")
            continue
        if left_out := len(one.samples_s) - len(good):
            notes.append(f"by {one.method}, {left_out} of {len(one.samples_s)} {LEFT_OUT}")
        samples = tuple(one.samples_s[number] for number in good)
        measurements.append(replace(one, samples_s=samples, rounds=tuple(one.rounds[number] for number in good)))
    reason = "; ".join(filter(None, (str(result.reason), *notes)))
    return replace(result, measurements=tuple(measurements), reason=reason) if notes else result


def _rows(suite: str, operation: Operation, result: Result, limits: Limits | None) -> list[Mapping[str, Any]]:
    common = {
        **_case_cells(suite, result),
        "bytes_moved": operation.bytes_moved(result.case),
        **_check_cells(result),
        **_build_cells(operation, result),
    }
    if not result.measurements or limits is None:
        return [{**common, **_counter_cells(result.counters)}]
    return [{**common, **_time_cells(operation, result, measured, limits)} for measured in result.measurements]


def _case_cells(suite: str, result: Result) -> dict[str, Any]:
    case, implementation = result.case, result.implementation
    return {
        "suite": suite,
        "case": case.key,
        "operation": case.operation,
        "shape": shape_text(case.shape),
        "axis": case.axis,
        "dtype": case.dtype,
        "axes": " ".join(f"{name}={value}" for name, value in case.axes),
        "implementation": implementation.name,
        "role": implementation.role,
        "arithmetic": implementation.arithmetic,
        "status": result.status,
        "reason": kept_text(str(result.reason), _MOST_TEXT),
    }


def _check_cells(result: Result) -> dict[str, Any]:
    if result.check is None:
        return {}
    return {
        "check": "graded" if result.check.grade else "passed" if result.check.passed else "failed",
        **_own_cells(result.check),
        "relative_tolerance": result.check.tolerance.relative,
        "absolute_tolerance": result.check.tolerance.absolute,
    }


def _own_cells(record: Measurement | Check) -> dict[str, Any]:
    """The columns that are called as fields of a record, with its values."""
    return {name: value for name, value in vars(record).items() if name in _FIELDS}


def _build_cells(operation: Operation, result: Result) -> dict[str, Any]:
    if result.plan is None:
        return {}
    cells: dict[str, Any] = {"launches": launches_cell(result.plan)}
    if result.binary is None:
        return cells
    facts = [result.binary.facts[launch.entry] for launch in result.plan.launches]
    inputs = [spec.name for spec in operation.arrays(result.case) if spec.role == "input"]
    loads = input_loads(result.plan, result.binary.facts, inputs)
    return {
        **cells,
        "registers": max((fact.registers for fact in facts), default=None),
        "static_shared_bytes": max((fact.shared_bytes for fact in facts), default=None),
        "spill_bytes": max((fact.spill_store_bytes + fact.spill_load_bytes for fact in facts), default=None),
        "input_loads": " ".join(f"{name}={count}" for name, count in loads.items()),
        "binary": result.binary.short_key,
    }


def _counter_cells(launches: Sequence[LaunchCounters]) -> dict[str, Any]:
    """Counters of all launches together; `sampled` is that of the launch with the smallest sample."""
    if not launches:
        return {}
    added = total_counters(one.counters for one in launches)
    least = min(launches, key=lambda one: one.blocks_run / one.blocks if one.blocks else 1.0)
    fewest, most = conflict_ways(launches) or (None, None)
    apart = {
        "sampled": least.sampled.removeprefix("sampled "),
        "least_conflict_ways": fewest,
        "most_conflict_ways": most,
    }
    return {name: getattr(added, name) for name in columns.column_names(columns.COUNTERS) if name not in apart} | apart


def _time_cells(operation: Operation, result: Result, measured: Measurement, limits: Limits) -> dict[str, Any]:
    bandwidth = operation.bytes_moved(result.case) / measured.median_s
    low, high = np.percentile(measured.samples_s, [5, 95])
    ceiling = limits.ceiling_bytes_per_s(operation.read_share(result.case))
    floor = limits.graph_floor_s if measured.method == "graph" else limits.floor_s
    return {
        **_own_cells(measured),
        "samples": len(measured.samples_s),
        "min_s": min(measured.samples_s),
        "p5_s": float(low),
        "p95_s": float(high),
        "bandwidth_bytes_per_s": bandwidth,
        "share_of_ceiling": bandwidth / ceiling if measured.cache == "cold" else None,
        "floor_limited": "yes" if measured.median_s < FLOOR_LIMITED * floor else "",
    }
