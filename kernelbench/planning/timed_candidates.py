"""Recorded times of candidates: their physical quantities, computed when they are needed, so that times stay of use
when the definition of a quantity changes; and entries of a table where another candidate surely beats the choice."""

from collections.abc import Iterator, Mapping, Sequence

import kernelbench
from kernelbench.core import dtypes
from kernelbench.core.cost_model import CandidateTime, Sample
from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.operations import case_of_key
from kernelbench.core.tunable import values_text
from kernelbench.planning.catalog import Catalog
from kernelbench.planning.cost_fit import Fit
from kernelbench.planning.tuned import TunedEntry, source_hashes


def tuned_entries(found: Fit, device: DeviceProperties, catalog: Catalog, run: str, date: str) -> Iterator[TunedEntry]:
    """One per case of `found.lost`, unless its kernel has changed since it was timed. `run`: the file of the times."""
    for rule, fastest in found.lost:
        operation, _, name = fastest.kernel.partition("/")
        implementation = catalog.implementations[operation][name]
        tunable = implementation.tunable
        if tunable is None or fastest.source not in source_hashes(implementation):
            continue
        case = case_of_key(catalog.operations[operation], fastest.case)
        yield TunedEntry(
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
            kernel=fastest.source,
            kernelbench=kernelbench.__version__,
            environment=f"in place of the cost function's choice, by {run}",
        )


def _seconds(one: CandidateTime) -> float:
    assert one.seconds is not None
    return one.seconds


def candidates_with_quantities(
    times: Sequence[CandidateTime], device: DeviceProperties, catalog: Catalog
) -> list[Sample]:
    """Each time with its candidate's quantities; those of candidates that are no longer listed are left out."""
    listed: dict[tuple[str, str], Mapping[str, Mapping[str, float]]] = {}
    found = []
    for one in times:
        place = one.kernel, one.case
        if place not in listed:
            listed[place] = _listed(one, device, catalog)
        if (quantities := listed[place].get(one.values)) is not None:
            found.append((one, quantities))
    return found


def _listed(one: CandidateTime, device: DeviceProperties, catalog: Catalog) -> Mapping[str, Mapping[str, float]]:
    """The quantities of all candidates of a case by their values; none for a kernel without a cost function."""
    operation, _, name = one.kernel.partition("/")
    implementation = catalog.implementations.get(operation, {}).get(name)
    tunable = implementation.tunable if implementation else None
    if tunable is None or tunable.model is None:
        return {}
    case = case_of_key(catalog.operations[operation], one.case)
    pairs = zip(tunable.listed(case, device), tunable.model.quantities(case, device), strict=True)
    return {values_text(values): quantities for values, quantities in pairs}
