"""What the user asked for, and the suites that this names: where walks begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelbench.core import places
from kernelbench.core.errors import InputError, ProblemsError
from kernelbench.core.records import Suite
from kernelbench.measure.opening import DeviceRequest
from kernelbench.planning.catalog import Catalog

DEFAULT_SEED = 20260401


@dataclass(frozen=True)
class Request(DeviceRequest):
    """Suites and options; the defaults are those of the command line."""

    suites: Sequence[str]
    only: Sequence[str] = ()
    filters: Sequence[str] = ()
    sets: Sequence[str] = ()  # other sizes than the suites', `seq=77,100`
    dtypes: Sequence[str] = ()  # other types than the suites'
    caches: Sequence[str] = ()
    quick: bool = False
    energy: bool = False  # per call, measured behind the times
    self_test: bool = False  # each implementation beside a twin of itself
    counters: bool = False  # a pass for hardware counters after the timing
    resume: bool = False
    out: Path | None = None
    nvcc: Path | None = None
    seed: int = DEFAULT_SEED
    specimens: bool = False
    inputs: Sequence[str] = ()  # distributions that `check` uses; none: all of the operation
    arguments: Sequence[str] = ()  # the command line, for environment.json

    @property
    def partial(self) -> bool:
        """Whether the run covers less than whole suites, or measures twins or energy too."""
        chosen = self.only or self.filters or self.sets or self.dtypes or self.caches
        return bool(chosen or self.quick or self.self_test or self.energy)


def read_suites(request: Request, catalog: Catalog) -> list[Suite]:
    """The suites asked for, with --set, --dtype, --only and --filter applied, and the user's own kernels and specimens
    added."""
    from kernelbench.suite import find_suite, select_cases, select_implementations

    suites = []
    for name in request.suites:
        path = find_suite(name, places.SUITES)
        whole = _read(path, request, catalog)
        suite = replace(whole, whole=whole)
        if suite.step is not None and catalog.files:
            raise InputError(f"--cu: '{suite.name}' is a step, which takes one kernel per part; name another suite")
        if suite.step is None:  # a step takes one right kernel per part
            there = catalog.implementations[suite.operation]
            added = list(catalog.own.get(suite.operation, ()))
            if request.specimens:
                added += [one.name for one in there.values() if one.role == "specimen"]
            suite = replace(suite, implementations=tuple(dict.fromkeys((*suite.implementations, *added))))
        only = (*request.only, *catalog.files) if request.only else ()  # --cu asks for its kernels
        suite = select_implementations(suite, only) if only else suite
        suites.append(select_cases(suite, request.filters) if request.filters else suite)
    return suites


def _read(path: Path, request: Request, catalog: Catalog) -> Suite:
    """The suite of a file, or with --set and --dtype its other sizes and types, about which nothing is published."""
    from kernelbench.compare import read_ledger
    from kernelbench.suite import read_changes, read_suite

    changes = read_changes(request.sets, request.dtypes)
    suite = read_suite(path, catalog.operations, catalog.implementations, read_ledger(places.LEDGER))
    if changes is None:
        return suite
    try:
        suite = read_suite(path, catalog.operations, catalog.implementations, changes=changes)
    except ProblemsError as error:  # of the options: the file itself has none
        raise InputError("\n".join(f"{changes.text}: {one.text}" for one in error.problems)) from error
    return replace(suite, claims=())
