"""Exit codes tell the truth, and suites are measured, whatever became of standard input, output and error."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelbench.core import places
from tests.endings import refused
from tests.processes import ROOT, python
from tests.reliability.child import Hooks
from tests.reliability.stage import FAKE, Stage

CONDITIONS = [
    ({0: "closed"}, None),
    ({1: "closed"}, None),
    ({2: "closed"}, None),
    ({0: "closed", 1: "closed", 2: "closed"}, None),
    ({1: "full"}, 2),
    ({2: "full"}, None),
    ({1: "unread"}, 141),
    ({2: "unread"}, None),
    ({1: "unread", 2: "unread"}, 141),
]
SMALL = ("--filter", "columns=32")


def named(streams: dict[int, str]) -> str:
    return ",".join(f"{number} {state}" for number, state in streams.items())


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(FAKE, tmp_path, places.cache())


@pytest.mark.parametrize(("streams", "code"), CONDITIONS, ids=[named(one) for one, _ in CONDITIONS])
def test_every_suite_is_measured_and_the_exit_code_is_true(
    streams: dict[int, str], code: int | None, stage: Stage
) -> None:
    first = stage.suite()
    second = first.with_name("second.yaml")
    second.write_text(first.read_text().replace("[good, other]", "[good, other, broken]"))
    words = ("run", first, second, "--device", "cuda", "--quick", "--no-report", *SMALL)
    hooks = Hooks(streams=streams)
    done = stage.command(*words, hooks=hooks).wait()
    assert "Traceback" not in done.err
    runs = sorted((stage.root / "runs").iterdir())
    statuses = [[row["status"] for row in csv.DictReader((run / "results.csv").open())] for run in runs]
    assert [len(one) for one in statuses] == [4, 5]
    assert done.code == (1 if code is None else code)


@pytest.mark.parametrize(("streams", "code"), CONDITIONS[3:], ids=[named(one) for one, _ in CONDITIONS[3:]])
@pytest.mark.parametrize("arguments", ["check", pytest.param("nonsense", marks=pytest.mark.exhaustive)])
def test_other_commands_end_with_a_true_exit_code(
    arguments: str, streams: dict[int, str], code: int | None, stage: Stage
) -> None:
    words = [*arguments.split(), *((stage.suite(), *SMALL) if arguments in ("check", "plan") else ())]
    done = stage.command(*words, hooks=Hooks(streams=streams)).wait()
    assert "Traceback" not in done.err
    own = 2 if arguments == "nonsense" else 0
    assert done.code == (own if code is None or own else code), done.err


def test_a_file_that_is_opened_does_not_take_the_place_of_a_closed_output(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom kernelbench.core import streams\nstreams.prepare()\n"
        f"file = open({str(tmp_path / 'file')!r}, 'w')\nprint('printed'); assert os.system('echo shell') == 0\n"
        "print('more', file=sys.stderr)\nassert sys.stdin.read() == ''\n"
    )
    line = f"'{sys.executable}' -c \"$1\" <&- >&- 2>&-"
    done = subprocess.run(["bash", "-c", line, "bash", script], cwd=ROOT, check=False)
    assert done.returncode == 0
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.parametrize("name", ["ascii", "latin-1", "utf-8"])
def test_characters_that_an_output_does_not_have_are_escaped(name: str) -> None:
    script = "from kernelbench.core import streams; streams.prepare(); print('10 µs ─')"
    environment = {**os.environ, "PYTHONIOENCODING": name}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, cwd=ROOT, env=environment, check=True)
    assert done.stdout.decode(name).strip() in (r"10 \xb5s \u2500", r"10 µs \u2500", "10 µs ─")


def test_tables_are_printed_however_narrow_the_terminal_is() -> None:
    done = python("-m", "kernelbench", "list", "devices", FORCE_COLOR="1", COLUMNS="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "h200" in done.stdout.lower()


@pytest.mark.parametrize(
    "words",
    [["run", "softmax", "--timeout", "nan"], ["compare", "a", "b", "--fail-on", "nan"],
     ["tune", "relu", "--budget", "nan"], ["tune", "relu", "--budget", "9" * 400]],
)  # fmt: skip
def test_a_number_that_is_none_is_refused(words: list[str], command) -> None:  # type: ignore[no-untyped-def]
    err = refused(command(*words))
    assert words[-2] in err
