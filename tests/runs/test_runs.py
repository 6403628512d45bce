"""Which run is meant, where a new one goes, and who may write into it."""

import gzip
import json
import os
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kernelbench.cli import listing
from kernelbench.core import places
from kernelbench.core.errors import ResultsError
from kernelbench.core.records import Suite
from kernelbench.runs import folders
from kernelbench.runs.results import Store

SUITE = Suite("softmax", Path("softmax.yaml"), "", "softmax", (), ("naive",))
STATE = {"suite": "softmax", "seed": 7, "kernelbench": "0.1.0", "device": {"name": "NVIDIA H200"}}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs and recorded runs in a place of their own."""
    monkeypatch.setattr(places, "runs", lambda: tmp_path / "results" / "runs")
    monkeypatch.setattr(places, "RECORDED", tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results"


def make(folder: Path, **changes: Any) -> Path:
    store = Store(folder)
    store.write_environment({**STATE, **changes})
    row = {"suite": changes.get("suite", "softmax"), "operation": "softmax", "shape": "4x16", "axis": -1}
    row |= {"dtype": "float32", "status": "unsupported"}
    made = (("seq=16", "naive"), ("seq=16", "warp"), ("seq=32", "naive"))
    store.append([{**row, "case": case, "implementation": name} for case, name in made], [])
    return folder


class Said:
    """A Progress that keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def stage(self, title: str, total: float) -> Any: ...

    def say(self, text: str) -> None:
        self.lines.append(text)


def new(device: str = "x", *, resume: bool = False) -> Path:
    return folders.new_folder(SUITE, device, Said(), resume=resume)


# ---- new runs ------------------------------------------------------------------------------------


def test_a_new_run_is_named_by_time_device_and_suite(home: Path) -> None:
    folder = new("NVIDIA H200 (SXM) / 141 GB")
    assert folder.parent == home / "runs"
    assert re.fullmatch(r"\d{8}-\d{6}-nvidia-h200-sxm-141-gb-softmax", folder.name)
    assert list(folder.iterdir()) == []


def test_two_runs_of_one_second_have_two_folders(home: Path) -> None:
    folders = [new() for _ in range(3)]
    assert len({folder.name for folder in folders}) == 3
    assert sorted(folders) == folders


def test_the_newest_run_is_the_last_by_name_also_where_the_clock_was_set_back(home: Path) -> None:
    later = datetime.now() + timedelta(hours=1)
    earlier = make(home / "runs" / f"{later:%Y%m%d-%H%M%S}-x-softmax")
    (home / "runs" / "20991399-000000-x-softmax").mkdir()  # no date
    folder = make(new())
    assert folder.name == f"{later + timedelta(seconds=1):%Y%m%d-%H%M%S}-x-softmax"
    assert folders.user_runs() == [folder, earlier]
    assert new(resume=True) == folder
    assert folders.find_run(None)[0] == folder


def test_a_folder_of_the_far_future_is_followed_as_long_as_there_is_a_later_time(home: Path) -> None:
    for stamp in ("29991231-235959", "30000101-000000"):
        (home / "runs" / f"{stamp}-x-softmax").mkdir(parents=True)
    folders = [new(), new()]
    assert [folder.name for folder in folders] == ["30000101-000001-x-softmax", "30000101-000002-x-softmax"]
    (home / "runs" / "99991231-235959-mine").mkdir()
    with pytest.raises(ResultsError) as caught:
        new()
    assert str(caught.value) == (f"{home}/runs: no run can be newer than 99991231-235959; rename or delete that folder")


def test_a_link_that_leads_nowhere_is_told(home: Path) -> None:
    """As results/ is where its disk is not mounted."""
    home.symlink_to("/not/mounted")
    for make_folder in (new, lambda: folders.folder_to_itself(home / "runs" / "mine").__enter__()):
        with pytest.raises(ResultsError) as caught:
            make_folder()
        assert f"cannot write a run here ({home} is a link to /not/mounted, which is not there)" in str(caught.value)
    assert folders.user_runs() == []


def test_names_that_others_take_at_every_turn_are_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new()
    monkeypatch.setattr(folders, "_next_stamp", lambda: datetime(2026, 1, 1))
    new()
    with pytest.raises(ResultsError, match=r"runs: other runs took the names of 100 new ones; choose .* --out"):
        new()


