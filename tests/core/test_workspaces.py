"""What killed processes leave behind goes after a day; what somebody works in stays."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelbench.core.workspaces import ABANDONED_S, PREFIX, delete_old_workspaces, put_away, workspace

HOLDER = """
import sys, time
from pathlib import Path
from kernelbench.core.workspaces import workspace
with workspace(Path(sys.argv[1])) as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


def age(path: Path, seconds: float = ABANDONED_S + 100) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_a_workspace_is_gone_at_the_end_whatever_happened(tmp_path: Path) -> None:
    def work() -> None:
        with workspace(tmp_path / "new") as folder:
            (folder / "deep").mkdir()
            (folder / "deep" / "file").write_text("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert list((tmp_path / "new").iterdir()) == []


def test_only_what_is_a_day_old_is_swept(tmp_path: Path) -> None:
    for name in (f"{PREFIX}old", f"{PREFIX}fresh", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / f"{PREFIX}file").write_text("put away, and its process killed")
    for name in (f"{PREFIX}old", f"{PREFIX}file", "other"):
        age(tmp_path / name)
    age(tmp_path / f"{PREFIX}fresh", ABANDONED_S - 100)
    delete_old_workspaces(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{PREFIX}fresh", "other"]


def test_a_workspace_of_a_living_process_is_never_swept_and_that_of_a_killed_one_is(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    folder = Path(holder.stdout.readline().strip())
    age(folder)
    delete_old_workspaces(tmp_path)
    assert folder.is_dir()
    holder.kill()
    holder.wait(10)
    delete_old_workspaces(tmp_path)
    assert not folder.exists()


def test_a_clock_set_back_sweeps_nothing(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}tomorrow").mkdir()
    age(tmp_path / f"{PREFIX}tomorrow", -2 * ABANDONED_S)
    delete_old_workspaces(tmp_path)
    assert (tmp_path / f"{PREFIX}tomorrow").is_dir()


def test_a_folder_that_is_not_there_has_nothing_to_sweep(tmp_path: Path) -> None:
    delete_old_workspaces(tmp_path / "gone")
    (tmp_path / "file").write_text("")
    delete_old_workspaces(tmp_path / "file")


def test_what_is_put_away_is_gone_with_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "one" / "deep").mkdir(parents=True)
    put_away(tmp_path / "one")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        put_away(tmp_path / "one")
