"""The shipped CI files: their commands are run in order, as the services run them, in a repository with two versions.

No service takes part: what each provides is a checkout, variables and a shell.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "docs" / "ci"
COMMENT = ("// mine: your own", "// mine, in other words: your own")
WRONG = ("return x;", "return x + x;")
each_service = pytest.mark.parametrize("service", ["github-actions", "gitlab-ci"])


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass
class Job:
    """The workspace of a job: exit code and output of each command until one fails."""

    folder: Path
    environment: dict[str, str]

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        shell = ["bash", "-eo", "pipefail", "-c", command]
        return subprocess.run(
            shell, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=240
        )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a kernel of its own, the installed kernelbench, and a branch to be merged."""
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "-q")
    made = kernelbench(folder, "new", "copy/mine")
    assert made.returncode == 0, made.stderr
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "a kernel")
    return folder


def kernelbench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kernelbench", *arguments]
    return subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)


def environment(folder: Path) -> dict[str, str]:
    """No GPU is visible, and `kernelbench` is a command."""
    commands = folder.parent / "bin"
    commands.mkdir(exist_ok=True)
    command = commands / "kernelbench"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernelbench "$@"\n')
    command.chmod(0o755)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}


def merged(repository: Path, change: tuple[str, str]) -> str:
    """The commit that a branch with `change` begins from; HEAD is its merge commit."""
    base = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-qb", "change")
    source = repository / "kernels" / "copy" / "mine.cu"
    text = source.read_text()
    assert change[0] in text
    source.write_text(text.replace(*change))
    git(repository, "commit", "-qam", "a change")
    git(repository, "checkout", "-q", "-")
    git(repository, "merge", "-q", "--no-ff", "-m", "merged", "change")
    return base


def job_of(service: str, repository: Path, base: str) -> tuple[Job, list[str]]:
    """A workspace as the service makes it, and the commands that must all succeed."""
    workspace = repository.parent / "workspace"
    known = environment(repository)
    document = yaml.safe_load((FILES / f"{service}.yml").read_text())
    if service == "github-actions":
        steps = document["jobs"]["gate"]["steps"]
        depth = str(steps[0]["with"]["fetch-depth"])
        git(
            repository,
            "clone",
            "-q",
            "--depth",
            depth,
            f"file://{repository}",
            str(workspace / steps[0]["with"]["path"]),
        )
        commands = [step["run"] for step in steps if "run" in step and "if" not in step]
        return Job(workspace, {**known, "GITHUB_STEP_SUMMARY": str(workspace / "summary.md")}), commands
    git(repository, "clone", "-q", f"file://{repository}", str(workspace))
    return Job(workspace, {**known, "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}), document["kernels"]["script"]


@pytest.mark.exhaustive
@pytest.mark.nvcc
@each_service
def test_a_change_of_words_passes_and_a_second_job_in_the_same_workspace_too(service: str, repository: Path) -> None:
    job, commands = job_of(service, repository, merged(repository, COMMENT))
    for _ in range(2):
        for command in commands:
            done = job.run(command)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert "run the same machine code" in (job.folder / "gate.md").read_text()


@pytest.mark.exhaustive
@pytest.mark.nvcc
@each_service
def test_a_kernel_that_breaks_fails_the_job_and_the_result_is_shown(service: str, repository: Path) -> None:
    job, commands = job_of(service, repository, merged(repository, WRONG))
    *before, gate = commands
    for command in before:
        assert job.run(command).returncode == 0
    done = job.run(gate)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "no longer work" in (job.folder / "gate.md").read_text()
    assert (job.folder / "runs" / "copy" / "results.csv").is_file()
    if service == "github-actions":
        later = [step["run"] for step in _steps() if "run" in step and "if" in step]
        assert [job.run(command).returncode for command in later] == [0]
        assert (job.folder / "summary.md").read_text() == (job.folder / "gate.md").read_text()


def _steps() -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = yaml.safe_load((FILES / "github-actions.yml").read_text())["jobs"]["gate"]["steps"]
    return steps


def test_what_is_written_is_what_is_kept() -> None:
    """Names of files are those that the gate is told to write."""
    for path in FILES.glob("*.yml"):
        text = path.read_text()
        (gate,) = re.findall(r"kernelbench gate .*", text)
        markdown, runs = re.findall(r"--(?:markdown|out) (\S+)", gate)
        kept = text[text.index("path") :] if path.stem == "gitlab-ci" else text[text.index("upload-artifact") :]
        assert markdown in kept
        assert runs in kept


def test_the_page_names_both_files() -> None:
    page = (ROOT / "docs" / "ci-gate.md").read_text()
    assert {path.name for path in FILES.glob("*.yml")} == {"github-actions.yml", "gitlab-ci.yml"}
    assert all(f"(ci/{path.name})" in page for path in FILES.glob("*.yml"))
    assert len(page.split()) <= 500
