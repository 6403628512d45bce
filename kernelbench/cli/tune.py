"""The command `tune`: a search for launch parameters on this GPU, and the table that plans read."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.options import (
    DEVICE,
    FILTER,
    KERNELS,
    MEASURING,
    OUT_FILE,
    OUT_FOLDER,
    TEXT,
    parse_names,
    request_of,
)
from kernelbench.cli.terminal import console, say, tell
from kernelbench.core.errors import InputError

if TYPE_CHECKING:
    from kernelbench.planning.candidates import Tuned
    from kernelbench.walks.request import Request

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|)\s*")


def _seconds(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """`90`, `90s`, `5m` or `1h` in seconds."""
    if value is None:
        return None
    match = _TIME.fullmatch(value)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 0 < seconds < math.inf:
        raise InputError(f"--budget {value}: expected a time, as in 90s, 5m or 1h")
    return seconds


@click.command()
@click.argument("operation")
@click.option(
    "--implementation",
    "implementations",
    callback=parse_names,
    metavar="NAME,..",
    help="Only these kernels.  [default: all kernels of the operation that can be tuned]",
)
@click.option(
    "--suite", type=TEXT, metavar="SUITE", help="Tune for the cases of this suite.  [default: those that kernels name]"
)
@FILTER
@click.option(
    "--budget",
    "budget_s",
    callback=_seconds,
    metavar="TIME",
    help="How long to search, all cases together: 90s, 5m, 1h.  [default: 5m]",
)
@click.option(
    "--out",
    type=OUT_FILE,
    help="The table to write or add to.  [default: your own table for this GPU, which plans read]",
)
@click.option(
    "--model",
    is_flag=True,
    help="Time every candidate of each case, record the times, and fit the cost function that ranks candidates.",
)
@click.option(
    "--times",
    type=OUT_FOLDER,
    metavar="DIR",
    help="With --model: the folder of times and constants.  [default: that of your own tables, which plans read]",
)
@click.option(
    "--within",
    type=click.FloatRange(min=1),
    metavar="TIMES",
    help="With --model: leave out candidates that the model expects to take this many times as long.  [default: 2]",
)
@click.option("--refit", is_flag=True, help="With --model: time nothing; fit what was recorded. Needs no GPU.")
@click.option(
    "--prepare", type=TEXT, metavar="GPU", help="With --model: only build the candidates for this GPU. Needs no GPU."
)
@DEVICE
@KERNELS
@MEASURING
def tune(
    operation: str,
    implementations: tuple[str, ...],
    suite: str | None,
    budget_s: float | None,
    out: Path | None,
    model: bool,
    times: Path | None,
    within: float | None,
    refit: bool,
    prepare: str | None,
    **options: Any,
) -> int:
    """Search for the fastest launch parameters of kernels on this GPU, for later runs to use.

    Every candidate is verified, then timed with a cold cache, in the same rounds as the kernel's own choice.
    One that is faster by more than 1 % and by more than noise goes into the table of this GPU. The command
    needs the package's extra `tune`.

    \b
    Examples:
      kernelbench tune reduce_sum
      kernelbench tune relu --filter dtype=float32 --budget 90s
      kernelbench tune permute --implementation swizzled --suite peers_permute --budget 2m
      kernelbench tune bias_add --out tuned.yaml
      kernelbench tune softmax --model --suite model_rows --budget 9m --times h200
      kernelbench tune softmax --model --refit --times h200
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.planning.tuned import user_table_file, write_table
    from kernelbench.walks.record_times import WITHIN
    from kernelbench.walks.tune import BUDGET_S
    from kernelbench.walks.tune import tune as walk

    request = request_of((suite,) if suite else (), options)
    own = {"--times": times, "--within": within, "--refit": refit, "--prepare": prepare}
    if (given := next((name for name, value in own.items() if value), "")) and not model:
        raise InputError(f"{given}: belongs to --model, which is missing")
    if model:
        chosen = _Model(times, budget_s or BUDGET_S, within or WITHIN, refit, prepare, out)
        return _tune_model(operation, implementations, request, chosen)
    failed, written = False, 0
    for found in walk(operation, implementations, request, ConsoleProgress(), budget_s=budget_s or BUDGET_S):
        _show(found)
        failed = failed or found.failed
        if found.entry:
            path = out or user_table_file(found.gpu)
            write_table(path, found.gpu, [found.entry])
            written += 1
    entries = "1 entry" if written == 1 else f"{written} entries"
    say(f"{entries} written to {path}" if written else "Nothing was written: no search came to its end.")
    return 1 if failed else 0


@dataclass(frozen=True)
class _Model:
    times: Path | None
    budget_s: float
    within: float
    refit: bool
    prepare: str | None
    out: Path | None


def _tune_model(operation: str, names: tuple[str, ...], request: Request, chosen: _Model) -> int:
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.planning.tuned import own_folder
    from kernelbench.report.tuning import cost_fit_lines
    from kernelbench.walks import fit_model, record_times

    if chosen.refit and chosen.prepare:
        raise InputError("--refit --prepare: one fits what was timed, the other prepares the timing; choose one")
    progress, within = ConsoleProgress(), chosen.within
    if chosen.prepare:
        say(record_times.prepare_model(operation, names, chosen.prepare, request, progress, within=within))
        return 0
    folder = chosen.times or own_folder()
    here = None
    if not chosen.refit:
        budget_s = chosen.budget_s
        here = record_times.record_model(operation, names, request, progress, folder, budget_s=budget_s, within=within)
    for found in fit_model.fit_models(operation, names, request, folder, here, chosen.out):
        if found.unknown:
            tell(f"{found.recorded}: {found.unknown} timed candidates are left out: the kernels no longer list them")
        for line in cost_fit_lines(found.model, found.gpu, found.fit):
            tell(line)
        if found.constants is None:
            say("No constants kept: those that ship choose as well as the fitted ones")
        else:
            say(f"Constants written to {found.constants}")
        if found.entries:
            choices = "1 choice that is" if found.entries == 1 else f"{found.entries} choices that are"
            say(f"{choices} at least 3 % faster than the cost function's written to {found.table}")
    return 0


def _show(found: Tuned) -> None:
    from kernelbench.report.tuning import tuning_sentence, tuning_table

    tell(tuning_sentence(found))
    if found.candidates:
        console().print(tuning_table(found))
