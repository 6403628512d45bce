"""What the user asked for, and the suites that this names: where walks begin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelbench.core import places
from kernelbench.core.errors import InputError, ProblemsError
from kernelbench.core.progress import QUIET, Progress
from kernelbench.core.records import Suite
from kernelbench.measure.opening import MeasureRequest
from kernelbench.planning.catalog import Catalog
from kernelbench.planning.own_file import CuFile, renamed_text

LAUNCH = ("entry", "grid", "block", "shared", "args")  # of --cu


@dataclass(frozen=True)
class Request(MeasureRequest):
    """Suites and options; the defaults are those of the command line."""

    suites: Sequence[str]
    only: Sequence[str] = ()
    filters: Sequence[str] = ()
    sets: Sequence[str] = ()  # other sizes than the suites', `seq=77,100`
    dtypes: Sequence[str] = ()  # other types than the suites'
    part: str = ""  # of the cases that are left: `2/4`, the second of four parts
    counters: bool = False  # a pass for hardware counters after the timing
    resume: bool = False
    out: Path | None = None
    no_report: bool = False  # neither charts nor the page
    nvcc: Path | None = None
    specimens: bool = False
    inputs: Sequence[str] = ()  # distributions that `check` uses; none: all of the operation

    @property
    def partial(self) -> bool:
        """Whether a recorded time says nothing of this run: less or other cases, --quick, twins, or energy."""
        chosen = self.only or self.filters or self.sets or self.dtypes or self.part or self.caches
        return bool(chosen or self.quick or self.self_test or self.energy)


def request_of(suites: Sequence[str], arguments: Sequence[str], given: Mapping[str, Any]) -> Request:
    """A request from options by the names of its fields, and those of --cu; options left out have its defaults."""
    launch = {name: given[name] for name in LAUNCH if name in given}
    files = given.get("cu", ())
    if launch and not files:
        raise InputError(f"--{next(iter(launch))}: belongs to --cu FILE, which is missing")
    own = {name: value for name, value in given.items() if name not in (*LAUNCH, "cu", "kernels")}
    kernels = (*given.get("kernels", ()), *(CuFile(path, **launch) for path in files))
    return Request(suites=suites, arguments=arguments, kernels=kernels, **own)


def read_suites(request: Request, catalog: Catalog, progress: Progress = QUIET) -> list[Suite]:
    """The suites asked for, with --set, --dtype, --only and --filter applied, and the user's own kernels and specimens
    added. Says which file of --cu has another name here."""
    from kernelbench.suite import find_suite, select_cases, select_implementations, select_part

    suites: list[Suite] = []
    said = {""}
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
        files = catalog.files[suite.operation] if catalog.files else {}
        for own, file in files.items():
            if (text := renamed_text(file, own, suite.operation, request.only)) not in said:
                progress.say(text)
                said.add(text)
        only = (*request.only, *files) if request.only else ()  # --cu asks for its kernels
        suite = select_implementations(suite, only) if only else suite
        suite = select_cases(suite, request.filters) if request.filters else suite
        suites.append(select_part(suite, request.part) if request.part else suite)
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
