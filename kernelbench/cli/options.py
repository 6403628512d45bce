"""Options and arguments that several commands share."""

from __future__ import annotations

import errno
import math
import os
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.core.writing import kind_of

if TYPE_CHECKING:
    from kernelbench.walks.request import Request

STANDARD_OUTPUT = "-"  # as in other programs


class _Given(click.ParamType):  # type: ignore[type-arg]
    """InputError for '': it is usually an empty shell variable, and as a path it would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "" and param is not None:
            raise InputError(f"{param.opts[0]} '': is empty; name something or leave it out")
        return super().convert(value, param, ctx)


class _Text(_Given, click.types.StringParamType):
    """A text that is not empty."""


class _Place(_Given, click.Path):
    """A path that is not empty."""


class _Output(_Place):
    """A folder or file to write, checked before anything else happens."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        option = param.opts[0] if param else "--out"
        if value == STANDARD_OUTPUT:
            raise InputError(f"{option} -: files are written, not standard output; name one")
        path = super().convert(value, param, ctx)
        (check_folder_option if self.dir_okay else require_file_place)(path, option)
        return path


TEXT = _Text()
PLACE = _Place(path_type=Path)
OUT_FILE = _Output(path_type=Path, dir_okay=False)
OUT_FOLDER = _Output(path_type=Path, file_okay=False)


def parse_names(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    found = tuple(part.strip() for part in value.split(",") if part.strip()) if value is not None else ()
    if value is not None and not found:
        raise InputError(f"{parameter.opts[0]} '{value}': names nothing; leave the option out for all")
    return found


def cache_states(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    caches = parse_names(ctx, parameter, value)
    unknown = [cache for cache in caches if cache not in ("cold", "warm")]
    if unknown:
        raise InputError(f"--cache {value}: unknown cache state '{unknown[0]}'; expected cold, warm or cold,warm")
    return caches


class _Seconds(click.FloatRange):
    """A FloatRange that refuses `nan`, which is not below the minimum either."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return float(seconds)


def suite_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell completes a SUITE to: shipped suites, or files."""
    names = sorted(path.stem for path in places.SUITES.glob("*.yaml") if path.stem.startswith(incomplete))
    return [CompletionItem(incomplete, type="file"), *map(CompletionItem, names)]


SUITES = click.argument("suites", type=TEXT, nargs=-1, required=True, metavar="SUITE...", shell_complete=suite_names)
ONLY = click.option("--only", callback=parse_names, metavar="NAME,..", help="Only these implementations.")
FILTER = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="TERM",
    help="Only cases for which TERM holds, as in seq=512, seq>=128 or dtype=float16.",
)
SET = click.option(
    "--set",
    "sets",
    multiple=True,
    type=TEXT,
    metavar="NAME=SIZE,..",
    help="Replace the suite's sizes, as in seq=77,100,333, or whole shapes, as in shape=64x77.",
)
DTYPE = click.option(
    "--dtype",
    "dtypes",
    callback=parse_names,
    metavar="TYPE,..",
    help="Replace the suite's types, as in float16,bfloat16.",
)
SPECIMENS = click.option("--specimens", is_flag=True, help="Add the kernels that are known to be wrong.")
KERNELS = click.option(
    "--kernels",
    multiple=True,
    type=PLACE,
    metavar="DIR",
    help="Add your own kernels, DIR/OPERATION/NAME.py. Their Python code is run.",
)
CU = click.option(
    "--cu",
    multiple=True,
    type=PLACE,
    metavar="FILE",
    help="Add your own .cu file to the suite's kernels. Repeat --cu for several files.",
)
ENTRY = click.option(
    "--entry",
    type=TEXT,
    metavar="NAME",
    help='With --cu: the name of its kernel, or of its host function that launches kernels; either is extern "C".',
)
GRID = click.option(
    "--grid",
    type=TEXT,
    metavar="BLOCKS",
    help="With --cu: blocks of the grid, as in rows, 'ceil(n / 256)' or '8, rows'.",
)
BLOCK = click.option(
    "--block",
    type=TEXT,
    metavar="THREADS",
    help="With --cu: threads of a block, as in 256, '32, 8' or 'min(columns, 1024)'.",
)
SHARED = click.option(
    "--shared", type=TEXT, metavar="BYTES", help="With --cu: dynamic shared memory, as in '4 * columns'."
)
ARGS = click.option(
    "--args",
    type=TEXT,
    metavar="NAME,..",
    help="With --cu: the kernel's arguments, as in 'x, y, rows, columns'.  [default: arrays in order, scalars by name]",
)
NVCC = click.option("--nvcc", type=PLACE, help="The CUDA compiler to use.")
DEVICE = click.option(
    "--device", default="auto", show_default=True, help="auto, cuda, cuda:N, simulated or simulated:GPU."
)
INPUTS = click.option(
    "--inputs",
    callback=parse_names,
    metavar="NAME,..",
    help="Distributions to verify on: normal, uniform, zeros, ones, large, masked.  [default: all]",
)
QUICK = click.option(
    "--quick", is_flag=True, help="Stop at 7 samples and an interval of 2 %, instead of 20 samples and 0.5 %."
)
FULL = click.option("--full", is_flag=True, help="On the simulator: run every block, however many there are.")
TIMEOUT = click.option(
    "--timeout",
    "patience_s",
    type=_Seconds(min=1),
    metavar="SECONDS",
    help="End a kernel that hangs for this long; only its rows fail. inf means never.  [default: 60]",
)
IN_PROCESS = click.option(
    "--in-process",
    is_flag=True,
    help="Use the GPU in this process, for debuggers and profilers: a kernel that crashes ends the run.",
)
NO_WAIT = click.option(
    "--wait/--no-wait",
    default=True,
    show_default=True,
    help="Wait while another kernelbench run uses the GPU, or give up at once.",
)
SEED = click.option(
    "--seed", type=click.IntRange(0, 2**31 - 2), help="Seed of the random inputs; the default never changes."
)
GPU = click.option(
    "--gpu",
    type=TEXT,
    metavar="NAME",
    help="Plan for this GPU: v100, t4, a100, l4, h100, h200.  [default: the GPU here, else h200]",
)
TLS = click.option(
    "--tls", type=PLACE, metavar="FILE", help="The file with the cluster's key, which `worker --make-tls` wrote."
)
FORM = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "markdown"]),
    default="table",
    show_default=True,
    help="Output format.",
)
CACHE, SHOWN_CACHE = (
    click.option("--cache", "caches", callback=cache_states, metavar="STATE,..", help=text)
    for text in (
        "cold, warm or both.  [default: as the suite says]",
        "Rows to show: cold, warm or both.  [default: cold; of two runs both]",
    )
)
OWN_FOLDER = click.option(
    "--kernels",
    type=_Place(path_type=Path, file_okay=False),
    metavar="DIR",
    default="kernels",
    show_default=True,
    help="The folder of your own kernels.",
)


