"""The command `simulate`: one launch of one kernel from any file on the simulator."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.options import NVCC, OUT_FOLDER, SEED, TEXT
from kernelbench.cli.terminal import console, say, tell
from kernelbench.core.errors import InputError, ResultsError
from kernelbench.core.units import number_of
from kernelbench.core.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from kernelbench.simt import Simulation


def _axes(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in value.split(","))
    except ValueError:
        found = ()
    if not 1 <= len(found) <= 3:
        raise InputError(f"{parameter.opts[0]} '{value}': expected one to three numbers, as in 32 or 32,8")
    return found


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.cu|FILE.ptx")
@click.option("--entry", type=TEXT, metavar="NAME", help="The kernel.  [default: the only one]")
@click.option("--grid", required=True, callback=_axes, metavar="BLOCKS", help="Blocks: 64, or 8,8.")
@click.option("--block", required=True, callback=_axes, metavar="THREADS", help="Threads of a block: 256, or 32,8.")
@click.option("--shared", "shared_bytes", type=click.IntRange(min=0), default=0, metavar="BYTES",
              help="Dynamic shared memory.")  # fmt: skip
@click.option("--stack", "stack_bytes", type=click.IntRange(min=0), metavar="BYTES",
              help="Stack of a thread, for functions that call themselves.  [default: 1024]")  # fmt: skip
@click.option(
    "--array",
    "--scalar",
    "arguments",
    multiple=True,
    type=TEXT,
    metavar="NAME=...",
    help="An argument, in the kernel's order. Array: x=float32[32,64]:random (or zeros, ones, arange, FILE.npy). "
    "Scalar: n=1024 or n=float16:1.5. Tensor map: m=float16[128,64]:random:box[64,64]:128B.",
)
@click.option("--strict", is_flag=True, help="Also detect races on shared memory and uninitialised reads.")
@click.option("--save", type=OUT_FOLDER, metavar="DIR", help="Write every array after the launch to DIR/NAME.npy.")
@click.option(
    "--arch", "architecture", type=TEXT, default="sm_90", show_default=True, help="Compile for this architecture."
)
@SEED
@NVCC
def simulate(file: Path, save: Path | None, seed: int | None, nvcc: Path | None, **options: object) -> int:
    """Run one launch of any kernel on the CPU: its outputs, its counters, its faults. No GPU needed.

    \b
    Examples:
      kernelbench simulate sort.cu --grid 4 --block 256 --array keys=int32[1024]:random --strict
      kernelbench simulate scale.ptx --grid 1 --block 32,8 --array x=float32[8,32]:ones --scalar a=2
    """
    from kernelbench.walks import simulate as walk

    entry = str(options.pop("entry") or "")
    asked = walk.SimulateRequest(file, entry, seed=walk.SEED if seed is None else seed, nvcc=nvcc, **options)  # type: ignore[arg-type]
    found = walk.simulate(asked)
    _show(found)
    if save is not None:
        _save(save, found.outputs)
        say(f"{number_of(len(found.outputs), 'array')} written to {save}")
    return 0 if found.ended and not found.faults else 1


def _save(folder: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write each array whole or not at all."""
    import numpy as np

    path = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            path, data = folder / f"{name}.npy", BytesIO()
            np.save(data, array, allow_pickle=False)
            write_whole(path, data.getvalue())
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written ({error.strerror or error}); choose another --save") from error


def _show(found: Simulation) -> None:
    """Print whether it ended, its faults and notes, and the counters that are not 0."""
    from kernelbench.report.table_widths import Table
    from kernelbench.report.tables import NUMBER, WORD

    say(f"{found.kernel} {'ended' if found.ended else 'did not end'}; {number_of(len(found.faults), 'fault')}.")
    if found.grouping:
        say(f"Shared accesses are {found.grouping}.")
    for line in found.printed.splitlines():
        say(line)
    tell(*map(str, found.faults), *map(str, found.notes))
    table = Table("", [("counter", WORD), ("count", NUMBER)])
    for name, count in vars(found.counters).items():
        if count:
            table.add(name.replace("_", " "), f"{count:,}")
    console().print(table)
