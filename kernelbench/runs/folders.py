"""Folders of runs: the place of a new one, locks against other writers, and the run that the user means."""

import fcntl
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path

from kernelbench.core import places
from kernelbench.core.errors import InputError, ResultsError
from kernelbench.core.progress import Progress
from kernelbench.core.records import Suite
from kernelbench.core.units import duration_text
from kernelbench.runs.files import read_environment
from kernelbench.runs.results import ENVIRONMENT_FILE, PACKED_RESULTS_FILE, Run, read_run, results_file

RECORDED_GPU = "h200"  # its recorded runs decide claims; for a suite without one, another GPU's run tells the duration
RECORDED_SIMULATOR = "simulated"  # folder of the recorded runs of the simulator
DEFAULT_SUITE = "softmax"  # of the shipped run that is shown if the user has no run
_STAMP, _STAMP_LENGTH = "%Y%m%d-%H%M%S", 15
DEPTH = 3  # folders below a given one in which the runs of a history are looked for
_TRIES = 100  # names tried for a new folder, while other runs take them


def new_folder(suite: Suite, device: str, progress: Progress, *, resume: bool) -> Path:
    """A new, empty results/runs/<time>-<device>-<suite>; with `resume` the newest folder of that suite, if any.

    Its time is after that of every other folder there, even if the clock was set back, so that the last name is the
    newest run.
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
    """Turn OSError into ResultsError, which names a dangling link in the path, as to a disk that is not mounted."""
    try:
        yield
    except OSError as error:
        lost = [path for path in (folder, *folder.parents) if os.path.islink(path) and not os.path.exists(path)]
        why = f"{lost[0]} is a link to {os.readlink(lost[0])}, which is not there" if lost else error.strerror
        raise ResultsError(f"{folder}: cannot write a run here ({why}); choose another place with --out") from error


def _next_stamp() -> datetime:
    """Now, or a second after the newest folder, if that is later."""
    newest = datetime.min
    for path in places.runs().iterdir():
        with suppress(ValueError):  # a folder that the user named
            newest = max(newest, datetime.strptime(path.name[:_STAMP_LENGTH], _STAMP))
    try:
        return max(datetime.now(), newest + timedelta(seconds=1))
    except OverflowError:
        raise ResultsError(
            f"{places.runs()}: no run can be newer than {newest:{_STAMP}}; rename or delete that folder"
        ) from None


@contextmanager
def folder_to_itself(folder: Path) -> Iterator[None]:
    """Lock the folder of a run, which is made if needed, against other writers.

    ResultsError if another process has it. The lock is the operating system's, on the folder itself: it leaves nothing
    behind, and ends with the process, however that ends. On a file system without locks there is none.
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
    """The recorded runs that came with kernelbench: results/<gpu>/<suite>, or results/<gpu>/<group>/<suite>. Those of
    the GPU on which claims are decided come first."""
    found = [path for depth in ("*/*", "*/*/*") for path in places.RECORDED.glob(depth) if is_run(path)]
    mine = [path for path in found if places.runs() not in path.parents]
    return sorted(mine, key=lambda path: (_recorded_on(path) != RECORDED_GPU, path))


def _recorded_on(folder: Path) -> str:
    """The GPU of a recorded run, from the name of its folder."""
    return folder.resolve().relative_to(places.RECORDED.resolve()).parts[0]


def recorded_time(suite: str, gpu: str = RECORDED_GPU) -> tuple[float, str] | None:
    """The seconds of `kernelbench run` for a suite on one GPU, and the GPU: see `recorded_run`; None without a run."""
    if folder := recorded_run(suite, gpu):
        with suppress(ResultsError, KeyError):
            found = read_environment(folder / ENVIRONMENT_FILE)
            shares = found.get("shared", {}).values() or [found]  # of GPUs that measured parts of it at the same time
            return sum(float(one["wall_s"]) for one in shares), _recorded_on(folder)
    return None


def recorded_run(suite: str, gpu: str = RECORDED_GPU) -> Path | None:
    """The shipped run of a suite on this GPU, such as h200, or else on another one; None if there is none."""
    others = (path for path in sorted(places.RECORDED.glob("*")) if path.name not in (RECORDED_SIMULATOR, gpu))
    recorded = [places.RECORDED / gpu, *(path for path in others if path != places.runs())]
    found = (path for folder in recorded for path in (folder / suite, *sorted(folder.glob(f"*/{suite}"))))
    return next(filter(is_run, found), None)


def expected_text(suites: Sequence[str]) -> str:
    """A line that says how long suites took when they were recorded; '' if none of them was."""
    known = [found for suite in suites if (found := recorded_time(suite)) is not None]
    if not known:
        return ""
    rest = f"; {len(suites) - len(known)} of them not recorded" if len(known) < len(suites) else ""
    what = f"{len(suites)} suites, which" if len(suites) > 1 else f"{suites[0]}, which"
    gpus = " and ".join(f"an {gpu.upper()}" for gpu in dict.fromkeys(gpu for _, gpu in known))
    return f"{what} took {duration_text(sum(seconds for seconds, _ in known))} on {gpus}{rest}"


def output_folder(run: Path) -> Path:
    """The folder for the page of a run: the run's own. The page of a recorded run, of this or another checkout, gets
    a folder without a run. Recorded runs are known by being packed, which `kernelbench run` never does."""
    path = run.resolve()
    if results_file(path).name != PACKED_RESULTS_FILE and path not in (one.resolve() for one in shipped_runs()):
        return run
    gpu = next((one.name for one in path.parents if one.parent.name == "results"), "")  # results/GPU/.., as shipped
    own = places.runs() / f"{gpu or sha256(bytes(path.parent)).hexdigest()[:8]}-{path.name}"
    return own.with_name(f"{own.name}-page") if is_run(own) else own


