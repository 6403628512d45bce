"""The contents of environment.json: where, when and with which versions a run is made."""

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
from kernelbench.core.libraries import PEER_PACKAGES
from kernelbench.core.records import CasePlan, Implementation, Limits, Suite
from kernelbench.runs.suite_contents import contents_of

PACKAGES = (
    "numpy", "scipy", "pandas", "nvidia-ml-py", "cuda-bindings", "nvidia-cudnn-frontend", "nvidia-cutlass-dsl",
    *(package for packages in PEER_PACKAGES.values() for package in packages if package != "cub"),
)  # fmt: skip


def start_environment(
    suite: Suite,
    plans: Sequence[CasePlan],
    twins: Mapping[str, str] | None,
    device: Mapping[str, Any],
    limits: Limits | None,
    own: Mapping[str, Collection[str]],
    seed: int,
    arguments: Sequence[str],
) -> dict[str, Any]:
    """The environment before anything is built: suite, versions, commit, command line, start, GPU, implementations.

    `twins`: originals by twin, None if the run is not a self-test; `own`: names of the user's own implementations, by
    operation; `arguments`: the command line.
    """
    planned = [one.implementation for plan in plans for one in plan.planned]
    calls, tuned = call_hashes(planned, own), tuned_values(plans)
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
        "started": utc_now(),
        "finished": None,
        "command": command_text(arguments),
        "seed": seed,
        "host": {"system": platform.system(), "machine": platform.machine(), "release": platform.release()},
        "versions": {"python": platform.python_version(), **_package_versions()},
        "device": dict(device),
        "limits": asdict(limits) if limits else {},
        "implementations": describe_implementations(one for one in planned if one.name not in (twins or {})),
        **({"calls": calls} if calls else {}),
        **({"self_test": {"twins": dict(twins)}} if twins is not None else {}),
        **({"tuned": tuned} if tuned else {}),
    }


def describe_implementations(implementations: Iterable[Implementation]) -> Mapping[str, Any]:
    """Summary, role and origin of each, so that the report of a run needs no kernel folder. Names are unique only
    within an operation; with several operations, each name gets its operation as a prefix, as in `relu/packed`."""
    found = list(implementations)
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


def call_hashes(implementations: Iterable[Implementation], own: Mapping[str, Collection[str]]) -> dict[str, str]:
    """The hash of the file of each library call in the user's folders, which has no binary to identify its rows."""
    found: dict[str, str] = {}
    for one in implementations:
        if one.prepare is not None and one.name in own.get(one.operation, ()):
            with suppress(OSError, TypeError):  # not a function from a file
                path = inspect.getsourcefile(inspect.unwrap(one.prepare))
                found[f"{one.operation}/{one.name}"] = sha256(Path(path or "").read_bytes()).hexdigest()[:16]
    return found


def tuned_values(plans: Iterable[CasePlan]) -> dict[str, dict[str, dict[str, int]]]:
    """Values from tables, by implementation and case, for environment.json."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for plan in plans:
        for one in plan.planned:
            if one.tuned:
                found.setdefault(one.implementation.name, {})[plan.case.key] = dict(one.tuned)
    return found


def utc_now() -> str:
    """UTC with seconds: 2026-05-04T12:30:00+00:00."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def command_text(arguments: Sequence[str]) -> str:
    """The command as typed, with paths in the project relative to its root."""
    root = f"{places.ROOT}/"
    return shlex.join(["kernelbench", *(argument.replace(root, "") for argument in arguments)])


def git_commit() -> str | None:
    """The commit of the checkout, with `-dirty` if files differ from it; None outside of a checkout.

    KERNELBENCH_COMMIT comes first: it names the commit of a tree that was copied without its history.
    """
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
