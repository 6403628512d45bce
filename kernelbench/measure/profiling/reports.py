"""Reads reports of Nsight Compute, our own and anybody's, without a GPU: through NVIDIA's package ncu-report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelbench.core.errors import ResultsError
from kernelbench.core.hardware_counters import (
    FURTHER,
    HARDWARE_METRICS,
    STALL_METRICS,
    HardwareMetric,
    ProfiledLaunch,
)
from kernelbench.core.libraries import import_library
from kernelbench.core.texts import kept_text, one_line

ABSENT, NOT_A_NUMBER = "the report does not have it", "Nsight Compute gave no number (NaN)"
_MOST_NAME = 200  # characters


def read_report(path: Path) -> tuple[ProfiledLaunch, ...]:
    """The launches of a report in their order.

    ResultsError for a file that cannot be read or has no launch; MissingLibrary without ncu-report.
    """
    library = import_library("ncu_report")
    if not path.is_file():
        raise ResultsError(f"{path}: no such file; expected a report of Nsight Compute")
    try:
        report = library.load_report(str(path))
    except Exception as error:  # the library raises what its C++ code throws
        raise ResultsError(f"{path}: cannot be read ({one_line(str(error))})") from error
    found = tuple(launch_of(action) for part in report for action in part if _is_kernel(action))
    if not found:
        raise ResultsError(f"{path}: has no launch of a kernel; expected a report of Nsight Compute")
    return found


def launch_of(action: Any) -> ProfiledLaunch:
    """One action of a report as a record."""
    values, missing = {}, {}
    for metric in HARDWARE_METRICS.values():
        value = _value(action, metric)
        if isinstance(value, str):
            missing[metric.name] = value
        else:
            values[metric.name] = value
    return ProfiledLaunch(
        kernel=_name(action, action.NameBase_FUNCTION),
        symbol=_name(action, action.NameBase_MANGLED),
        grid=_extent(action, "grid"),
        block=_extent(action, "block"),
        values=values,
        missing=missing,
        stalls=_numbers(action, STALL_METRICS),
        range_names=tuple(_range_names(action)),
        gpu=_text(action, "device__attribute_display_name"),
        further=_numbers(action, FURTHER),
    )


def _is_kernel(action: Any) -> bool:
    """Whether the action is one kernel, not a graph or a range of launches."""
    return bool(action.workload_type() == action.WorkloadType_KERNEL)


def _value(action: Any, metric: HardwareMetric) -> float | str:
    """The value of a metric, or the reason why there is none."""
    found = [[_number(action, name) for name in names] for names in (metric.sources, metric.also)]
    sums = [sum(value for value in values if value is not None) for values in found if values != [None] * len(values)]
    finite = [value for value in sums if math.isfinite(value)]
    if not finite:
        return NOT_A_NUMBER if sums else ABSENT
    return metric.factor * min(filter(None, finite), default=0.0)


def _numbers(action: Any, names: dict[str, str] | Any) -> dict[str, float]:
    found = {name: _number(action, source) for name, source in names.items()}
    return {name: value for name, value in found.items() if value is not None and math.isfinite(value)}


def _number(action: Any, name: str) -> float | None:
    metric = action.metric_by_name(name)
    value = None if metric is None else metric.value()
    return float(value) if isinstance(value, int | float) else None


def _extent(action: Any, which: str) -> tuple[int, int, int]:
    """Extents of `grid` or `block`; a report without all three has their product."""
    x, y, z = (_number(action, f"launch__{which}_dim_{axis}") for axis in "xyz")
    if x is None or y is None or z is None:
        return int(_number(action, f"launch__{which}_size") or 0), 1, 1
    return int(x), int(y), int(z)


def _range_names(action: Any) -> Iterator[str]:
    state = action.nvtx_state()
    for domain in () if state is None else state.domains():
        for name in state.domain_by_id(domain).push_pop_ranges():
            yield kept_text(one_line(name), _MOST_NAME)


def _name(action: Any, base: int) -> str:
    return kept_text(one_line(action.name(base)), _MOST_NAME)


def _text(action: Any, name: str) -> str:
    metric = action.metric_by_name(name)
    return "" if metric is None else kept_text(one_line(str(metric.as_string())), _MOST_NAME)