def _together(*options: Callable[..., Any]) -> Callable[..., Any]:
    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)


OWN = _together(KERNELS, CU, ENTRY, GRID, BLOCK, SHARED, ARGS)  # the user's kernels
CHOICE = _together(ONLY, FILTER, SET, DTYPE, OWN, SPECIMENS)  # which implementations and cases
MEASURING = _together(TIMEOUT, IN_PROCESS, NO_WAIT, SEED, NVCC)  # how the device is used


def request_of(suites: tuple[str, ...], options: dict[str, Any]) -> Request:
    """What walks are asked for; options that were left out have the defaults of `Request`."""
    from kernelbench.walks import request

    given = {name: value for name, value in options.items() if value is not None}
    return request.request_of(suites, tuple(sys.argv[1:]), given)


# ---- Where --out may lead ------------------------------------------------------------------------
# A file is written beside its place and renamed over it. A device, a pipe or a link that lies there would be replaced,
# so a place that the user names must be empty or hold a file.


def require_file_place(path: Path, option: str = "--out") -> None:
    """InputError unless `path` can be written: a new file, or in place of a writable one. Missing folders are fine."""
    found = kind_of(path)
    if found == "a link":
        raise InputError(f"{option} {path}: a link to {os.readlink(path)}; name that file itself, or another one")
    if found not in ("", "a file"):
        raise InputError(f"{option} {path}: {found}, which would be replaced; name a file")
    if found and not os.access(path, os.W_OK):
        raise InputError(f"{option} {path}: cannot be written ({os.strerror(errno.EACCES)}); name another file")
    folder = next(one for one in path.absolute().parents if kind_of(one))
    wrong = errno.ENOTDIR if not folder.is_dir() else 0 if os.access(folder, os.W_OK | os.X_OK) else errno.EACCES
    if wrong:
        raise InputError(f"{path.parent}: cannot write here ({os.strerror(wrong)}); choose another place with {option}")


def check_folder_option(path: Path, option: str = "--out") -> None:
    """InputError unless `path` is free, a folder, or a link to a folder."""
    if (found := kind_of(path)) and not path.is_dir():
        leads = " that leads to no folder" if found == "a link" else ""
        raise InputError(f"{option} {path}: {found}{leads}; expected a folder, which is made where there is none")
