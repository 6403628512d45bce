"""docs/your-own-kernel.md is followed word by word: its files are written, its commands run, its output compared."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "your-own-kernel.md"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"(?://|#) (\S+)\n")


def steps() -> Iterator[tuple[str, str]]:
    """(language, text) of the page's blocks, in order."""
    yield from _FENCE.findall(PAGE.read_text())


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment in which `kernelbench` is this checkout."""
    program = tmp_path / "bin" / "kernelbench"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernelbench "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


@pytest.mark.exhaustive
@pytest.mark.nvcc
def test_the_tutorial_does_what_it_says(tmp_path: Path, shell: dict[str, str]) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    said = ""
    for language, text in steps():
        if language == "bash":
            said = "".join(ran(line, folder, shell) for line in text.splitlines())
        elif language == "text":
            for line in text.splitlines():
                assert words(line) in words(said)
        else:
            named = _FILE.match(text)
            assert named, f"the first line of a {language} block names its file"
            (folder / named[1]).write_text(text)


def ran(line: str, folder: Path, environment: dict[str, str]) -> str:
    expected = int(match[1]) if (match := re.search(r"# exits with (\d)", line)) else 0
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=folder, env=environment, check=False, timeout=200
    )
    assert done.returncode == expected, f"{line}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


def test_a_file_of_ones_own_takes_two_commands() -> None:
    """The page begins with them."""
    (_, file), (language, commands) = list(steps())[:2]
    assert _FILE.match(file)
    assert language == "bash"
    assert [line.split()[1] for line in commands.splitlines()] == ["check", "run"]
