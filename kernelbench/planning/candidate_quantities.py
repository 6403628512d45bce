"""The physical quantities of timed candidates: computed when they are needed, so that recorded times stay of use when
the definition of a quantity changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelbench.core.cost_model import CandidateTime, Sample
from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.operations import case_of_key
from kernelbench.core.tunable import values_text
from kernelbench.planning.catalog import Catalog


def with_quantities(times: Sequence[CandidateTime], device: DeviceProperties, catalog: Catalog) -> list[Sample]:
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
