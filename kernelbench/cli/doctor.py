"""The command `doctor`: what kernelbench needs here, one line each, with the way to get what is missing."""

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from kernelbench import __version__
from kernelbench.cli.options import NVCC
from kernelbench.cli.terminal import console, say
from kernelbench.core import places
from kernelbench.core.errors import KernelbenchError
from kernelbench.core.libraries import pip_install
from kernelbench.core.units import number_of


@dataclass(frozen=True)
class Finding:
    """`needed_for` is '' if nothing works without it."""

    what: str
    fine: bool
    text: str
    needed_for: str = ""


@click.command()
@NVCC
def doctor(nvcc: Path | None) -> int:
    """Check what kernelbench needs on this machine, and say how to get what is missing.

    \b
    Examples:
      kernelbench doctor
      kernelbench doctor --nvcc /opt/cuda/bin/nvcc
    """
    from kernelbench.report.tables import list_table

    found = diagnose(nvcc)
    rows = [(one.what, "fine" if one.fine else "missing", one.text if one.fine else "see below") for one in found]
    missing = [one for one in found if not one.fine]
    say(f"Missing: {', '.join(one.what for one in missing)}." if missing else "All that a run needs is here.")
    console().print(list_table(("what", "", "found"), rows))
    for one in missing:  # as whole lines, so that commands in them can be copied
        say(f"{one.what}: {one.text}" + (f"\n  needed for {one.needed_for}" if one.needed_for else ""))
    return 1 if missing else 0


def diagnose(nvcc: Path | None = None) -> list[Finding]:
    """Findings in the order in which a run needs them."""
    return [
        Finding("kernelbench", True, f"{__version__} in {places.PACKAGE}"),
        Finding("Python", sys.version_info >= (3, 10), f"{platform.python_version()}; 3.10 or newer is needed"),
        _finding("kernels and suites", _catalog),
        _finding("compiler", lambda: _compiler(nvcc), "run, check, build"),
        _finding("CuPy", _cupy, "times; without it run and check count on the simulator"),
        _finding("GPU", _gpu, "times; without it run and check count on the simulator"),
        _finding("simulator", _simulator, "run, check, explain without a GPU"),
        _writable("build cache", places.cache),
        _writable("runs", places.runs),
    ]


def _finding(what: str, look: Callable[[], str], needed_for: str = "") -> Finding:
    try:
        return Finding(what, True, look(), needed_for)
    except KernelbenchError as error:
        return Finding(what, False, str(error).split("\n\n")[0], needed_for)


def _catalog() -> str:
    from kernelbench.planning.catalog import load_catalog

    catalog = load_catalog()
    count = sum(map(len, catalog.implementations.values()))
    operations = len(catalog.operations)
    return f"{count} kernels of {number_of(operations, 'operation')} in {places.KERNELS}"


def _compiler(nvcc: Path | None) -> str:
    from kernelbench.build import find_compiler

    compiler = find_compiler(nvcc)
    return f"nvcc {compiler.version} at {compiler.path}"


def _cupy() -> str:
    from importlib import metadata

    for package in ("cupy-cuda13x", "cupy-cuda12x", "cupy"):
        try:
            return f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            continue
    raise KernelbenchError(f"not installed; for a driver from 580 on, else with cuda12:\n  {pip_install('cuda13')}")


def _gpu() -> str:
    from kernelbench.devices import open_device

    device = open_device("cuda")
    own = device.properties
    return (
        f"{own.name}, {own.architecture}, {own.multiprocessors} SMs, driver {device.environment().get('driver', '?')}"
    )


def _simulator() -> str:
    from kernelbench.simt.native import compiler_text

    return f"runs PTX on {len(os.sched_getaffinity(0))} CPU cores; {compiler_text()}"


def _writable(what: str, where: Callable[[], Path]) -> Finding:
    """Try to write a file in the folder, or in the nearest parent that exists."""
    import tempfile

    try:
        place = folder = where()
    except KernelbenchError as error:
        return Finding(what, False, str(error), "run, build")
    while not place.exists():
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            return Finding(what, True, f"{folder} can be written")
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        return Finding(what, False, f"{folder} cannot be written: {reason}", "run, build")