def test_a_place_that_takes_no_folder_is_told(home: Path) -> None:
    home.mkdir()
    (home / "runs").write_text("in the way")
    with pytest.raises(ResultsError, match=r"cannot write a run here .*; choose another place with --out"):
        new()


def test_resume_takes_the_newest_run_of_that_suite(home: Path) -> None:
    for name in ("20260101-000000-x-softmax", "20260301-000000-x-softmax", "20260401-000000-x-softmax_half"):
        make(home / "runs" / name, suite=name.split("-x-")[1])
    make(home / "runs" / "20260402-000000-x-my-softmax", suite="my-softmax")
    (home / "runs" / "20260501-000000-x-softmax").mkdir()  # without rows: no run
    assert new(resume=True).name == "20260301-000000-x-softmax"


def test_resume_without_a_run_says_so_and_starts_one(home: Path) -> None:
    said = Said()
    folder = folders.new_folder(SUITE, "x", said, resume=True)
    assert folder.is_dir()
    assert said.lines == [f"--resume: no run of suite 'softmax' in {home}/runs yet; starting one"]


def test_one_process_at_a_time_writes_into_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    with folders.folder_to_itself(folder):
        with pytest.raises(ResultsError) as caught, folders.folder_to_itself(folder):
            pass
        assert str(caught.value) == (
            f"{folder}: another kernelbench run is writing into it; wait for it to end, or choose another --out"
        )
        with folders.folder_to_itself(tmp_path / "other"):
            pass
    with folders.folder_to_itself(folder):
        assert list(folder.iterdir()) == [], "no lock is left behind"


# ---- which run -----------------------------------------------------------------------------------


def test_a_run_is_found_by_folder_name_or_suite(home: Path) -> None:
    older, newer = make(home / "runs" / "20260101-a-softmax"), make(home / "runs" / "20260201-a-softmax")
    shipped = make(home / "h200" / "softmax_half")
    elsewhere = make(home.parent / "elsewhere")
    assert folders.find_run(str(elsewhere)) == (elsewhere, f"run {elsewhere}")
    assert folders.find_run("elsewhere")[0] == Path("elsewhere")
    assert folders.find_run(older.name) == (older, f"run {older.name}")
    assert folders.find_run(str(older)) == (older, f"run {older}")
    assert folders.find_run("softmax") == (newer, f"your newest run, {newer.name}")
    assert folders.find_run("suites/softmax.yaml")[0] == newer
    for other in ("results/a_gpu/softmax", "no/such/softmax", f"elsewhere_too/{older.name}"):
        with pytest.raises(ResultsError, match=f"no run '{other}'"):
            folders.find_run(other)  # not another run of that name
    recorded = "the recorded run of softmax_half on an H200 that kernelbench ships"
    assert folders.find_run("softmax_half") == (shipped, recorded)
    assert folders.find_run("results/h200/softmax_half")[0] == Path("results/h200/softmax_half")


def test_a_recorded_run_is_found_by_its_path_from_any_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, shipped = make(home / "runs" / "20260101-a-softmax"), make(home / "h200" / "softmax")
    monkeypatch.setattr(places, "ROOT", home.parent)
    monkeypatch.chdir(own)
    path = shipped.relative_to(home.parent)
    assert folders.find_run(str(path))[0] == shipped, "not the user's own of that suite"
    assert folders.find_run("softmax")[0] == own


def test_recorded_runs_of_a_group_lie_in_a_folder_of_their_own(home: Path) -> None:
    grouped = make(home / "h200" / "peers" / "peers_softmax")
    make(home / "runs" / "a" / "b")
    assert folders.shipped_runs() == [grouped]
    said = "the recorded run of peers_softmax on an H200 that kernelbench ships"
    assert folders.find_run("peers_softmax") == (grouped, said)
    assert folders.output_folder(grouped) == home / "runs" / "h200-peers_softmax"
    (grouped / "environment.json").write_text(json.dumps({"wall_s": 61.4}))
    assert folders.expected_text(["peers_softmax"]) == "peers_softmax, which took 1 min 1 s on an H200"