def is_run(folder: Path) -> bool:
    return os.path.isfile(results_file(folder))  # unlike Path.is_file, False also without permission


def runs_below(folder: Path) -> Iterator[Path]:
    """The runs in a folder of runs, FOLDER/<run> and FOLDER/<group>/<run>."""
    return (path for depth in ("*", "*/*") for path in sorted(folder.glob(depth)) if is_run(path))


def newest_by_suite(folder: Path) -> dict[str, Path]:
    """The newest run of each suite in a folder of runs."""
    found: dict[str, tuple[str, Path]] = {}
    for path in runs_below(folder):
        with suppress(ResultsError):
            about = read_environment(path / ENVIRONMENT_FILE)
            suite, started = str(about.get("suite") or ""), str(about.get("started") or "")
            if suite and (suite not in found or found[suite][0] < started):
                found[suite] = started, path
    return {suite: path for suite, (_, path) in found.items()}


def of_gpus(folders: Sequence[Path]) -> list[tuple[str, Path]]:
    """The newest run of each suite that at least two folders of runs have, by the folder's name, which names a GPU.

    InputError for two folders of one name.
    """
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise InputError(f"report {' '.join(map(str, folders))}: expected folders of different names, which name GPUs")
    found = {name: newest_by_suite(folder) for name, folder in zip(names, folders, strict=True)}
    counts = Counter(suite for own in found.values() for suite in own)
    common = sorted(suite for suite, count in counts.items() if count > 1)
    return [(name, own[suite]) for suite in common for name, own in found.items() if suite in own]


def below_runs(path: Path) -> Path | None:
    """The user's run folder for NAME or results/runs/NAME, whatever the current folder; None for other paths."""
    return places.runs() / path.name if path.parent in (Path(), Path("results/runs")) else None


def find_run(name: str | None) -> tuple[Path, str]:
    """The run for a folder, the name of a run or of a suite, and a line that says which one it is.

    For None, the user's newest run, else the shipped run of the softmax suite. ResultsError for a folder without a run:
    another run of that suite is not the one that was asked for.
    """
    if name is None:
        return _newest(user_runs(), [path for path in shipped_runs() if path.name == DEFAULT_SUITE])
    path = Path(name)
    if is_run(path):
        return path, f"run {path}"
    if places.ROOT / path in shipped_runs():  # `results/h200/softmax`, where it is not in the current folder
        return _newest([], [places.ROOT / path])
    if (own := below_runs(path)) and is_run(own):
        return own, f"run {path.name}"
    mine = [folder for folder in user_runs() if _suite_of(folder) == path.stem]
    shipped = [folder for folder in shipped_runs() if folder.name == path.stem]
    if (mine or shipped) and (path.parent == Path() or path.suffix == ".yaml"):
        return _newest(mine, shipped)
    hint = "; `kernelbench list runs` shows what there is"
    if own is None and path.suffix != ".yaml":  # the path of a folder: a run of that name elsewhere is another one
        if gpus := ", ".join(dict.fromkeys(map(_recorded_on, shipped_runs()))):
            hint = f"; recorded runs here are of: {gpus}"
    elif near := get_close_matches(path.name, [folder.name for folder in (*user_runs(), *shipped_runs())], n=1):
        hint = f"; did you mean '{near[0]}'?"
    raise ResultsError(f"no run '{name}': neither a run's folder nor the name of a run or suite{hint}")


def _newest(mine: list[Path], shipped: list[Path]) -> tuple[Path, str]:
    if mine:
        return mine[0], f"your newest run, {mine[0].name}"
    if shipped:
        gpu = _recorded_on(shipped[0])
        where = "the simulator" if gpu == RECORDED_SIMULATOR else f"an {gpu.upper()}"
        return shipped[0], f"the recorded run of {shipped[0].name} on {where} that kernelbench ships"
    raise ResultsError("there is no run yet; `kernelbench run suites/softmax.yaml` makes one")


def _suite_of(folder: Path) -> str:
    """The suite of a run; '' if its environment cannot be read."""
    try:
        return str(read_environment(folder / ENVIRONMENT_FILE).get("suite") or "")
    except ResultsError:
        return ""


def series_in(folder: Path, suite: str | None) -> tuple[dict[tuple[str, str], list[Run]], list[str]]:
    """Runs by suite and GPU, oldest first; and why others are left out."""
    groups: dict[tuple[str, str], list[Run]] = {}
    left_out: list[str] = []
    for path in _folders(folder):
        try:
            run = read_run(path)
        except ResultsError as error:
            left_out.append(str(error))
            continue
        if suite in (None, run.suite):
            if reason := _why_not(run):
                left_out.append(f"{path}: {reason}")
            else:
                groups.setdefault((run.suite, run.device), []).append(run)
    for runs in groups.values():
        runs.sort(key=lambda run: str(run.environment["started"]))
    return groups, left_out


def _folders(folder: Path) -> Iterator[Path]:
    """The runs in a folder, a few levels deep; links to folders are not followed."""
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such folder; expected one that holds the folders of runs")
    for path, below, _ in os.walk(folder):
        below.sort()
        if is_run(Path(path)):
            yield Path(path)
        if len(Path(path).relative_to(folder).parts) >= DEPTH:
            below.clear()


def _why_not(run: Run) -> str:
    """Why a run has no place in a history; '' if it has one."""
    if run.simulated:
        return "a run of the simulator, which has no times"
    if not run.environment.get("started"):
        return "environment.json does not say when it was started"
    if "gate" in run.environment:
        return "a run of `kernelbench gate`, whose HEAD may never have been merged"
    if not run.environment.get("device", {}).get("name"):
        return "environment.json does not name the GPU"
    return "" if any(row.times for row in run.rows) else "no row has a time"
