"""The command `gate`: two versions of kernels in one job, for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.compare import REGRESSION
from kernelbench.cli.options import (
    CACHE,
    DEVICE,
    FILTER,
    MEASURING,
    ONLY,
    OUT_FILE,
    OUT_FOLDER,
    QUICK,
    TEXT,
    request_of,
)
from kernelbench.cli.terminal import console, say, tell
from kernelbench.core.errors import ResultsError

if TYPE_CHECKING:
    from kernelbench.compare.gate import GateResult

VERSION = click.Path(path_type=Path)


@click.command()
@click.argument("base", type=VERSION)
@click.argument("head", type=VERSION)
@click.argument("suites", type=TEXT, nargs=-1, metavar="[SUITE]...")
@DEVICE
@ONLY
@FILTER
@CACHE
@QUICK
@click.option("--markdown", type=OUT_FILE, metavar="FILE", help="Also write the result here, for a pull request.")
@click.option("--out", type=OUT_FOLDER, help="Keep the runs, one folder per suite.")
@MEASURING
def gate(base: Path, head: Path, suites: tuple[str, ...], markdown: Path | None, **options: Any) -> int:
    """Measure the kernels of HEAD beside those of BASE, and exit with 3 if one is slower or no longer works.

    BASE and HEAD are two checkouts, two folders of kernels (OPERATION/NAME.py and .cu), or two .cu files. Their
    Python and their kernels are run: name only versions that you trust with this machine. Without SUITE, the
    suites that have the name of an operation are measured.

    Both versions are timed in the same rounds on one GPU, beside a second copy of BASE, which shows the noise. A row is
    slower if its interval lies outside of that noise. Kernels whose machine code is the same are not measured.

    On the simulator, which times nothing, the gate only names kernels whose machine code or counts changed.

    \b
    Examples:
      kernelbench gate base head --markdown gate.md
      kernelbench gate base/kernels head/kernels softmax --filter 'seq>=128'
      kernelbench gate base/my.cu head/my.cu softmax --device simulated
    """
    from kernelbench.cli.progress import ConsoleProgress
    from kernelbench.walks.gate import gate as walk

    found = []
    for one in walk(base, head, request_of(suites, options), ConsoleProgress()):
        _show(one)
        found.append(one)
    if markdown is not None:
        _write(markdown, found)
    if any(one.regressions for one in found):
        return REGRESSION
    return 1 if any(one.has_failures for one in found) else 0


def _show(found: GateResult) -> None:
    from kernelbench.report.changes_table import changes_table
    from kernelbench.report.gate_text import counts_table, gate_sentences

    tell(*gate_sentences(found))
    if found.changes:
        console().print(changes_table(found.changes, every=False))
    if found.counts:
        console().print(counts_table(found))


def _write(path: Path, found: list[GateResult]) -> None:
    from kernelbench.core.writing import write_whole
    from kernelbench.report.gate_text import as_markdown

    try:
        write_whole(path, as_markdown(found))
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written ({error.strerror}); choose another --markdown") from error
    say(f"written to {path}")
