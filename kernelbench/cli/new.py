"""The command `new`: files to start a kernel from, and for a new operation its own files too."""

from pathlib import Path

import click

from kernelbench.cli.options import OWN_FOLDER, TEXT
from kernelbench.cli.terminal import say


@click.command()
@click.argument("name", metavar="OPERATION/NAME")
@click.option("--from", "start", type=TEXT, metavar="NAME", help="The kernel to start from.  [default: the shortest]")
@OWN_FOLDER
def new(name: str, start: str | None, kernels: Path) -> None:
    """Write the files of a kernel of your own, as a copy of one that is right; change it from there.

    For an operation that does not exist yet, also write its operation.py and a suite.

    \b
    Examples:
      kernelbench new softmax/my_kernel
      kernelbench new my_operation/first
      kernelbench new softmax/my_kernel --from oneflow --kernels ~/kernels
    """
    from kernelbench.cli.new_kernel import new_kernel

    written = new_kernel(name, start, kernels)
    what = f"a copy of {written.start}" if written.start else "x times a weight for each column"
    say("\n".join(map(str, (*written.further, written.source, written.plan))) + f": {what}; change it, then run")
    for command in written.commands:
        say(f"  {command}")
