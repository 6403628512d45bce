"""kernelbench: does a published CUDA kernel comparison hold on this GPU, by how much, and why?

`kernelbench.load(run)` and `kernelbench.run(suite)` give the tables of a run as DataFrames. The words that files of a
kernels folder are written in are imported from here: `from kernelbench import Case, Launch`. All are loaded when they
are asked for, so that the command line starts fast.
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelbench.core import dtypes as dtypes
    from kernelbench.core.errors import MissingLibrary as MissingLibrary
    from kernelbench.core.errors import Unsupported as Unsupported
    from kernelbench.core.libraries import import_library as import_library
    from kernelbench.core.records import *  # noqa: F403 - the same names as in _HOMES

__version__ = "0.2.0"

# Names by the module that has them.
_HOMES = {
    "core.records": (
        "BROADCAST", "FLOATS", "Array", "Arrays", "ArraySpec", "Case", "Constant", "CostModel", "Deviation",
        "DeviceProperties", "HostCall",
        "Implementation", "Launch", "LaunchPlan", "Operation", "Origin", "Reference", "Scalar", "SpecialValues",
        "TensorMap", "Tiling", "Tolerance", "Tunable", "by_element", "quarter_of_range", "root_of_range", "x_to_y",
        "x_to_y_by_element",
    ),
    "core.errors": ("MissingLibrary", "Unsupported"),
    "core.libraries": ("import_library",),
    "report.frames": ("LoadedRun", "load"),
}  # fmt: skip


def run(suite: str | PathLike[str], **options: Any) -> Any:
    """Measure a suite on the GPU here, or count on the simulator: `kernelbench run SUITE` without its page.

    Options are those of the command, such as device="simulated", only="ft,oneflow", filter=["seq>=128"], quick=True,
    out="folder". Progress goes to the logger `kernelbench`. Returns the `LoadedRun`.
    """
    return import_module("kernelbench.walks.keywords").run_loaded(fspath(suite), options)


def __getattr__(name: str) -> Any:
    if name == "dtypes":
        return import_module("kernelbench.core.dtypes")
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"kernelbench.{module}"), name)
    raise AttributeError(f"module 'kernelbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*(name for names in _HOMES.values() for name in names), "dtypes", "run", "__version__"))
