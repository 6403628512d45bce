"""Every command that a page shows is run without a GPU, or named here with the reason why not.

The commands of a page run in their order, in a folder that holds the files the page says to save. On pages that are
followed step by step, a `text` block shows what the commands above it print.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from kernelbench.core import places
from tests.conftest import Command

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SAVED = re.compile(r"(?://|#) (\S+\.(?:cu|yaml))\n")
QUICK = ("cli", "comparing-runs", "tuning")  # a page that is not named here is exhaustive
FOLLOWED = ("tutorial", "writing-a-kernel", "writing-a-suite")

# What is not run: a part of the command, and the reason.
LEFT_OUT = {
    "python3 -m venv": "installs; .ci/run does so with README's line",
    ". .venv/bin/activate": "installs; .ci/run does so with README's line",
    "pip install": "installs; .ci/run does so with README's line",
    "pytest": "runs tests",
    ".ci/run": "runs tests",
    "ruff check": "a step of .ci/run",
    "mypy": "a step of .ci/run",
    "kernelbench explain --ncu-rep": "needs a report of Nsight Compute; tests/walks/test_explain.py reads one",
    "kernelbench simulate tensors.cu": "tests/cli/test_simulate.py runs it where the file lies",
    "kernelbench simulate scan.cu": "tests/cli/test_simulate.py runs it where the file lies",
    "python -m hatchling": "tests/test_packaging.py builds both",
    "http.server": "serves until it is stopped",
    "python docs/": "tests/test_docs.py compares every made page, .ci/run builds the site",
    "tests/reliability/fuzz.py": "takes long; tests/reliability runs a few of each kind",
    "kernelbench tune": "needs a GPU: candidates are timed",
    "--self-test": "needs a GPU: counts have no noise",
}
# Pages that other tests run, most of them since they need more than one folder of one host.
ELSEWHERE = {
    "README": "tests/test_packaging.py: from the wheel, in a checkout and in an empty folder",
    "many-gpus": "tests/fleet: simulated GPUs, and a cluster by the commands of the page, over TLS",
    "ci-gate": "tests/walks/test_ci_files.py and test_gate.py: two checkouts",
}
# What is run on less, since all of it takes minutes on the simulator: a command, and the options that it gets. Other
# commands of these pages make the page of a run.
SHORTER = {
    "kernelbench run softmax --device simulated": "--filter seq=16 --only naive,ft --no-report",
    "kernelbench run softmax": "--filter seq=16 --only naive,ft --no-report",
    "kernelbench run softmax --quick": "--filter seq=16 --only naive,ft --no-report",
    "kernelbench run softmax --counters --quick": "--filter seq=16 --only naive,ft --no-report",
    "kernelbench check softmax --device simulated --strict": "--filter seq=16 --only naive,ft",
    "kernelbench check softmax --specimens": "--filter seq=16 --only naive --inputs normal",
    "kernelbench explain softmax": "--filter seq=16 --only naive,ft",
    "kernelbench run softmax --only oneflow,copy --no-report --out before": "--filter seq=16",
    "kernelbench run softmax --only oneflow,copy --no-report --out after": "--filter seq=16",
    "kernelbench run long_rows.yaml": "--filter columns=1024 --only naive,copy --no-report",
    "kernelbench check layer_norm": "--only naive --inputs normal --filter columns=1024",
    "kernelbench run layer_norm --filter columns=1024": "--only naive,copy --no-report",
    "kernelbench explain layer_norm --filter columns=1024,dtype=float32": "--only naive,copy",
}
# What ends otherwise without a GPU: a part of the command, and the exit codes that are right.
WITHOUT_GPU = {
    "kernelbench doctor": (0, 1),
    "kernelbench compare before after": (2,),
    "kernelbench compare results/h200/softmax before": (2,),
}


def pages() -> list[Path]:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    return sorted(path for path in found if "\n```bash\n" in path.read_text() and path.stem not in ELSEWHERE)


def commands(block: str) -> list[str]:
    """The commands of a bash block, each with its comment."""
    found = []
    for line in block.splitlines():
        command, mark, comment = line.partition("#")
        found += [f"{part.strip()}  {mark}{comment}".strip() for part in command.split(" && ") if part.strip()]
    return found


def all_commands() -> list[str]:
    fences = [fence for page in pages() for fence in FENCE.findall(page.read_text())]
    return [line for language, text in fences if language == "bash" for line in commands(text)]


def left_out(line: str) -> bool:
    return any(part in line for part in LEFT_OUT)


def shorter(line: str) -> str:
    command = line.partition("#")[0].strip()
    return f"{command} {SHORTER.get(command, '')}"


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`kernelbench` is a copy of this checkout, so that runs without a folder are written there; no GPU is seen."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("kernelbench", "kernels", "suites", "results", "tests/specimens"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(copy / "results" / "runs", ignore_errors=True)
    program = copy / "bin" / "kernelbench"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernelbench "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(copy), "CUDA_VISIBLE_DEVICES": ""}


def ran(line: str, folder: Path, environment: dict[str, str]) -> str:
    """What the command prints. Its exit code has to be the one that the page states, else that of the table, else 0."""
    done = subprocess.run(
        ["bash", "-c", shorter(line)], capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    codes = next((codes for part, codes in WITHOUT_GPU.items() if part in line), (0,))
    if stated := re.search(r"# exits with (\d)", line):
        codes = (int(stated[1]),)
    assert done.returncode in codes, f"{line}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, f"{line}\n{done.stderr}"
    return done.stdout + done.stderr


def params(paths: Iterable[Path]) -> list[object]:
    return [
        pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.exhaustive) for path in paths
    ]


@pytest.mark.nvcc
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", params(pages()))
def test_commands_do_what_the_page_says(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "results").symlink_to(Path(environment["PYTHONPATH"]) / "results")  # readers are in a checkout
    said = ""
    for language, text in FENCE.findall(page.read_text()):
        if language == "bash":
            said = "".join(ran(line, tmp_path, environment) for line in commands(text) if not left_out(line))
        elif named := SAVED.match(text):
            (tmp_path / named[1]).write_text(text)
        elif language == "text" and page.stem in FOLLOWED:
            assert [line for line in text.splitlines() if words(line) not in words(said)] == []


@pytest.mark.parametrize("part", [*LEFT_OUT, *SHORTER, *WITHOUT_GPU])
def test_no_entry_outlives_its_command(part: str) -> None:
    assert any(part in line for line in all_commands())


def claimed_suites() -> list[str]:
    """The suites that pages of claims say to run."""
    texts = [path.read_text() for path in (ROOT / "docs" / "claims").glob("*.md")]
    return sorted(
        {line.split()[-1] for text in texts for line in re.findall(r"^kernelbench run .+", text, re.MULTILINE)}
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("suite", claimed_suites())
def test_commands_of_claims_work(suite: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run` of every suite takes an hour on the simulator: it is planned in its place."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "runs", lambda: tmp_path / "runs")
    for name in ("plan", "compare"):
        code, _, messages = command(name, suite)
        assert (code, "Traceback" in messages) == (0, False), messages


def test_a_kernel_of_ones_own_takes_a_file_and_two_commands() -> None:
    (_, file), (language, block) = FENCE.findall((ROOT / "docs" / "writing-a-kernel.md").read_text())[:2]
    assert SAVED.match(file)
    assert language == "bash"
    assert [line.split()[1] for line in commands(block)] == ["check", "run"]
