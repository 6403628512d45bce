"""The command `list`: suites, kernels, devices, runs and claims, each as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelbench.cli.options import FORM, KERNELS
from kernelbench.cli.terminal import console, say, tell
from kernelbench.core import places
from kernelbench.core.errors import InputError, KernelbenchError, NoDevice
from kernelbench.core.texts import singular
from kernelbench.core.units import duration_text

if TYPE_CHECKING:
    from kernelbench.core.records import DeviceProperties
    from kernelbench.runs.results import Run


SOME = 3  # of each kind that `list` alone names
TOOK = "took"  # the header of cells with seconds, which people read in words


@dataclass(frozen=True)
class TextTable:
    """A table as plain text cells, seconds in the column TOOK; `note` stands below it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def list_suites(own: Sequence[Path] = ()) -> TextTable:
    from kernelbench.compare import read_ledger
    from kernelbench.planning.catalog import load_catalog
    from kernelbench.runs import folders
    from kernelbench.suite import read_suite

    catalog = load_catalog(specimens=True, own=own)  # a suite may include wrong kernels
    claims = read_ledger(places.LEDGER)
    rows = []
    for path in sorted(places.SUITES.glob("*.yaml")):
        suite = read_suite(path, catalog.operations, catalog.implementations, claims)
        recorded = folders.recorded_time(suite.name)
        took, gpu = (f"{recorded[0]:g}", recorded[1].upper()) if recorded else ("", "")
        rows.append((suite.name, suite.title, str(len(suite.cases)), str(len(suite.implementations)), took, gpu))
    note = "kernelbench run SUITE measures one; took, on: how long the recorded run took, and on which GPU"
    return TextTable("Suites", ("suite", "title", "cases", "kernels", TOOK, "on"), rows, note)


def list_kernels(own: Sequence[Path] = ()) -> TextTable:
    """All kernels, those of the user's own folders among them."""
    from kernelbench.planning.catalog import load_catalog

    catalog = load_catalog(own=own)
    found = [one for implementations in catalog.implementations.values() for one in implementations.values()]
    rows = [
        (one.operation, one.name, one.role, one.origin.project.split("/")[-1], singular(one.summary)) for one in found
    ]
    able = [f"{one.operation}/{one.name}" for one in found if one.tunable]
    note = f"kernelbench tune OPERATION fits to a GPU: {', '.join(able)}" if able else ""
    return TextTable("Kernels", ("operation", "name", "role", "whose algorithm", "summary"), rows, note)


def list_devices() -> TextTable:
    from kernelbench.devices import open_device
    from kernelbench.devices.known import KNOWN

    def row(device: str, gpu: DeviceProperties) -> tuple[str, ...]:
        return device, gpu.name, gpu.architecture, str(gpu.multiprocessors), f"{gpu.peak_bytes_per_s / 1e9:.0f}"

    rows = []
    known = "known to `plan --gpu`, `build --gpu` and the simulator (`run --device simulated:NAME`)"
    note = f"only the first is here; the others are {known}"
    try:
        rows.append(row("cuda:0", open_device("cuda").properties))
    except NoDevice as error:
        note = f"{str(error).splitlines()[0]} The GPUs above are {known}."
    rows += [row(name, gpu) for name, gpu in KNOWN.items()]
    return TextTable("Devices", ("device", "GPU", "architecture", "SMs", "peak GB/s"), rows, note)


def list_runs() -> TextTable:
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.runs import folders
    from kernelbench.runs.results import read_run

    rows = []
    found = (*folders.user_runs(), *folders.shipped_runs())
    with ConsoleProgress(lasting=False).stage("Reading runs", len(found)) as advance:
        for folder in found:
            name = _run_name(folder)
            advance(0, name)
            try:
                rows.append((name, *_run_cells(read_run(folder))))
            except KernelbenchError as error:
                rows.append((name, "", "", "", f"cannot be read: {error}"))
            advance(1, name)
    return TextTable("Runs", ("run", "device", "started", "cases", "state"), rows, "kernelbench compare RUN reads one")


def _run_cells(run: Run) -> tuple[str, ...]:
    """Device, start, cases and state."""
    started = str(run.environment.get("started", ""))[:16].replace("T", " ")
    state = "" if run.environment.get("finished") else "not finished; --resume goes on"
    return run.device, started, str(len({row.case for row in run.rows})), state


def _run_name(folder: Path) -> str:
    return folder.name if folder.parent == places.runs() else str(folder.relative_to(places.RECORDED))


