"""Completion in a shell, asked as the shell asks it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernelbench.core import places

ROOT = Path(__file__).resolve().parent.parent.parent
each_shell = pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])


def complete(instruction: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kernelbench"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "_KERNELBENCH_COMPLETE": instruction, **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def words(shell: str, line: str) -> dict[str, str]:
    """The variables in which click's script of this shell hands over an unfinished line."""
    last = line.rpartition(" ")[2]
    return {"COMP_WORDS": line, "COMP_CWORD": last if shell == "fish" else str(line.count(" "))}


@pytest.mark.skipif(not shutil.which("bash"), reason="click asks bash for its version")
@each_shell
def test_commands_options_and_suites_are_completed(shell: str) -> None:
    for line, expected in (
        ("kernelbench exp", "explain"),
        ("kernelbench run --fil", "--filter"),
        ("kernelbench run softmax_h", "softmax_half"),
    ):
        assert expected in complete(f"{shell}_complete", **words(shell, line)), line
    assert "permute" not in complete(f"{shell}_complete", **words(shell, "kernelbench run softmax_h"))


@pytest.mark.skipif(not shutil.which("bash"), reason="click asks bash for its version")
@each_shell
def test_the_documented_line_gives_a_script(shell: str) -> None:
    assert f"_KERNELBENCH_COMPLETE={shell}_source kernelbench" in (ROOT / "docs" / "cli.md").read_text()
    assert f"_KERNELBENCH_COMPLETE={shell}_complete" in complete(f"{shell}_source")


@pytest.mark.parametrize(
    ("shell", "script"),
    [
        (
            "bash",
            """
eval "$(_KERNELBENCH_COMPLETE=bash_source kernelbench)"
compopt() { :; }  # for a completion that the shell itself began
COMP_WORDS=(kernelbench run softmax_); COMP_CWORD=2
_kernelbench_completion kernelbench
printf '%s\\n' "${COMPREPLY[@]}"
""",
        ),
        ("fish", "_KERNELBENCH_COMPLETE=fish_source kernelbench | source; complete -C 'kernelbench run softmax_'"),
    ],
)
def test_the_documented_line_works_in_the_shell_itself(shell: str, script: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    command = tmp_path / "kernelbench"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernelbench "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([shell, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert {line.split()[0] for line in done.stdout.splitlines()} == {
        path.stem for path in places.SUITES.glob("softmax_*.yaml")
    }
