"""The command `run`: suites measured on this GPU, or counted on the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.options import (
    CACHE,
    CHOICE,
    DEVICE,
    FULL,
    MEASURING,
    OUT_FOLDER,
    QUICK,
    SUITES,
    TEXT,
    TLS,
    request_of,
)
from kernelbench.cli.terminal import NOTHING_VERIFIED, console, say, tell, warn
from kernelbench.core.errors import InputError, ResultsError
from kernelbench.core.texts import singular

if TYPE_CHECKING:
    from kernelbench.compare.answer import Answer
    from kernelbench.fleet.workers import Workers
    from kernelbench.walks.request import Request


@click.command()
@SUITES
@DEVICE
@CHOICE
@CACHE
@QUICK
@click.option(
    "--self-test",
    is_flag=True,
    help="Measure each implementation beside a second copy of itself, to see which differences can be detected here.",
)
@click.option(
    "--counters",
    is_flag=True,
    help="After the timing, read hardware counters with Nsight Compute, beside those of the simulator.",
)
@click.option("--energy", is_flag=True, help="Also measure the energy per call, over 4 s of calls for each row.")
@click.option("--resume", is_flag=True, help="Continue the newest run of the suite, or the run in --out.")
@click.option("--part", type=TEXT, metavar="K/N", help="Measure only one part of the cases: 1/4 is the first of four.")
@click.option(
    "--gpus", type=TEXT, metavar="GPU,..", help="Measure on several GPUs at once: all, 0,1 or simulated:a100,.."
)
@click.option("--cluster", type=TEXT, metavar="ADDRESS", help="Measure on the GPUs of a Dask cluster: tls://HOST:8786.")
@TLS
@click.option("--share", is_flag=True, help="With --gpus or --cluster: divide the cases among GPUs of one kind.")
@click.option(
    "--out",
    type=OUT_FOLDER,
    help="The folder of the run, for one suite only; with several GPUs, the folder of all their runs.",
)
@click.option("--no-report", is_flag=True, help="Do not write charts and the HTML page.")
@FULL
@MEASURING
@click.pass_context
def run(
    context: click.Context,
    /,
    suites: tuple[str, ...],
    gpus: str | None,
    cluster: str | None,
    tls: Path | None,
    share: bool,
    **options: Any,
) -> int:
    """Build, verify and time suites on this GPU. Without a GPU, the simulator counts what kernels do.

    \b
    Examples:
      kernelbench run suites/softmax.yaml
      kernelbench run softmax --device simulated:a100 --filter 'seq<=128'
      kernelbench run softmax softmax_half --cache cold
      kernelbench run softmax --only ft,oneflow,copy --filter 'seq=512' --quick
      kernelbench run softmax --cu my.cu --grid rows --block 256 --only oneflow,copy
      kernelbench run softmax --set seq=77,100,333 --dtype float16
      kernelbench run softmax --resume
      kernelbench run softmax --self-test --filter 'seq<=512'
      kernelbench run softmax --counters --quick
      kernelbench run softmax reduce --gpus all
      kernelbench run softmax --gpus simulated:a100,simulated:h200 --filter seq=16
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.fleet.workers import Workers
    from kernelbench.walks.report import report
    from kernelbench.walks.run import run as walk

    request = request_of(suites, options)
    if gpus or cluster:
        return _on_many(context, request, Workers(gpus or "", cluster or "", tls, share))
    if share or tls:
        raise InputError(f"--{'share' if share else 'tls'}: belongs to --gpus or --cluster, which is missing")
    if request.out and len(suites) > 1:
        raise InputError(f"--out {request.out}: one folder holds one suite, but {len(suites)} were named")
    code = 0
    progress = ConsoleProgress()
    for answer in walk(request, progress):
        page, problem = None, None
        try:
            if not request.no_report:
                page = report(answer, answer.run.folder / "report.html", progress)
        except ResultsError as error:  # only the page is lost: times are shown, and the next suite runs
            problem = error
        show(answer, page)
        if problem:
            warn(str(problem))
            code = problem.exit_code
        elif answer.run.has_failures:
            code = code or 1
        elif not any(row.status in ("ok", "wrong") for row in answer.run.rows):
            warn(NOTHING_VERIFIED)
            code = code or 1
    return code


def _on_many(context: click.Context, request: Request, workers: Workers) -> int:
    from kernelbench.cli.run_fleet import run_fleet, worker_options

    if workers.gpus and workers.cluster:
        raise InputError("--gpus and --cluster: name the GPUs of this host or those of a cluster, not both")
    if request.device != "auto":
        raise InputError(f"--device {request.device}: names one device; --gpus and --cluster name all")
    if workers.shared and request.part:
        raise InputError(f"--part {request.part}: --share makes the parts itself")
    options = worker_options(context, cluster=bool(workers.cluster))
    return run_fleet(request, options, workers)


def show(answer: Answer, page: Path | None) -> None:
    """Print times, reasons and claims, then a summary; for a self-test, what it found."""
    from kernelbench.compare.verdicts import NOT_DECIDED
    from kernelbench.report import hardware, peer_texts, self_test, summary, view
    from kernelbench.report.console import claims_table, limits_line, results_table
    from kernelbench.runs.hardware_counters import read_counters

    out = console()
    if test := self_test.self_test_figures(answer.run):
        out.print(self_test.table(test))
    else:
        out.print(results_table(answer.run))
        if beside := peer_texts.table(answer.run):
            out.print(beside)
    judged = [one for one in answer.verdicts if not answer.run.simulated or one.verdict != NOT_DECIDED]
    if judged and not test:
        out.print(claims_table(judged))
    if launches := read_counters(answer.run.folder):
        if differing := hardware.differences_table(launches, view.case_labels(view.words_by_case(answer.run))):
            out.print(differing)
        tell(*hardware.agreement_sentences(launches, answer.run.environment.get("counters", {})))
    if not answer.run.simulated or answer.run.stopped:
        tell(limits_line(answer.run))
    builds = answer.run.environment.get("builds", {})
    compiled, binaries = builds.get("compiled", 0), builds.get("binaries", 0)
    built = f"{compiled} of {binaries} binaries compiled in {builds.get('seconds', 0)} s"
    if binaries:
        cached = not compiled and not builds.get("failed")
        say(singular(f"{binaries} binaries, all from the build cache" if cached else built))
    if answer.run.simulated:
        sampled = sum(row.status == "ok" and bool(row.sampled) for row in answer.run.rows)
        checked = view.right_text(((row.status, row.role) for row in answer.run.rows), sampled)
        others = ["No other block of these is checked; --full checks all."] if sampled else []
        tell(f"Outputs: {checked}.", *others, *summary.counted_lines(answer, "the counts are above"))
    if not test:
        tell(*summary.run_lines(answer.run, answer.comparison, answer.verdicts))
    say(f"rows: {answer.run.folder / 'results.csv'}")
    if page:
        say(f"page: {page}")
