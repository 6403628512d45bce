"""Whether hardware counters can be read here, and if not, why and what to do about it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kernelbench.core.errors import NoCounters
from kernelbench.core.libraries import pip_install

DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")
_INSTALLED = ("/opt/nvidia/nsight-compute/*/ncu", "/usr/local/cuda*/bin/ncu")
NO_GPU = "no GPU here; run it on a machine with one"
NO_PERMISSION = (
    "the driver gives hardware counters to administrators only (RmProfilingAdminOnly: 1); run as root, or load the "
    "module nvidia with NVreg_RestrictProfilingToAdminUsers=0"
)


@dataclass(frozen=True)
class HostProbe:
    """What a process can see of this machine."""

    environment: Mapping[str, str]
    parameters: str  # of the driver; '' if they cannot be read
    root: bool
    installed: tuple[Path, ...] = ()  # copies of ncu outside of PATH, newest last


def profiling_machine() -> HostProbe:
    try:
        parameters = DRIVER_PARAMETERS.read_text()
    except OSError:
        parameters = ""
    found = [path for pattern in _INSTALLED for path in Path("/").glob(pattern.lstrip("/"))]
    return HostProbe(os.environ, parameters, os.geteuid() == 0, tuple(sorted(found, key=_version)))


def find_profiler(machine: HostProbe) -> Path:
    """The `ncu` to use; NoCounters says what is missing: the program, the permission, or the package that reads its
    reports."""
    home = machine.environment.get("CUDA_HOME") or machine.environment.get("CUDA_PATH")
    folders = [machine.environment.get("PATH", os.defpath), *([str(Path(home) / "bin")] if home else [])]
    found = [Path(path) for folder in folders if (path := shutil.which("ncu", path=folder))]
    if not (found or machine.installed):
        raise NoCounters("Nsight Compute (ncu) is not installed; install the package nsight-compute or a CUDA toolkit")
    if is_restricted(machine.parameters) and not machine.root:
        raise NoCounters(NO_PERMISSION)
    if find_spec("ncu_report") is None:
        raise NoCounters(f"the package ncu-report is not installed; try: {pip_install('ncu')}")
    return found[0] if found else machine.installed[-1]


def is_restricted(parameters: str) -> bool:
    """Whether the driver gives counters to administrators only, by its `params`."""
    return re.search(r"^RmProfilingAdminOnly:\s*1\s*$", parameters, re.MULTILINE) is not None


def _version(path: Path) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", str(path))))
