"""The folder of a fleet: fleet.json, and the run folders of its GPUs.

every GPU measures every row   LABEL/SUITE
GPUs share the cases           parts/LABEL/SUITE, and joined SUITE
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelbench.core import places, writing
from kernelbench.core.errors import InputError, ResultsError
from kernelbench.core.progress import Progress
from kernelbench.core.records import Suite
from kernelbench.fleet.gpus import FleetGpu, fleet_gpu_from_mapping
from kernelbench.runs.files import is_folder_name, read_environment
from kernelbench.runs.folders import below_runs, is_run, new_folder

FLEET_FILE = "fleet.json"


@dataclass(frozen=True)
class Fleet:
    """What a fleet is to measure, on which GPUs, and what was said of it."""

    folder: Path
    command: str
    started: str
    suites: Mapping[str, str]  # hash of its file by name
    options: tuple[str, ...]  # of `kernelbench run`, as every worker gets them
    shared: bool  # whether GPUs share the cases; else every GPU measures all
    gpus: tuple[FleetGpu, ...]
    finished: str | None = None
    notes: tuple[str, ...] = ()  # what was lost, resumed or measured again, and which code differs
    taken_over: Mapping[str, str] = field(default_factory=dict)  # by suite, the label of the GPU that has it instead

    def place(self, label: str, suite: str) -> Path:
        """The run folder of one GPU."""
        return self.folder / "parts" / label / suite if self.shared else self.folder / label / suite

    def runs(self) -> Iterator[tuple[str, str, Path]]:
        """Label, suite and folder of every run to be shown; those that are not there yet are left out."""
        for suite in self.suites:
            if self.shared:
                label = self.gpus[0].kind if len(self.gpus) == 1 else f"{len(self.gpus)} x {self.gpus[0].kind}"
                places_ = [(label, self.folder / suite)]
            else:
                places_ = [(gpu.label, self.place(gpu.label, suite)) for gpu in self.gpus]
            yield from ((label, suite, path) for label, path in places_ if is_run(path))


def is_fleet(folder: Path) -> bool:
    return (folder / FLEET_FILE).is_file()


def find_fleet(name: str | None) -> Path | None:
    """The fleet at a path, or of that name below results/runs; None if it is none."""
    candidates = filter(None, (Path(name), below_runs(Path(name)))) if name else ()
    return next(filter(is_fleet, candidates), None)


def newest_fleet(suites: Sequence[str]) -> Path | None:
    """The user's newest fleet of these suites."""
    for path in sorted(places.runs().glob(f"*/{FLEET_FILE}"), reverse=True):
        if set(read_fleet(path.parent).suites) == set(suites):
            return path.parent
    return None


def write_fleet(fleet: Fleet) -> None:
    """ResultsError where it cannot be written."""
    values = {name: value for name, value in asdict(fleet).items() if name != "folder"}
    try:
        fleet.folder.mkdir(parents=True, exist_ok=True)
        writing.write_whole(fleet.folder / FLEET_FILE, json.dumps(values, indent=2) + "\n")
    except OSError as error:
        raise ResultsError(
            f"{fleet.folder}: cannot write a fleet here ({error.strerror}); choose another place with --out"
        ) from error


def read_fleet(folder: Path) -> Fleet:
    """Read fleet.json, whoever wrote it; ResultsError says what is wrong with it."""
    path = folder / FLEET_FILE
    try:
        values = read_environment(path)  # bounded, of plain types, without characters that control a terminal
        gpus = tuple(fleet_gpu_from_mapping(one) for one in values["gpus"])
        fleet = Fleet(
            folder, str(values["command"]), str(values["started"]), _suites(values["suites"]),
            tuple(map(str, values["options"])), bool(values["shared"]), gpus,
            values["finished"] and str(values["finished"]), tuple(map(str, values["notes"])),
            {str(suite): str(label) for suite, label in values.get("taken_over", {}).items()},
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
        raise ResultsError(f"{path}: cannot be read ({type(error).__name__}: {error})") from error
    if not gpus or len({gpu.label for gpu in gpus}) < len(gpus):
        raise ResultsError(f"{path}: expected GPUs with different labels")
    return fleet


def _suites(found: Any) -> dict[str, str]:
    if not all(is_folder_name(name) for name in found):
        raise ValueError("'suites' must be names of suites")
    return {name: str(digest) for name, digest in found.items()}


def resume_fleet(folder: Path, wanted: Fleet) -> Fleet:
    """The fleet in `folder` that `wanted` goes on with. GPUs that are new measure too, unless cases are shared: then
    each case has its GPU already. InputError where the two would not belong together."""
    earlier = read_fleet(folder)
    for name, what in (("suites", "suites"), ("options", "options"), ("shared", "cases")):
        then, now = getattr(earlier, name), getattr(wanted, name)
        if then != now:
            remedy = f"{'restore the files' if name == 'suites' else 'repeat them'}, or choose another --out"
            text = f"its {what} were {_words(then)}, now they are {_words(now)}; {remedy}"
            raise InputError(f"{folder}: --resume: {text}")
    known = {gpu.resource for gpu in earlier.gpus}
    new = () if earlier.shared else tuple(gpu for gpu in wanted.gpus if gpu.resource not in known)
    return replace(earlier, gpus=(*earlier.gpus, *new), finished=None)


def place_fleet(wanted: Fleet, out: Path | None, suite: Suite, progress: Progress, *, resume: bool) -> Fleet:
    """The fleet with its folder: `out`, or a new one named like `suite`, or to `resume` the newest of these suites.

    InputError where another run lies there."""
    folder = out or (newest_fleet(list(wanted.suites)) if resume else None)
    if resume and folder and is_fleet(folder):
        progress.say(f"Going on with {folder}")
        fleet = resume_fleet(folder, wanted)
        known = {gpu.resource for gpu in fleet.gpus}
        for gpu in wanted.gpus:
            if gpu.resource not in known:
                progress.say(f"{gpu.label} is left out: this fleet shared its cases among other GPUs")
        return fleet
    if folder and is_fleet(folder):
        raise InputError(f"--out {folder}: already holds a fleet; add --resume to go on with it")
    if folder and is_run(folder):
        raise InputError(f"--out {folder}: holds a run of one device; choose another folder for several GPUs")
    count = len(wanted.gpus)
    title = f"{count} gpu{'s' if count > 1 else ''}"
    return replace(wanted, folder=folder or new_folder(suite, title, progress, resume=False))


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "divided among GPUs" if value else "measured on every GPU"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} ({digest[:8]})" for name, digest in value.items())
    return " ".join(value) or "none"
