"""Run folders: where a new one goes, who may write into it, which one is meant."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from difflib import get_close_matches
from pathlib import Path

from kernelbench.core import places
from kernelbench.core.errors import ResultsError
from kernelbench.core.progress import Progress
from kernelbench.core.records import Suite
from kernelbench.core.units import duration_text
from kernelbench.runs.files import read_environment
from kernelbench.runs.results import ENVIRONMENT_FILE, RESULTS_FILE

RECORDED_GPU = "h200"  # folder of the recorded runs that claims are judged on, and durations known from
RECORDED_SIMULATOR = "simulated"  # folder of the recorded simulator runs, beside those of GPUs
DEFAULT_SUITE = "softmax"  # of the shipped run that is shown when nobody has measured anything yet
_STAMP, _STAMP_LENGTH = "%Y%m%d-%H%M%S", 15
_TRIES = 100  # of names for a new folder, while other runs take them


def new_folder(suite: Suite, device: str, progress: Progress, *, resume: bool) -> Path:
    """A new, empty results/runs/<time>-<device>-<suite>; with `resume` the newest folder of that suite, if any.

    Its time is after that of every other folder there, also where the clock was set back, so that the last by name is
    the newest.
    """
    if resume:
        mine = [folder for folder in user_runs() if _suite_of(folder) == suite.name]
        if mine:
            return mine[0]
        progress.say(f"--resume: no run of suite '{suite.name}' in {places.runs()} yet; starting one")
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    with _told_where_unwritable(places.runs()):
        places.runs().mkdir(parents=True, exist_ok=True)
        for _ in range(_TRIES):
            folder = places.runs() / f"{_next_stamp():{_STAMP}}-{slug}-{suite.name}"
            with suppress(FileExistsError):  # another run took that second
                folder.mkdir()
                return folder
    raise ResultsError(
        f"{places.runs()}: other runs took the names of {_TRIES} new ones; choose another place with --out"
    )


@contextmanager
def _told_where_unwritable(folder: Path) -> Iterator[None]:
    """ResultsError for an OSError; it names a link on the way that leads nowhere, as to a disk that is not mounted."""
    try:
        yield
    except OSError as error:
        lost = [path for path in (folder, *folder.parents) if os.path.islink(path) and not os.path.exists(path)]
        why = f"{lost[0]} is a link to {os.readlink(lost[0])}, which is not there" if lost else error.strerror
        raise ResultsError(f"{folder}: cannot write a run here ({why}); choose another place with --out") from error


def _next_stamp() -> datetime:
    """Now, or a second after the newest folder of runs."""
    newest = datetime.min
    for path in places.runs().iterdir():
        with suppress(ValueError):  # a name of somebody's own
            newest = max(newest, datetime.strptime(path.name[:_STAMP_LENGTH], _STAMP))
    try:
        return max(datetime.now(), newest + timedelta(seconds=1))
    except OverflowError:
        raise ResultsError(
            f"{places.runs()}: no run can be newer than that of {newest:{_STAMP}}; rename or delete that folder"
        ) from None


@contextmanager
def folder_to_itself(folder: Path) -> Iterator[None]:
    """Hold the folder of a run, which is made if need be, against others that would write into it.

    ResultsError where another process does. The lock is the operating system's, on the folder itself: it leaves
    nothing behind, and ends with the process, however that ends. A file system that has no locks goes without.
    """
    with _told_where_unwritable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        opened = os.open(folder, os.O_RDONLY)
    try:
        _lock(opened, folder)
        yield
    finally:
        os.close(opened)


def _lock(opened: int, folder: Path) -> None:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ResultsError(
            f"{folder}: another kernelbench run is writing into it; wait for it to end, or choose another --out"
        ) from error
    except OSError:
        pass  # a file system without locks


def user_runs() -> list[Path]:
    """The user's runs, newest first."""
    folder = places.runs()
    try:
        found = [path for path in folder.iterdir() if is_run(path)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be read ({error.strerror})") from error
    return sorted(found, key=lambda path: path.name, reverse=True)


def shipped_runs() -> list[Path]:
    """The recorded runs that came with kernelbench: results/<gpu>/<suite>, or results/<gpu>/<group>/<suite>."""
    found = [path for depth in ("*/*", "*/*/*") for path in places.RECORDED.glob(depth) if is_run(path)]
    return sorted(path for path in found if places.runs() not in path.parents)


def _recorded_on(folder: Path) -> str:
    """The GPU of a recorded run, as its folder is called."""
    return folder.resolve().relative_to(places.RECORDED.resolve()).parts[0]


def recorded_seconds(suite: str) -> float | None:
    """How long `kernelbench run` took for a suite on the recorded GPU; None where no such run is shipped."""
    recorded = places.RECORDED / RECORDED_GPU
    for path in (recorded / suite / ENVIRONMENT_FILE, *sorted(recorded.glob(f"*/{suite}/{ENVIRONMENT_FILE}"))):
        with suppress(ResultsError, KeyError):
            return float(read_environment(path)["wall_s"])
    return None


def expected_text(suites: Sequence[str]) -> str:
    """How long suites took when they were recorded, as a line for who waits; '' where none of them was."""
    known = [seconds for suite in suites if (seconds := recorded_seconds(suite)) is not None]
    if not known:
        return ""
    rest = f"; {len(suites) - len(known)} of them not recorded" if len(known) < len(suites) else ""
    what = f"{len(suites)} suites, which" if len(suites) > 1 else f"{suites[0]}, which"
    return f"{what} took {duration_text(sum(known))} on an {RECORDED_GPU.upper()}{rest}"


def output_folder(run: Path) -> Path:
    """Where comparison, charts and page of a run go: into its folder; recorded runs are left as they are."""
    if run.resolve() not in [path.resolve() for path in shipped_runs()]:
        return run
    return places.runs() / f"{_recorded_on(run)}-{run.resolve().name}"


def is_run(folder: Path) -> bool:
    return os.path.isfile(folder / RESULTS_FILE)  # unlike Path.is_file, False also where nobody may look


def find_run(name: str | None) -> tuple[Path, str]:
    """The run meant by a folder, a run's name or a suite's name, and a line that says which one it is.

    None: the user's newest, else the shipped run of the softmax suite.
    """
    if name is None:
        return _newest(user_runs(), [path for path in shipped_runs() if path.name == DEFAULT_SUITE])
    path = Path(name)
    if is_run(path):
        return path, f"run {path}"
    if is_run(places.runs() / path.name):
        return places.runs() / path.name, f"run {path.name}"
    mine = [folder for folder in user_runs() if _suite_of(folder) == path.stem]
    shipped = [folder for folder in shipped_runs() if folder.name == path.stem]
    if mine or shipped:
        return _newest(mine, shipped)
    names = [folder.name for folder in (*user_runs(), *shipped_runs())]
    near = get_close_matches(path.name, names, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else "; `kernelbench list runs` shows what there is"
    raise ResultsError(f"no run '{name}': neither a run's folder nor the name of a run or suite{hint}")


def _newest(mine: list[Path], shipped: list[Path]) -> tuple[Path, str]:
    if mine:
        return mine[0], f"your newest run, {mine[0].name}"
    if shipped:
        gpu = _recorded_on(shipped[0]).upper()
        return shipped[0], f"the recorded run of {shipped[0].name} on an {gpu} that kernelbench ships"
    raise ResultsError("there is no run yet; `kernelbench run suites/softmax.yaml` makes one")


def _suite_of(folder: Path) -> str:
    """The suite that a run is of; '' where its environment cannot be read."""
    try:
        return str(read_environment(folder / ENVIRONMENT_FILE).get("suite") or "")
    except ResultsError:
        return ""
