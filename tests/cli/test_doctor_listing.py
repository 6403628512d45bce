"""What `doctor` and `list` say, with and without what they look for."""

import re
from importlib import metadata
from pathlib import Path

import pytest

from kernelbench.cli import doctor, listing
from kernelbench.core import places
from kernelbench.core.errors import InputError, NoCompiler, NoDevice
from kernelbench.devices.known import KNOWN
from kernelbench.planning.catalog import load_catalog
from kernelbench.runs.results import Store
from tests.conftest import Command, Project
from tests.fake_gpu import raising

# What a row of a run has at least.
ROW = {"operation": "softmax", "implementation": "naive", "role": "kernel", "arithmetic": "accurate", "status": "ok"}
ROW |= {"shape": "4x8", "axis": -1, "dtype": "float32"}


def findings() -> dict[str, doctor.Finding]:
    return {finding.what: finding for finding in doctor.diagnose()}


def test_all_is_fine_where_nothing_is_missing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda package: "14.2.0")
    found = findings()
    assert list(found) == [
        "kernelbench", "Python", "kernels and suites", "compiler", "CuPy", "GPU", "simulator", "build cache", "runs",
    ]  # fmt: skip
    assert all(one.fine for one in found.values()), [one for one in found.values() if not one.fine]
    assert found["compiler"].text == f"nvcc 13.0.88 at {project.compiler.path}"
    assert found["CuPy"].text == "cupy-cuda13x 14.2.0"
    assert found["GPU"].text == "NVIDIA H200, sm_90, 132 SMs, driver ?"
    assert found["kernels and suites"].text.startswith("6 kernels of 1 operation in ")


def test_what_is_missing_is_told_with_the_way_to_get_it(
    project: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_compiler = NoCompiler("no CUDA compiler; looked at\n  PATH: not found\n\nmore")
    no_device = NoDevice("No CUDA device: none.\n\nWhat works without a GPU:")
    monkeypatch.setattr(metadata, "version", raising(metadata.PackageNotFoundError("cupy")))
    monkeypatch.setattr("kernelbench.build.find_compiler", raising(no_compiler))
    monkeypatch.setattr("kernelbench.devices.open_device", raising(no_device))
    found = findings()
    missing = {what: finding for what, finding in found.items() if not finding.fine}
    assert set(missing) == {"compiler", "CuPy", "GPU"}
    assert missing["CuPy"].text.endswith(f"\n  pip install -e '{places.ROOT}[cuda13]'")
    lines = command("doctor")[1].splitlines()
    assert f"  pip install -e '{places.ROOT}[cuda13]'" in lines, "whole, to be copied"
    assert missing["GPU"].text == "No CUDA device: none.", "the advice is the command's own"
    assert missing["compiler"].text == "no CUDA compiler; looked at\n  PATH: not found"
    assert {finding.needed_for for finding in missing.values()} == {
        "run, check, build", "times; without it run and check count on the simulator",
    }  # fmt: skip
    assert re.fullmatch(r"runs PTX on \d+ CPU cores; \S+ [\d.]+", found["simulator"].text)


def test_folders_that_cannot_be_written_are_missing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.root / "cache").write_text("a file in the folder's place")
    found = findings()["build cache"]
    assert not found.fine
    assert "cannot be written: Not a directory" in found.text
    assert findings()["runs"].fine
    assert not (project.root / "results" / "runs").exists(), "looking makes no folders"


def test_broken_kernels_are_told(project: Project) -> None:
    (project.root / "kernels" / "softmax" / "calls.py").write_text("1 / 0\n")
    found = findings()["kernels and suites"]
    assert not found.fine
    assert "calls.py:1: cannot be imported: ZeroDivisionError" in found.text


def test_the_command_ends_with_1_where_something_is_missing(
    project: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "version", lambda package: "14.2.0")
    for expected in (0, 1):
        code, out, _ = command("doctor")
        assert (code, "missing" in out) == (expected, bool(expected))
        (project.root / "cache").write_text("")


