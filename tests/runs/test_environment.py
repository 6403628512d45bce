"""What a run keeps of where, when and with what it was made."""

import json
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core import places
from kernelbench.core.libraries import PEER_PACKAGES
from kernelbench.core.records import Case, Suite
from kernelbench.planning.catalog import load_catalog
from kernelbench.runs import environment
from tests.conftest import LIMITS

SUITE = Suite("s", Path("s.yaml"), "A title", "softmax", (Case("softmax", (1, 2), -1, "float32"),), ("naive",), "naive")


def start(arguments: tuple[str, ...]) -> dict[str, Any]:
    return environment.start_environment(SUITE, (), None, {"name": "GPU"}, LIMITS, {}, 7, arguments)


def test_the_environment_is_json_and_tells_when_and_with_what() -> None:
    state = start(("run", "s"))
    assert json.loads(json.dumps(state)) == state
    assert (state["suite"], state["title"], state["seed"], state["baseline"]) == ("s", "A title", 7, "naive")
    assert state["command"] == "kernelbench run s"
    assert state["finished"] is None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", state["started"])
    assert state["versions"]["numpy"] == metadata.version("numpy")
    assert state["limits"]["dram_copy"] == "copy_4"


def test_absent_packages_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "PACKAGES", ("numpy", "a_package_that_is_not_there"))
    assert set(start(())["versions"]) == {"python", "numpy"}


def test_every_peer_has_packages_whose_versions_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = {
        name.partition("_")[0]
        for known in load_catalog().implementations.values()
        for name, one in known.items()
        if one.role == "peer"
    }
    assert peers == set(PEER_PACKAGES)
    monkeypatch.setattr(metadata, "version", lambda package: f"9 of {package}")
    noted = start(())["versions"]
    assert {package for one in peers - {"cub"} for package in PEER_PACKAGES[one]} <= set(noted)
    assert noted["quack-kernels"] == "9 of quack-kernels"
    assert "cub" not in noted, "which comes with the compiler, not from a package"


def test_the_command_can_be_pasted_and_names_no_place_of_this_machine() -> None:
    arguments = ("run", f"{places.ROOT}/suites/softmax.yaml", "--filter", "seq>=128")
    assert environment.command_text(arguments) == "kernelbench run suites/softmax.yaml --filter 'seq>=128'"


def test_implementations_are_kept_with_whose_they_are() -> None:
    found = environment.describe_implementations(load_catalog().implementations["softmax"].values())
    assert found["ft"]["origin"]["project"] == "NVIDIA/FasterTransformer"
    assert found["ft"]["arithmetic"] == "fast"
    assert found["copy"]["role"] == "yardstick"
    assert json.loads(json.dumps(found)) == found


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_commit_is_named_and_marked_where_files_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PACKAGE", tmp_path / "kernelbench")
    monkeypatch.delenv("KERNELBENCH_COMMIT", raising=False)
    assert environment.git_commit() is None
    monkeypatch.setenv("KERNELBENCH_COMMIT", "0123456789ab")
    assert environment.git_commit() == "0123456789ab", "a tree without its history"
    git(tmp_path, "init", "-q")
    assert environment.git_commit() == "0123456789ab", "a copy that has a .git, and nothing in it"
    monkeypatch.delenv("KERNELBENCH_COMMIT")
    assert environment.git_commit() is None, "a checkout without a commit"
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "one")
    commit = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert environment.git_commit() == commit
    (tmp_path / "not_tracked").write_text("")
    assert environment.git_commit() == commit
    (tmp_path / "file").write_text("two")
    assert environment.git_commit() == f"{commit}-dirty"
    monkeypatch.setenv("KERNELBENCH_COMMIT", "0123456789abcdef")
    assert environment.git_commit() == "0123456789ab", "a copy whose git is older than its files"