def test_without_a_name_the_newest_is_meant_else_the_shipped_one(home: Path) -> None:
    with pytest.raises(ResultsError, match=r"there is no run yet; `kernelbench run suites/softmax\.yaml` makes one"):
        folders.find_run(None)
    shipped = make(home / "h200" / "softmax")
    make(home / "h200" / "a_suite")
    assert folders.find_run(None) == (shipped, "the recorded run of softmax on an H200 that kernelbench ships")
    make(home / "runs" / "20260101-a-softmax")
    newest = make(home / "runs" / "20260301-a-other")
    assert folders.find_run(None) == (newest, f"your newest run, {newest.name}")


def test_an_unknown_run_has_its_neighbour_named(home: Path) -> None:
    with pytest.raises(ResultsError, match="`kernelbench list runs` shows what there is"):
        folders.find_run("nothing")
    make(home / "h200" / "softmax_half")
    with pytest.raises(ResultsError) as caught:
        folders.find_run("softmx_half")
    assert str(caught.value) == (
        "no run 'softmx_half': neither a run's folder nor the name of a run or suite; did you mean 'softmax_half'?"
    )


def test_a_path_has_no_run_of_another_folder_named(home: Path) -> None:
    make(home / "h200" / "softmax")
    make(home / "simulated" / "softmax")
    make(home / "runs" / "20260101-a-softmax")
    said = "no run '{}': neither a run's folder nor the name of a run or suite; "
    for name, hint in (
        ("results/h100/softmax", "recorded runs here are of: h200, simulated"),
        ("results/runs/20260101-b-softmax", "did you mean '20260101-a-softmax'?"),
        ("suites/softmx.yaml", "did you mean 'softmax'?"),
    ):
        with pytest.raises(ResultsError, match=f"^{re.escape(said.format(name) + hint)}$"):
            folders.find_run(name)


def test_a_folder_without_rows_is_no_run(home: Path) -> None:
    folder = make(home / "runs" / "a")
    (folder / "environment.json").unlink()
    assert folders.user_runs() == [folder], "a run that has lost its environment is one"
    (folder / "results.csv").unlink()
    assert not folders.is_run(folder)
    assert folders.user_runs() == []
    with pytest.raises(ResultsError):
        folders.find_run("a")


BAD: dict[str, Callable[[Path], Any]] = {
    "a pipe": os.mkfifo,
    "a link to an endless file": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a folder": lambda path: path.mkdir(),
    "too deep": lambda path: path.write_text("[" * 200_000),
    "too large": lambda path: (path.touch(), os.truncate(path, 3 * 2**30)),
    "no JSON": lambda path: path.write_bytes(b"\xff\xfe"),
}