def test_every_shipped_suite_and_kernel_is_listed(here: Path) -> None:
    assert {row[0] for row in listing.list_suites().rows} == {path.stem for path in places.SUITES.glob("*.yaml")}
    kernels = [row[1] for row in listing.list_kernels().rows]
    assert kernels == [name for found in load_catalog().implementations.values() for name in found]
    assert "ft" in kernels


@pytest.mark.usefixtures("judged_once")
@pytest.mark.parametrize("kind", listing.KINDS)
def test_every_cell_is_a_text_below_a_header(kind: str, here: Path) -> None:
    table = listing.KINDS[kind]()
    assert table.title
    for row in table.rows:
        assert len(row) == len(table.header)
        assert all(isinstance(cell, str) for cell in row)


def test_without_a_gpu_only_the_known_ones_are_listed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelbench.devices.open_device", raising(NoDevice("No CUDA device: none.\n\nadvice")))
    table = listing.list_devices()
    assert [row[0] for row in table.rows] == list(KNOWN)
    assert table.note == (
        "No CUDA device: none. The GPUs above are known to `plan --gpu`, `build --gpu` and the simulator "
        "(`run --device simulated:NAME`)."
    )


def test_the_gpu_here_comes_first(project: Project) -> None:
    assert listing.list_devices().rows[0] == ("cuda:0", "NVIDIA H200", "sm_90", "132", "4814")


def test_runs_are_listed_with_their_state_and_damaged_ones_too(here: Path) -> None:
    for name, finished in (("20260101-a-s", "now"), ("20260201-a-s", None)):
        store = Store(here / "results" / "runs" / name)
        started = "2026-05-04T12:30:00+00:00"
        store.write_environment({"device": {"name": "Some GPU"}, "started": started, "finished": finished})
        one = {**ROW, "case": "a"}
        store.append([one, {**one, "implementation": "warp"}, {**ROW, "case": "b"}], [])
    shipped = Store(here / "results" / "h200" / "s")
    shipped.write_environment({"finished": "now"})
    damaged = here / "results" / "runs" / "20250101-a-s"
    Store(damaged).write_environment({})
    (damaged / "results.csv").write_text("not a table\n")
    rows = listing.list_runs().rows
    assert rows[0] == ("20260201-a-s", "Some GPU", "2026-05-04 12:30", "2", "not finished; --resume goes on")
    assert rows[1] == ("20260101-a-s", "Some GPU", "2026-05-04 12:30", "2", "")
    assert rows[2][0] == "20250101-a-s"
    assert rows[2][4].startswith(f"cannot be read: {damaged}/results.csv")
    assert rows[3][:2] == ("h200/s", "an unknown GPU")


@pytest.mark.usefixtures("judged_once")
def test_every_entry_of_the_ledger_is_a_line_of_claims(here: Path) -> None:
    assert sorted(row[0] for row in listing.list_claims().rows) == sorted(
        path.stem for path in places.LEDGER.glob("*.yaml")
    )


@pytest.mark.usefixtures("judged_once")
def test_entries_without_a_verdict_are_explained_as_they_look(here: Path) -> None:
    table = listing.list_claims()
    assert "" in {row[-1] for row in table.rows}
    assert "no verdict: figures without a claim" in table.note


def test_list_without_a_word_counts_everything(project: Project, command: Command) -> None:
    code, out, _ = command("list")
    counts = re.findall(r"^ (\w+) +(\d+) ", out, re.MULTILINE)
    assert (code, [kind for kind, _ in counts]) == (0, list(listing.KINDS))
    assert ("claims", str(len(list(places.LEDGER.glob("*.yaml"))))) in counts


def test_a_broken_suite_is_told_by_list_too(project: Project) -> None:
    project.suite("good, nobody")
    with pytest.raises(InputError, match=r"small\.yaml:5: unknown implementation 'nobody'"):
        listing.list_suites()
