"""The command line: parse, call one pipeline function, print. Heavy packages are imported by what needs them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from kernelbench import __version__
from kernelbench.cli.compare import compare
from kernelbench.cli.invoking import invoke
from kernelbench.cli.options import (
    CACHE,
    CHOICE,
    DEVICE,
    FORM,
    FULL,
    GPU,
    IN_PROCESS,
    INPUTS,
    KERNELS,
    NO_WAIT,
    NVCC,
    OUT_FILE,
    OUT_FOLDER,
    OWN_FOLDER,
    RUN,
    SEED,
    SUITES,
    TEXT,
    TIMEOUT,
)
from kernelbench.cli.terminal import say, warn
from kernelbench.cli.tune import tune
from kernelbench.core import places, streams
from kernelbench.core.errors import InputError, ResultsError


class _Group(click.Group):
    """Commands in the order of the walk, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kernelbench")
def cli() -> None:
    """Does a published CUDA kernel comparison hold on this GPU, by how much, and why?

    \b
    Examples:
      kernelbench run suites/softmax.yaml          measure on this GPU
      kernelbench compare --baseline ft            speed-ups beside the published ones, claims judged
      kernelbench compare RUN RUN --fail-on 2%     what is slower in the second run
      kernelbench report                           the same as one HTML page
      kernelbench run softmax --only ft,oneflow --filter 'seq>=128'

    Exit codes: 0 fine, 1 a row failed or was wrong, 2 wrong suite or option, or output that cannot
    be written, 3 a regression, 141 output that nobody reads; stopped: 130 by Ctrl-C, 143 by SIGTERM,
    129 by SIGHUP.
    """


@cli.command()
@SUITES
@DEVICE
@CHOICE
@CACHE
@click.option("--quick", is_flag=True, help="Fewer samples: 7 and 2 % instead of 20 and 0.5 %.")
@click.option(
    "--self-test",
    is_flag=True,
    help="Measure each implementation beside a twin of itself: what this machine tells apart, and what it cannot.",
)
@click.option("--resume", is_flag=True, help="Go on with the newest run of the suite (or that in --out).")
@click.option("--out", type=OUT_FOLDER, help="Folder of the run; one suite only.")
@click.option("--no-report", is_flag=True, help="Do not write charts and the HTML page.")
@FULL
@TIMEOUT
@IN_PROCESS
@NO_WAIT
@SEED
@NVCC
def run(suites: tuple[str, ...], no_report: bool, **options: Any) -> int:
    """Build, verify and measure suites on this GPU; without one, count on the simulator what kernels do.

    \b
    Examples:
      kernelbench run suites/softmax.yaml
      kernelbench run softmax --device simulated:a100 --filter 'seq<=128'
      kernelbench run softmax softmax_half --cache cold
      kernelbench run softmax --only ft,oneflow,copy --filter 'seq=512' --quick
      kernelbench run softmax --resume
      kernelbench run softmax --self-test --filter 'seq<=512'
    """
    from kernelbench.cli import screen
    from kernelbench.walks import answers, pipeline

    request = _request(suites, options)
    if request.out and len(suites) > 1:
        raise InputError(f"--out {request.out}: one folder holds one suite, but {len(suites)} were named")
    code = 0
    for answer in pipeline.run(request, screen.ConsoleProgress()):
        page, problem = None, None
        try:
            page = None if no_report else answers.report(answer, answer.run.folder / "report.html")
        except ResultsError as error:  # costs the page alone: what was measured is shown, and the next suite is run
            problem = error
        screen.show_run(answer, page)
        if problem:
            warn(str(problem))
            code = problem.exit_code
        elif answers.has_failures(answer.run):
            code = code or 1
    return code


cli.add_command(compare)


@cli.command()
@RUN
@click.option("--baseline", type=TEXT, metavar="NAME", help="Whom speed-ups divide by.  [default: the suite's]")
@click.option("--out", type=OUT_FILE, help="The HTML file.  [default: report.html in the run's folder]")
def report(run_name: str | None, baseline: str | None, out: Path | None) -> None:
    """Write a run as one HTML page, with charts as PNG and SVG files beside it. No GPU needed.

    \b
    Examples:
      kernelbench report
      kernelbench report softmax --out softmax.html
    """
    from kernelbench.walks import answers

    answer, which = answers.answer_of(run_name, baseline)
    say(f"Report of {which}")
    say(f"written to {answers.report(answer, out)}")


@cli.command()
@SUITES
@click.option("--gpu", type=TEXT, metavar="NAME", help="Plan, and state bounds, for this GPU.  [default: h200]")
@CHOICE
@click.option("--lines", is_flag=True, help="Show the source lines that cost something, with their counters.")
@FORM
@FULL
@SEED
@NVCC
def explain(suites: tuple[str, ...], gpu: str | None, lines: bool, form: str, **options: Any) -> None:
    """Why one kernel is faster than another: what the simulator counts, in words. No GPU needed.

    For each case the counters that differ between its implementations, what they mean, what no run can
    be faster than, and which published explanations they confirm. Nothing is verified here or timed.

    \b
    Examples:
      kernelbench explain softmax --filter seq=512 --only tree_modulo,tree_strided,tree_sequential
      kernelbench explain softmax --gpu a100 --only naive --filter seq=64 --lines
    """
    from kernelbench.cli import screen
    from kernelbench.walks import explaining

    found = explaining.explain(_request(suites, options), gpu, screen.ConsoleProgress(), lines=lines)
    screen.show_explanations(streams.while_read(found), as_json=form == "json")