@pytest.mark.parametrize("spoil", BAD.values(), ids=BAD.keys())
def test_a_bad_folder_stands_in_nobody_elses_way(spoil: Callable[[Path], Any], home: Path) -> None:
    mine = make(home / "runs" / "20260101-000000-x-softmax")
    bad = make(home / "runs" / "20260301-000000-x-bad")
    for path in (bad / "environment.json", home / folders.RECORDED_GPU / "softmax" / "environment.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        spoil(path)
    assert new(resume=True) == mine
    assert folders.find_run("softmax") == (mine, f"your newest run, {mine.name}")
    assert folders.expected_text(["softmax"]) == "", "nor a recorded one"
    listed = {row[0]: row for row in listing.list_runs().rows}
    assert listed[mine.name][1] == "NVIDIA H200"
    assert listed[bad.name][4].startswith("cannot be read: ")


@pytest.mark.parametrize("spoil", ["a pipe", "a link to an endless file", "a link to nothing", "a folder", "too large"])
def test_rows_that_are_no_file_stand_in_nobody_elses_way(spoil: str, home: Path) -> None:
    mine = make(home / "runs" / "20260101-000000-x-softmax")
    bad = make(home / "runs" / "20260301-000000-x-softmax") / "results.csv"
    bad.unlink()
    BAD[spoil](bad)
    found = folders.find_run(None)[0]
    assert found == (bad.parent if spoil == "too large" else mine)
    listed = {row[0]: row for row in listing.list_runs().rows}
    assert listed[mine.name][1] == "NVIDIA H200"
    assert bad.parent.name not in listed or listed[bad.parent.name][4].startswith("cannot be read: ")


def test_a_name_too_long_for_a_file_is_no_run(home: Path) -> None:
    with pytest.raises(ResultsError, match="neither a run's folder nor the name of a run or suite"):
        folders.find_run("x" * 5000)


def test_recorded_runs_are_left_as_they_are(home: Path) -> None:
    mine, shipped = make(home / "runs" / "a"), make(home / "h200" / "softmax")
    assert (folders.user_runs(), folders.shipped_runs()) == ([mine], [shipped])
    assert folders.output_folder(mine) == mine
    assert folders.output_folder(shipped) == home / "runs" / "h200-softmax"
    assert folders.output_folder(Path("results/h200/softmax")) == home / "runs" / "h200-softmax", "as people type it"
    assert folders.output_folder(Path("results/runs/a")) == Path("results/runs/a")


@pytest.mark.parametrize("group", ["", "peers"])
def test_a_recorded_run_of_another_checkout_is_left_as_it_is_too(group: str, home: Path, tmp_path: Path) -> None:
    other = make(tmp_path / "checkout" / "results" / "h100" / group / "softmax")  # a wheel has no runs of an H100
    assert folders.output_folder(other) == other, "a run of one's own"
    packed = gzip.compress((other / "results.csv").read_bytes())
    (other / "results.csv.gz").write_bytes(packed)
    (other / "results.csv").unlink()
    assert folders.output_folder(other) == home / "runs" / "h100-softmax"


def test_the_page_of_a_packed_run_lies_in_no_run_and_not_where_that_of_another_one_does(
    home: Path, tmp_path: Path
) -> None:
    places = []
    for parent in ("a", "b"):
        run = make(tmp_path / parent / "softmax")
        (run / "results.csv.gz").write_bytes(gzip.compress((run / "results.csv").read_bytes()))
        (run / "results.csv").unlink()
        places.append(folders.output_folder(run))
    assert len(set(places)) == 2
    taken = make(places[0])
    assert folders.output_folder(tmp_path / "a" / "softmax") not in (taken, *places)


def test_recorded_runs_hold_nothing_that_a_command_writes_again() -> None:
    made = ("comparison.csv", "claims.csv", "claims.json")
    assert [path for name in made for path in places.RECORDED.rglob(name) if places.runs() not in path.parents] == []


def test_how_long_a_suite_takes_is_known_from_the_recorded_runs(home: Path) -> None:
    for suite, seconds in (("softmax", 61.4), ("reduce", 20)):
        folder = home / folders.RECORDED_GPU / suite
        folder.mkdir(parents=True)
        (folder / "environment.json").write_text(json.dumps({"wall_s": seconds}))
        (folder / "results.csv").touch()
    assert folders.expected_text(["softmax"]) == "softmax, which took 1 min 1 s on an H200"
    assert folders.expected_text(["softmax", "reduce", "mine"]) == (
        "3 suites, which took 1 min 21 s on an H200; 1 of them not recorded"
    )
    assert folders.expected_text(["mine"]) == ""


def test_what_several_gpus_shared_takes_one_gpu_as_long_as_all_their_parts(home: Path) -> None:
    shares = {"h200-0": {"wall_s": 40}, "h200-1": {"wall_s": 30.5}}
    make(home / "h200/softmax")
    (home / "h200/softmax/environment.json").write_text(json.dumps({"wall_s": 40, "shared": shares}))
    assert folders.recorded_time("softmax") == (70.5, "h200")


def test_where_the_usual_gpu_has_no_run_another_ones_tells(home: Path) -> None:
    for place, seconds in (("h100/softmax", 90), ("h200/softmax", 60), ("h100/peers/sweep", 30), ("simulated/relu", 5)):
        make(home / place)
        (home / place / "environment.json").write_text(json.dumps({"wall_s": seconds}))
    assert folders.recorded_time("softmax") == (60, "h200")
    assert folders.recorded_time("softmax", "h100") == (90, "h100")
    assert folders.recorded_time("sweep") == (30, "h100")
    assert folders.recorded_time("relu") is None, "of the simulator, which times nothing"
    assert folders.expected_text(["softmax", "sweep"]) == ("2 suites, which took 1 min 30 s on an H200 and an H100")
