"""What `tune` searches: kernels of an operation, and a case for each entry that their tables can have; with `--model`,
all cases of suites."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelbench.core import dtypes
from kernelbench.core.cost_model import CostModel
from kernelbench.core.errors import InputError, Unsupported
from kernelbench.core.problems import suggest
from kernelbench.core.records import Case, Implementation, Suite
from kernelbench.core.tunable import Tunable
from kernelbench.suite.select import select_cases


def kernels_to_tune(
    operation: str, names: Sequence[str], known: Mapping[str, Mapping[str, Implementation]]
) -> list[Implementation]:
    """These kernels, or all of the operation that can be tuned. `known`: the catalog's, by operation and name."""
    able = {name: {one.name: one for one in own.values() if one.tunable} for name, own in known.items()}
    if operation not in able:
        raise InputError(f"no operation '{operation}'{suggest(operation, list(able))}")
    found = able[operation]
    if not found:
        others = ", ".join(name for name, own in able.items() if own)
        raise InputError(f"{operation}: none of its kernels can be tuned; kernels of {others} can")
    for name in names:
        if name not in found:
            raise InputError(f"--implementation {name}: not tunable; expected one of {', '.join(found)}")
    return [found[name] for name in names or found]


def cases_to_tune(
    kernels: Sequence[Implementation], suites: Sequence[Suite], filters: Sequence[str]
) -> list[tuple[Implementation, Case]]:
    """For each table entry, the first case that it serves: of the suites, else of the cases that the kernels name."""
    operation = kernels[0].operation
    if suites and not any(case.operation == operation for suite in suites for case in suite.cases):
        raise InputError(f"--suite {suites[0].name}: has no case of {operation}; see kernelbench list suites")
    jobs: dict[tuple[str, ...], tuple[Implementation, Case]] = {}
    for one in kernels:
        assert one.tunable is not None
        for case in [case for suite in suites or [own_suite(one, filters)] for case in suite.cases]:
            if case.operation == operation:
                jobs.setdefault((one.name, *_entry(one.tunable, case)), (one, case))
    return list(jobs.values())


def kernels_to_rank(
    operation: str, names: Sequence[str], known: Mapping[str, Mapping[str, Implementation]]
) -> list[Implementation]:
    """Those of kernels_to_tune() that have a cost function."""
    found = [one for one in kernels_to_tune(operation, names, known) if one.tunable and one.tunable.model]
    if not found:
        raise InputError(f"--model: no kernel of {operation} has a cost function")
    return found


def cost_model(one: Implementation) -> CostModel:
    """The cost function of a kernel of kernels_to_rank()."""
    assert one.tunable is not None
    assert one.tunable.model is not None
    return one.tunable.model


def cases_to_rank(
    kernels: Sequence[Implementation], suites: Sequence[Suite], filters: Sequence[str], seed: int
) -> list[tuple[Implementation, Case]]:
    """Each kernel with the cases of the suites that name it, or with its own. In random order: when the time is up, the
    timed cases are a sample of all."""
    operation = kernels[0].operation
    for suite in suites:
        if suite.operation != operation:
            raise InputError(f"--suite {suite.name}: has no case of {operation}; see kernelbench list suites")
    found: dict[tuple[str, Case], tuple[Implementation, Case]] = {}
    for one in kernels:
        named = [suite for suite in suites if one.name in suite.implementations]
        named = named if suites else [own_suite(one, filters)]
        found |= {(one.name, case): (one, case) for suite in named for case in suite.cases}
    if not found:
        raise InputError(f"--suite {suites[0].name}: names none of {', '.join(one.name for one in kernels)}")
    jobs = list(found.values())
    random.Random(seed).shuffle(jobs)
    return jobs


def _entry(tunable: Tunable, case: Case) -> tuple[str, str, str]:
    """The type, layout and size that an entry for this case has."""
    try:
        layout = tunable.layout(case)
    except Unsupported:  # the plan refuses this case too, and says why
        layout = case.key
    return case.dtype, layout, str(case.elements * dtypes.itemsize(case.dtype))


def own_suite(one: Implementation, filters: Sequence[str]) -> Suite:
    """The cases that the kernel itself names."""
    assert one.tunable is not None
    if not one.tunable.cases:
        raise InputError(f"{one.operation}/{one.name} names no cases to be tuned for; add --suite NAME")
    suite = Suite(f"{one.operation}/{one.name}", Path(), "", one.operation, one.tunable.cases, (one.name,))
    return select_cases(suite, filters) if filters else suite
