"""The command line: all commands, in the order of the walk. Each imports heavy packages only when it runs."""

import os
import sys

import click
from click.shell_completion import shell_complete

from kernelbench import __version__
from kernelbench.cli.build import build
from kernelbench.cli.check import check
from kernelbench.cli.compare import compare
from kernelbench.cli.doctor import doctor
from kernelbench.cli.explain import explain
from kernelbench.cli.gate import gate
from kernelbench.cli.history import history
from kernelbench.cli.invoking import invoke
from kernelbench.cli.listing import list_
from kernelbench.cli.new import new
from kernelbench.cli.plan import plan
from kernelbench.cli.report import report
from kernelbench.cli.run import run
from kernelbench.cli.simulate import simulate
from kernelbench.cli.tune import tune
from kernelbench.cli.worker import worker
from kernelbench.core import places, streams

COMPLETION = "_KERNELBENCH_COMPLETE"  # a shell asks through this variable


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
      kernelbench run suites/softmax.yaml         measure on this GPU
      kernelbench compare --baseline ft           speed-ups beside published ones
      kernelbench compare RUN RUN --fail-on 2%    what is slower in the second
      kernelbench report                          your newest run as one HTML page
      kernelbench run softmax --only ft,oneflow --filter 'seq>=128'

    Exit codes: 0 fine; 1 a row failed or was wrong, or nothing was verified; 2 a suite or an option is
    wrong, or output cannot be written; 3 a kernel is slower or no longer works; 130 stopped by Ctrl-C,
    143 by SIGTERM, 129 by SIGHUP; 141 nobody reads the output.
    """


SUMMARIES = {  # short enough for a window of 80 columns
    run: "Build, verify and time suites; without a GPU, simulate them.",
    compare: "Judge published claims on a run, or compare two runs.",
    gate: "Fail if a kernel of HEAD is slower than that of BASE.",
    history: "Say which rows changed in a series of runs, and when.",
    report: "Write a run, or what changed between two, as an HTML page.",
    explain: "Say in words what kernels do differently, as counted.",
    check: "Verify every output against float64, and time nothing.",
    plan: "Print how each kernel would be launched, and why.",
    build: "Compile only, and print registers, spills and loads.",
    simulate: "Run one launch of any kernel on the CPU.",
    list_: "List suites, kernels, devices, runs or claims.",
    new: "Write the files of a kernel of your own.",
    tune: "Search for the fastest launch parameters on this GPU.",
    worker: "Lend the GPUs of this host to a Dask cluster.",
    doctor: "Say what is missing here, and how to install it.",
}
for command, summary in SUMMARIES.items():
    command.short_help = summary
    cli.add_command(command)


def main() -> None:
    """Run the command line and exit with its code."""
    if instruction := os.environ.get(COMPLETION):
        sys.exit(shell_complete(cli, {}, "kernelbench", COMPLETION, instruction))
    streams.prepare()
    places.share_cache()
    sys.exit(streams.exit_code(invoke(cli, sys.argv[1:])))


if __name__ == "__main__":
    main()