@cli.command()
@SUITES
@DEVICE
@CHOICE
@INPUTS
@click.option(
    "--strict",
    is_flag=True,
    help="On the simulator: look for races, uninitialised reads and the like as well; runs every block.",
)
@FULL
@TIMEOUT
@IN_PROCESS
@NO_WAIT
@SEED
@NVCC
def check(suites: tuple[str, ...], **options: Any) -> int:
    """Verify every output against the float64 reference, and time nothing.

    Inputs are drawn from every distribution that the operation has, whatever the suite is timed on.

    \b
    Examples:
      kernelbench check suites/softmax.yaml
      kernelbench check softmax --inputs normal,masked
      kernelbench check softmax --specimens        shows that wrong kernels are rejected
      kernelbench check softmax --device simulated --strict --filter seq=16
    """
    from kernelbench.cli import screen
    from kernelbench.walks import pipeline

    results = list(pipeline.check(_request(suites, options), screen.ConsoleProgress()))
    screen.show_checks(results)
    wrong = [
        result
        for result in results
        if result.status in ("failed", "wrong") and result.implementation.role != "specimen"
    ]
    return 1 if wrong else 0


@cli.command()
@SUITES
@GPU
@CHOICE
def plan(suites: tuple[str, ...], gpu: str | None, **options: Any) -> None:
    """Print how each kernel would be launched: grid, block, shared memory, and why. No GPU needed.

    \b
    Examples:
      kernelbench plan softmax --only oneflow
      kernelbench plan softmax_oneflow_regimes --gpu a100 --filter columns=4096
    """
    from kernelbench.cli import screen
    from kernelbench.walks import pipeline

    properties = pipeline.gpu_properties(gpu)
    screen.show_plans(pipeline.planned(_request(suites, options), properties), properties)


@cli.command()
@SUITES
@GPU
@CHOICE
@NVCC
def build(suites: tuple[str, ...], gpu: str | None, **options: Any) -> int:
    """Compile only, and print registers, shared memory, spills and loads of each kernel. No GPU needed.

    \b
    Examples:
      kernelbench build softmax
      kernelbench build softmax --gpu a100 --specimens
    """
    from kernelbench.cli import screen
    from kernelbench.walks import pipeline

    properties = pipeline.gpu_properties(gpu)
    found, summary = pipeline.build(_request(suites, options), properties, screen.ConsoleProgress())
    screen.show_builds(found, summary, properties)
    broken = any(one.status == "failed" for _, plans in found for plan in plans for one in plan.planned)
    return 1 if broken else 0


@cli.command("list")
@click.argument("what", type=click.Choice(["suites", "kernels", "devices", "runs", "claims"]), required=False)
@KERNELS
def list_(what: str | None, kernels: tuple[Path, ...]) -> None:
    """Suites, kernels, devices, runs or claims; all of them if none is named.

    \b
    Examples:
      kernelbench list
      kernelbench list claims
      kernelbench list kernels --kernels kernels
    """
    from kernelbench.cli import listing, screen

    for kind in streams.while_read([what] if what else list(listing.KINDS)):
        screen.show_list(listing.listed(kind, kernels))


@cli.command()
@click.argument("name", metavar="OPERATION/NAME")
@click.option("--from", "start", type=TEXT, metavar="NAME", help="The kernel to start from.  [default: the shortest]")
@OWN_FOLDER
def new(name: str, start: str | None, kernels: Path) -> None:
    """Write the two files of a kernel of your own, as a copy of one that is right; change it from there.

    Of an operation that there is not yet, its operation.py and a suite are written as well.

    \b
    Examples:
      kernelbench new softmax/my_kernel
      kernelbench new my_operation/first
      kernelbench new softmax/my_kernel --from oneflow --kernels ~/kernels
    """
    from kernelbench.cli import new_kernel, screen

    screen.show_written(new_kernel.new_kernel(name, start, kernels))


cli.add_command(tune)


@cli.command()
@NVCC
def doctor(nvcc: Path | None) -> int:
    """Check what kernelbench needs on this machine, and say how to get what is missing.

    \b
    Examples:
      kernelbench doctor
      kernelbench doctor --nvcc /opt/cuda/bin/nvcc
    """
    from kernelbench.cli import doctor as doctor_room
    from kernelbench.cli import screen

    return 0 if screen.show_diagnosis(doctor_room.diagnose(nvcc)) else 1


def _request(suites: tuple[str, ...], options: dict[str, Any]) -> Any:
    from kernelbench.walks.pipeline import Request

    given = {name: value for name, value in options.items() if value is not None}
    return Request(suites=suites, arguments=tuple(sys.argv[1:]), **given)


def main() -> None:
    """Run the command line and exit with its code."""
    streams.prepare()
    places.share_cache()
    sys.exit(streams.exit_code(invoke(cli, sys.argv[1:])))


if __name__ == "__main__":
    main()
