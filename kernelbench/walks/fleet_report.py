"""report of a fleet: fleet.json -> the run of each GPU -> comparison and verdicts -> one page. Needs no GPU."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kernelbench.compare.answer import answer
from kernelbench.core import places
from kernelbench.core.errors import ResultsError
from kernelbench.fleet.folder import read_fleet
from kernelbench.runs.results import read_run


def report_fleet(folder: Path, out: Path | None) -> tuple[Path, list[str]]:
    """Write the page of the fleet in `folder` to `out` or into the folder; its place, and its first sentences."""
    from kernelbench.compare import read_ledger
    from kernelbench.report.fleet_page import PAGE, write_fleet_page
    from kernelbench.report.fleet_page_times import Member
    from kernelbench.report.fleet_page_view import fleet_view

    fleet = read_fleet(folder)
    found = [(label, read_run(path)) for label, _, path in fleet.runs()]
    answers = [(label, answer(run)) for label, run in found if run.rows]
    if not answers:
        raise ResultsError(f"{folder}: no GPU of this fleet has finished a case yet; `run --resume` goes on")
    members = [Member(label, one.run, one.comparison, one.verdicts) for label, one in answers]
    shown = fleet_view(members, read_ledger(places.LEDGER))
    title = f"{', '.join(shown.suites)} on {', '.join(shown.labels)}"
    kinds = Counter("simulated GPU" if gpu.simulated else gpu.kind for gpu in fleet.gpus)
    facts = {
        "GPUs": ", ".join(kind if count == 1 else f"{count} x {kind}" for kind, count in kinds.items()),
        "Hosts": ", ".join(dict.fromkeys(gpu.host for gpu in fleet.gpus)),
        "Cases": "divided among the GPUs" if fleet.shared else "all on each GPU",
        "Started": fleet.started[:16].replace("T", " ") + " UTC",
        "Finished": f"{fleet.finished[:16].replace('T', ' ')} UTC" if fleet.finished else "no: --resume goes on",
    }
    return write_fleet_page(shown, title, facts, fleet.notes, out or folder / PAGE), shown.sentences
