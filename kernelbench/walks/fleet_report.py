"""report of many GPUs: the run of each GPU -> comparison and verdicts -> one page. Needs no GPU.

The runs are those of a fleet, or of folders that were recorded one by one.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kernelbench.compare.answer import judge_run
from kernelbench.compare.ledger import read_ledger
from kernelbench.core import places
from kernelbench.core.errors import InputError, ResultsError
from kernelbench.core.progress import Progress
from kernelbench.fleet.folder import read_fleet
from kernelbench.report import view
from kernelbench.report.fleet_page import PAGE, write_fleet_page
from kernelbench.report.fleet_page_times import SuiteAnswer
from kernelbench.report.fleet_page_view import FleetView, fleet_view
from kernelbench.runs.folders import of_gpus
from kernelbench.runs.results import Run, read_run


def report_fleet(
    folder: Path, out: Path | None, progress: Progress, *, page: bool = True
) -> tuple[Path | None, list[str]]:
    """Write the page of the fleet in `folder` to `out` or into the folder, if a page is wanted; its place, and its
    first sentences."""
    fleet = read_fleet(folder)
    found = [(label, read_run(path)) for label, _, path in fleet.runs()]
    if not any(run.rows for _, run in found):
        raise ResultsError(f"{folder}: no GPU of this fleet has finished a case yet; `run --resume` goes on")
    kinds = Counter("simulated GPU" if gpu.simulated else gpu.kind for gpu in fleet.gpus)
    facts = {
        "GPUs": ", ".join(kind if count == 1 else f"{count} x {kind}" for kind, count in kinds.items()),
        "Hosts": ", ".join(dict.fromkeys(gpu.host for gpu in fleet.gpus)),
        "Cases": "divided among the GPUs" if fleet.shared else "all on each GPU",
        "Started": fleet.started[:16].replace("T", " ") + " UTC",
        "Finished": f"{fleet.finished[:16].replace('T', ' ')} UTC" if fleet.finished else "no: --resume goes on",
    }
    shown = _view(found, progress)
    place = write_fleet_page(shown, facts, fleet.notes, out or folder / PAGE) if page else None
    return place, shown.sentences


def report_folders(folders: Sequence[Path], out: Path | None, progress: Progress) -> tuple[Path, list[str]]:
    """Write the page of several folders of runs, one per GPU, on the suites that at least two of them have.

    The default place is a folder below the user's results/runs. InputError for two folders of one name, without a
    suite in common, and simulated runs beside timed ones.
    """
    found = [(label, read_run(path)) for label, path in of_gpus(folders)]
    if not any(run.rows for _, run in found):
        raise InputError(f"report {' '.join(map(str, folders))}: these folders have no suite in common")
    if len({run.simulated for _, run in found}) > 1:
        raise InputError(f"report {' '.join(map(str, folders))}: simulated runs have no times to set beside timed ones")
    runs = {folder.resolve().name: [run for own, run in found if own == folder.resolve().name] for folder in folders}
    if alone := [label for label, own in runs.items() if not own]:
        raise InputError(f"report {' '.join(runs)}: no suite of {alone[0]} is in another folder; leave it out")
    devices = {label: dict.fromkeys(run.device for run in own) for label, own in runs.items()}
    days = {
        label: min(view.text_or_empty(run.environment.get("started"))[:10] for run in own)
        for label, own in runs.items()
    }
    facts = {
        "GPUs": ", ".join(f"{label}: {' and '.join(own)}" for label, own in devices.items()),
        "Cases": "all on each GPU, in runs of their own",
        "Started": ", ".join(f"{label}: {day}" for label, day in days.items()),
    }
    shown = _view(found, progress)
    return write_fleet_page(shown, facts, (), out or places.runs() / "-".join(runs) / PAGE), shown.sentences


def _view(found: Sequence[tuple[str, Run]], progress: Progress) -> FleetView:
    members, ledger = [], read_ledger(places.LEDGER)
    with progress.stage("Comparison and verdicts", len(found)) as advance:
        for label, run in found:
            advance(0, f"{run.suite} on {label}")
            if run.rows:
                members.append(SuiteAnswer(**vars(judge_run(run, ledger=ledger)), label=label))
            advance(1, "")
    return fleet_view(members, ledger)
