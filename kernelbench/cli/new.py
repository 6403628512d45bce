"""The command `new`: the two files of a kernel, to begin from."""

from __future__ import annotations

from pathlib import Path

import click

from kernelbench.cli.options import OWN_FOLDER, TEXT
from kernelbench.cli.terminal import say


@click.command()
@click.argument("name", metavar="OPERATION/NAME")
@click.option("--from", "start", type=TEXT, metavar="NAME", help="The kernel to start from.  [default: the shortest]")
@OWN_FOLDER
def new(name: str, start: str | None, kernels: Path) -> None:
    """Write the two files of a kernel of your own, as a copy of one that is right; change it from there.

    \b
    Examples:
      kernelbench new softmax/my_kernel
      kernelbench new softmax/my_kernel --from oneflow --kernels ~/kernels
    """
    from kernelbench.cli.new_kernel import new_kernel

    written = new_kernel(name, start, kernels)
    say(f"{written.source}\n{written.plan}: a copy of {written.start}, to be changed; next")
    for command in written.commands:
        say(f"  {command}")
