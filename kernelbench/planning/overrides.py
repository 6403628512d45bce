"""Entries of a table where the cost function's choice is surely slower than another candidate that was timed."""

from __future__ import annotations

from collections.abc import Iterator

import kernelbench
from kernelbench.core import dtypes
from kernelbench.core.cost_model import CandidateTime
from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.operations import case_of_key
from kernelbench.core.tunable import values_text
from kernelbench.planning.catalog import Catalog
from kernelbench.planning.cost_fit import Fit
from kernelbench.planning.tuned import Entry, source_hash


def overrides(found: Fit, device: DeviceProperties, catalog: Catalog, run: str, date: str) -> Iterator[Entry]:
    """One per case of `found.lost`, unless its kernel has changed since it was timed. `run`: the file of the times."""
    for rule, fastest in found.lost:
        operation, _, name = fastest.kernel.partition("/")
        implementation = catalog.implementations[operation][name]
        tunable, kernel = implementation.tunable, source_hash(implementation.source)
        if tunable is None or kernel != fastest.source:
            continue
        case = case_of_key(catalog.operations[operation], fastest.case)
        yield Entry(
            operation=operation,
            implementation=name,
            dtype=case.dtype,
            layout=tunable.layout(case),
            bytes=case.elements * dtypes.itemsize(case.dtype),
            values=next(each for each in tunable.listed(case, device) if values_text(each) == fastest.values),
            seconds=_seconds(fastest),
            rule_seconds=_seconds(rule),
            case=case.key,
            date=date,
            kernel=kernel,
            kernelbench=kernelbench.__version__,
            environment=f"in place of the cost function's choice, by {run}",
        )


def _seconds(one: CandidateTime) -> float:
    assert one.seconds is not None
    return one.seconds
