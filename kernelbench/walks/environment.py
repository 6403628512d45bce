"""Where, when and with what a run is made: the contents of environment.json."""

from __future__ import annotations

import inspect
import os
import platform
import shlex
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timezone
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import kernelbench
from kernelbench.core import places
from kernelbench.core.records import Implementation, Limits, Suite
from kernelbench.planning.twins import AGAIN
from kernelbench.suite.contents import contents_of

PACKAGES = ("numpy", "scipy", "pandas", "cupy-cuda12x", "cupy-cuda13x", "torch", "triton", "nvidia-ml-py")


def start_environment(suite: Suite, seed: int, arguments: Sequence[str]) -> dict[str, Any]:
    """What is known before anything ran: suite, versions, commit, command line, start."""
    return {
        "kernelbench": kernelbench.__version__,
        "git_commit": git_commit(),
        "suite": suite.name,
        "title": suite.title,
        "operation": suite.operation,
        "baseline": suite.baseline,
        "claims": list(suite.claims),
        **({"step": asdict(suite.step)} if suite.step else {}),
        "contents": contents_of(suite),
        "started": now(),
        "finished": None,
        "command": command_text(arguments),
        "seed": seed,
        "host": {"system": platform.system(), "machine": platform.machine(), "release": platform.release()},
        "versions": {"python": platform.python_version(), **_package_versions()},
    }


def implementations_text(implementations: Iterable[Implementation]) -> Mapping[str, Any]:
    """Who they are and whose algorithm, for the report of a run that has travelled. Names are those of one operation,
    so where there are several it stands before the name: `relu/packed`."""
    found = [one for one in implementations if not one.name.endswith(AGAIN)]
    several = len({one.operation for one in found}) > 1
    return {
        f"{one.operation}/{one.name}" if several else one.name: {
            "summary": str(one.summary),
            "arithmetic": str(one.arithmetic),
            "role": str(one.role),
            "origin": {name: str(value) for name, value in asdict(one.origin).items()},
        }
        for one in found
    }


def calls_text(implementations: Iterable[Implementation], own: Mapping[str, Collection[str]]) -> dict[str, str]:
    """A hash of the file of each library call of a user's folder, as there is no binary to know its rows by."""
    found: dict[str, str] = {}
    for one in implementations:
        if one.prepare is not None and one.name in own.get(one.operation, ()):
            with suppress(OSError, TypeError):  # no function of a file
                path = inspect.getsourcefile(inspect.unwrap(one.prepare))
                found[f"{one.operation}/{one.name}"] = sha256(Path(path or "").read_bytes()).hexdigest()[:16]
    return found


def limits_text(limits: Limits) -> Mapping[str, Any]:
    return asdict(limits)


def now() -> str:
    """UTC with seconds: 2026-05-04T12:30:00+00:00."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def command_text(arguments: Sequence[str]) -> str:
    """The command as typed, with paths inside the project shown from its root."""
    root = f"{places.ROOT}/"
    return shlex.join(["kernelbench", *(argument.replace(root, "") for argument in arguments)])


def git_commit() -> str | None:
    """What KERNELBENCH_COMMIT says (of a tree copied to another machine, whose git may be an older one), else the
    checkout's commit, with `-dirty` where files differ from it; None outside of a checkout."""
    folder = places.PACKAGE.parent
    if named := os.environ.get("KERNELBENCH_COMMIT"):
        return named[:12]
    if not (folder / ".git").exists():
        return None
    try:
        commit = _git(folder, "rev-parse", "--short=12", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}-dirty" if changed else commit


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()


def _package_versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
