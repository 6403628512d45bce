"""The command `report`: a run as one HTML page, or what changed between two runs."""

from pathlib import Path

import click

from kernelbench.cli.options import OUT_FILE, TEXT
from kernelbench.cli.terminal import say, tell
from kernelbench.core.errors import InputError


@click.command()
@click.argument("runs", type=TEXT, nargs=-1, metavar="[RUN]...")
@click.option("--baseline", type=TEXT, metavar="NAME", help="What speed-ups are relative to.  [default: the suite's]")
@click.option(
    "--out",
    type=OUT_FILE,
    help="The HTML file.  [default: report.html in your run's folder; for two runs changes.html]",
)
def report(runs: tuple[str, ...], baseline: str | None, out: Path | None) -> None:
    """Write a run, what changed between two, or the runs of several GPUs as one HTML page. No GPU needed.

    RUN is a folder, or the name of a run or of a suite. Without RUN, the command takes your newest run, or the
    recorded run that kernelbench ships if you have none. Charts as PNG and SVG files, comparison.csv, claims.csv
    and claims.json go beside the page of a run. The page of a recorded run goes into a folder below your
    results/runs: recorded runs stay as they are.

    The page of two runs shows what `compare RUN RUN` finds: rows that changed, claims whose verdict changed, and
    what else differs. Folders of runs, one per GPU, make a page of GPUs side by side: claims whose verdicts differ,
    and shares of each GPU's own ceiling.

    \b
    Examples:
      kernelbench report
      kernelbench report softmax --out softmax.html
      kernelbench report results/h200/softmax results/runs/today
      kernelbench report results/h200 results/h100
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.walks.fleet_report import report_folders
    from kernelbench.walks.report import report_changes

    folders = _folders_of_runs(runs)
    if baseline is not None and folders:
        raise InputError(f"--baseline {baseline}: each suite has its own; leave the option out")
    if len(runs) > 2 and not folders:
        raise InputError(f"report {' '.join(runs)}: expected one run, two, or folders of runs, got {len(runs)} runs")
    if baseline is not None and len(runs) == 2:
        raise InputError(f"--baseline {baseline}: of two runs the first is the baseline; leave the option out")
    if folders:
        page, said = report_folders(folders, out, ConsoleProgress(lasting=False))
    elif len(runs) == 2:
        said, page = report_changes(*runs, out, ConsoleProgress())
    else:
        _one(runs[0] if runs else None, baseline, out)
        return
    tell(*said)
    say(f"written to {page}")


def _one(run_name: str | None, baseline: str | None, out: Path | None) -> None:
    from kernelbench.cli import run_fleet
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.fleet.folder import find_fleet
    from kernelbench.report.summary import run_headline
    from kernelbench.walks.compare import answer_of
    from kernelbench.walks.report import report as walk

    if fleet := find_fleet(run_name):
        if baseline:
            raise InputError(f"--baseline {baseline}: {fleet} is a fleet, whose suites have their own")
        run_fleet.report(fleet, out)
        return
    answer, which = answer_of(run_name, baseline, ConsoleProgress(lasting=False))
    tell(*run_headline(answer.run, answer.comparison, answer.verdicts), f"Report of {which}")
    page = walk(answer, out, ConsoleProgress())
    say(f"written to {page}")


def _folders_of_runs(names: tuple[str, ...]) -> list[Path]:
    """The folders, if there are several and each holds runs without being one; else []."""
    from kernelbench.core import places
    from kernelbench.fleet.folder import is_fleet
    from kernelbench.runs.folders import is_run, runs_below

    found = [path if (path := Path(name)).is_dir() else places.ROOT / name for name in names]
    several = all(not is_run(path) and not is_fleet(path) and any(runs_below(path)) for path in found)
    return found if len(names) > 1 and several else []