def list_claims() -> TextTable:
    """Every entry of the ledger with its verdict on the runs that kernelbench ships, and what decided it."""
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.compare.recorded import ledger_standings
    from kernelbench.compare.verdicts import NOT_DECIDED

    rows = []
    for one in ledger_standings(progress=ConsoleProgress(lasting=False)):
        by = f", by {one.decided_by}" if one.decided_by != "times" and one.verdict not in ("", NOT_DECIDED) else ""
        rows.append((one.claim.id, one.claim.title, ", ".join(one.claim.suites), f"{one.verdict}{by}"))
    note = (
        "verdicts: on the recorded runs that kernelbench ships, from times unless another source is named; no "
        "verdict: figures without a claim. docs/claims.md says more of each"
    )
    return TextTable("Claims", ("id", "what was published", "suites", "verdict"), rows, note)


def checked_entry(path: Path) -> str:
    """A line that the ledger entry is right; ProblemsError with all its mistakes where it is not."""
    from kernelbench.compare.entry_checks import check_entry
    from kernelbench.planning.catalog import load_catalog
    from kernelbench.suite import read_suite

    catalog = load_catalog(specimens=True)
    suites = {
        path.stem: read_suite(path, catalog.operations, catalog.implementations).implementations
        for path in sorted(places.SUITES.glob("*.yaml"))
    }
    check_entry(path, catalog.implementations, suites)
    return f"{path}: nothing wrong"


KINDS: Mapping[str, Callable[..., TextTable]] = {
    "suites": list_suites,
    "kernels": list_kernels,
    "devices": list_devices,
    "runs": list_runs,
    "claims": list_claims,
}


def listing_of(kind: str, own: Sequence[Path] = ()) -> TextTable:
    """One of KINDS; `own`: folders of the user's own kernels."""
    return KINDS[kind](own) if kind in ("suites", "kernels") else KINDS[kind]()


def overview(own: Sequence[Path] = ()) -> TextTable:
    """How many there are of each kind, on one screen; reads names alone, so that it takes no time."""
    from kernelbench.compare import read_ledger
    from kernelbench.devices.known import KNOWN
    from kernelbench.planning.catalog import load_catalog
    from kernelbench.runs import folders

    names: Mapping[str, Sequence[str]] = {
        "suites": [path.stem for path in sorted(places.SUITES.glob("*.yaml"))],
        "kernels": [name for there in load_catalog(own=own).implementations.values() for name in there],
        "devices": list(KNOWN),
        "runs": [_run_name(folder) for folder in (*folders.user_runs(), *folders.shipped_runs())],
        "claims": list(read_ledger(places.LEDGER)),
    }
    rows = [
        (
            kind,
            str(len(all_of)),
            ", ".join(all_of[:SOME]) + (", .." if all_of[SOME:] else ""),
            f"kernelbench list {kind}",
        )
        for kind, all_of in names.items()
    ]
    return TextTable("", ("what", "count", "some of them", "all of them"), rows)


@click.command("list")
@click.argument("what", type=click.Choice(list(KINDS)), required=False)
@KERNELS
@FORM
@click.option(
    "--check",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With claims: check this ledger entry, and name every mistake with its line.",
)
def list_(what: str | None, kernels: tuple[Path, ...], form: str, check: Path | None) -> None:
    """List suites, kernels, devices, runs or claims. Without a name, say how many there are of each.

    \b
    Examples:
      kernelbench list
      kernelbench list claims
      kernelbench list kernels --kernels kernels
      kernelbench list claims --check results/published/relu-naive-packed.yaml
    """
    from kernelbench.report.tables import list_table

    if check is not None:
        if what != "claims":
            raise InputError(f"--check {check}: is for claims, as in kernelbench list claims --check {check}")
        say(checked_entry(check))
        return
    if form != "table":
        say(_formatted(what, kernels, form))
        return
    listing = listing_of(what, kernels) if what else overview(kernels)
    rows = [[_in_words(*cell) for cell in zip(listing.header, row, strict=True)] for row in listing.rows]
    console().print(list_table(listing.header, rows, listing.title))
    if listing.note:
        tell(listing.note)


def _formatted(what: str | None, own: Sequence[Path], form: str) -> str:
    """One listing for a program, or all of them by name; a CSV file holds one."""
    from kernelbench.report import formats

    if what is None and form == "csv":
        raise InputError(f"list --format csv: name one of {', '.join(KINDS)}")
    found = {kind: listing_of(kind, own) for kind in ([what] if what else KINDS)}
    rows = {
        kind: [
            {header: _value(header, cell, form) for header, cell in zip(one.header, row, strict=True)}
            for row in one.rows
        ]
        for kind, one in found.items()
    }
    if what is not None:
        return formats.format_rows(form, rows[what])
    if form == "json":
        return formats.as_json(rows)
    return "\n\n".join(f"## {found[kind].title}\n\n{formats.as_markdown(own)}" for kind, own in rows.items())


def _in_words(header: str, cell: str) -> str:
    return duration_text(float(cell)) if header == TOOK and cell else cell


def _value(header: str, cell: str, form: str) -> str | float | None:
    if header != TOOK:
        return int(cell) if cell.isdecimal() else cell
    if form == "markdown":
        return _in_words(header, cell)
    return float(cell) if cell else None
