"""That a launch's arguments are of the types that its compiled entry takes."""

import re
from functools import lru_cache
from pathlib import Path

from kernelbench.core.records import LaunchPlan

_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\((.*?)\)", re.DOTALL)
_PARAMETER = re.compile(r"\.param\s+\.(\w+)")
_PTX_TYPE = {"int32": "u32", "int64": "u64", "float32": "f32"}


def check_signatures(plan: LaunchPlan, ptx: Path) -> None:
    """Addresses are u64."""
    for launch in plan.launches:
        given = ["u64" if isinstance(one, str) else _PTX_TYPE[one.dtype] for one in launch.arguments]
        assert _parameters(ptx)[launch.entry] == given, launch.entry


def entry_text(ptx: Path, entry: str) -> str:
    """The code of an entry, up to the next one."""
    return ptx.read_text().split(f".entry {entry}(")[1].split(".entry ")[0]


@lru_cache
def _parameters(ptx: Path) -> dict[str, list[str]]:
    """The types of every entry's parameters."""
    return {name: _PARAMETER.findall(text) for name, text in _ENTRY.findall(ptx.read_text())}
