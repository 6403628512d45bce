"""The command line: help, options, errors and exit codes, tables that fit, and how quickly it starts."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kernelbench import __version__
from kernelbench.cli.commands import cli
from kernelbench.core.errors import NoCompiler
from kernelbench.devices import NO_DEVICE_ADVICE
from tests.conftest import Command, Project
from tests.endings import ended, printed, refused
from tests.fake_gpu import raising
from tests.processes import ROOT, python
from tests.test_architecture import HEAVY

COMMANDS = list(cli.commands)
WIDTH = 100


def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python as a process of its own, to which no GPU is visible."""
    return python(*arguments, CUDA_VISIBLE_DEVICES="", **environment)


def one_message(done: subprocess.CompletedProcess[str]) -> str:
    """What stderr says of a mistake: nothing else was printed, and no traceback."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_the_commands_are_those_of_the_walk_in_its_order(command: Command) -> None:
    out = printed(command("--help"))
    listed = re.findall(r"^  (\w+)  ", out[out.index("Commands:") :], re.MULTILINE)
    commands = "run compare gate history report explain check plan build simulate list new tune worker doctor"
    assert " ".join(listed) == commands
    assert listed == COMMANDS
    assert "kernelbench run suites/softmax.yaml" in out
    assert "Exit codes: 0 fine" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, command: Command) -> None:
    out = printed(command(name, "--help"))
    assert out.startswith(f"Usage: kernelbench {name} ")
    assert command(name, "-h")[1] == out
    assert f"kernelbench {name}" in out[out.index("Examples:") :]
    assert max(map(len, out.splitlines())) <= WIDTH


def test_every_help_begins_with_what_the_command_does() -> None:
    verbs = "Build Show Measure Say Write Say Verify Print Compile Run List Write Search Lend Check"
    assert " ".join((cli.commands[name].help or "").split()[0].strip(",") for name in COMMANDS) == verbs


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(name: str) -> None:
    options = [one for one in cli.commands[name].params if isinstance(one, click.Option)]
    assert [one.opts[0] for one in options if not (one.help or "").endswith((".", "]"))] == []


def test_without_a_command_the_help_is_shown(command: Command) -> None:
    assert printed(command()) == printed(command("--help"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("run softmax --device tpu", "--device tpu: unknown device; expected auto, cuda or cuda:N, as in cuda:1"),
        ("check softmax --device cuda:x", "--device cuda:x: unknown device; expected auto, cuda or cuda:N, as in"),
        ("run softmax --cache hot", "--cache hot: unknown cache state 'hot'; expected cold, warm or cold,warm"),
        ("compare --cache cold,lukewarm", "--cache cold,lukewarm: unknown cache state 'lukewarm'; expected"),
        ("plan softmax --gpu k80", "--gpu k80: unknown GPU; expected one of v100, v100-pcie, t4,"),
        ("build softmax --gpu k80", "--gpu k80: unknown GPU; expected one of v100, v100-pcie, t4,"),
        ("plan softmax --only naive,fft", "suite 'softmax' has no implementation 'fft'; did you mean 'ft'?"),
        ("plan softmax --filter seq=17", "no case of suite 'softmax' has seq=17; seq is 16, 32, 64, 128, 512, 1024"),
        ("plan softmax --filter seq", "filter 'seq' cannot be read; expected a term such as 'seq=512'"),
        ("plan softmx", "no suite 'softmx'; did you mean 'softmax'?"),
        ("run softmax nowhere/softmx.yaml", "no suite 'nowhere/softmx.yaml'; did you mean 'softmax'?"),
        ("run softmax softmax_half --out x", "--out x: one folder holds one suite, but 2 were named"),
        ("compare nothere", "no run 'nothere': neither a run's folder nor the name of a run or suite"),
        ("report nothere", "no run 'nothere': neither a run's folder nor the name of a run or suite"),
        ("compare", "there is no run yet; `kernelbench run suites/softmax.yaml` makes one"),
        ("report", "there is no run yet; `kernelbench run suites/softmax.yaml` makes one"),
        ("build softmax --nvcc nowhere/nvcc", "no CUDA compiler (nvcc); looked at\n  --nvcc nowhere/nvcc: not found"),
    ],
)
def test_a_wrong_option_is_one_message_and_exit_code_2(arguments: str, said: str, here: Path, command: Command) -> None:
    err = refused(command(*arguments.split()))
    assert err.startswith(said)
    assert len(err.splitlines()) <= 1 or "nvcc" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("frob", "No such command 'frob'."),
        ("run", "Missing argument 'SUITE...'."),
        ("run softmax --sed 7", "--sed"),
        ("run softmax --seed x", "'x' is not a valid integer range."),
        ("run softmax --seed -1", "-1 is not in the range 0<=x<=2147483646."),
        ("list suits", "'suits' is not one of 'suites', 'kernels', 'devices', 'runs', 'claims'."),
        ("doctor extra", "Got unexpected extra argument (extra)"),
        ("report --out .", "File '.' is a directory."),
    ],
)
def test_what_click_refuses_ends_alike(arguments: str, said: str, here: Path, command: Command) -> None:
    err = refused(command(*arguments.split()))
    assert said in err
    assert err.startswith("Usage: kernelbench ")


def test_an_unknown_baseline_is_told_with_those_there_are(project: Project, command: Command) -> None:
    assert command("run", project.suite("good, other"), "--quick", "--no-report")[0] == 0
    for name in ("compare", "report"):
        _, err = ended(2, command(name, "--baseline", "goood"))
        assert err.startswith("--baseline goood: ")
        assert "good" in err.removeprefix("--baseline goood")
        assert len(err.splitlines()) == 1


def test_an_unknown_implementation_is_told(project: Project, command: Command) -> None:
    assert command("run", project.suite("good, other"), "--quick", "--no-report")[0] == 0
    _, err = ended(2, command("compare", "--only", "good,othr"))
    assert err == "--only good,othr: the run has no 'othr'; did you mean 'other'?\n"


def test_the_help_crops_no_sentence() -> None:
    for width in (80, 100):
        shown = subprocess.run(
            [sys.executable, "-m", "kernelbench", "--help"],
            capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": str(width)},
        ).stdout  # fmt: skip
        assert "..." not in shown.partition("Options:")[2], "a summary of a command is cut off"
        assert max(map(len, shown.splitlines())) <= width


def test_a_damaged_run_is_named(project: Project, command: Command) -> None:
    assert command("run", project.suite("good"), "--quick", "--no-report")[0] == 0
    path = project.runs[0] / "environment.json"
    path.write_text(path.read_text()[:100])
    for name in ("compare", "report"):
        _, err = ended(2, command(name))
        assert err.startswith(f"{path}: cannot be read (")


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ("run small --quick --no-report --out file/run", "file/run"),
        ("compare --out file/x", "file/x"),
        ("report --out file/x/page.html", "file/x"),
        ("report --out file/page.html", "file"),
    ],
)
def test_a_place_that_cannot_be_written_is_told(arguments: str, place: str, project: Project, command: Command) -> None:
    assert command("run", project.suite("good, other", columns="[8]"), "--quick", "--no-report")[0] == 0
    (project.root / "file").write_text("not a folder")
    _, err = ended(2, command(*arguments.split()))
    assert re.search(rf"^{place}: cannot write .*(Not a directory|File exists)", err, re.MULTILINE), err
    assert "Traceback" not in err


BAD = """\
titel: Wrong in every line
operation: softmax
shape: [0, sqe, seq]
axes:
  seq: []
  rows: [16, "x"]
dtype: float31
implementations: [ft, oneflw]
baseline: 7
"""


@pytest.mark.parametrize("name", ["run", "plan"])
def test_all_mistakes_of_a_suite_are_told_at_once_with_their_lines(name: str, here: Path, command: Command) -> None:
    Path("bad.yaml").write_text(BAD)
    err = refused(command(name, "bad.yaml"))
    places_told = [line.split(": ")[0] for line in err.splitlines()]
    assert {f"bad.yaml:{line}" for line in (1, 3, 5, 6, 7, 8, 9)} <= set(places_told)
    assert all(place.startswith("bad.yaml:") for place in places_told)
    assert "unknown key 'titel'; did you mean 'title'?" in err
    assert "unknown implementation 'oneflw'; did you mean 'oneflow'?" in err


@pytest.mark.parametrize("name", ["run", "check"])
def test_without_a_gpu_it_is_said_what_still_works(name: str) -> None:
    message = one_message(start("-m", "kernelbench", name, "suites/softmax.yaml", "--device", "cuda"))
    assert message.startswith("No CUDA device: ")
    assert message.endswith(f"\n\n{NO_DEVICE_ADVICE}\n")


def test_without_nvcc_it_is_said_where_it_was_sought(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    clean = {"PATH": str(tmp_path / "empty"), "CUDA_HOME": "", "CUDA_PATH": "", "KERNELBENCH_CACHE": str(tmp_path)}
    code = "import sys; sys.modules['nvidia'] = None; sys.argv[0] = 'kernelbench'\n"
    code += "import kernelbench.cli.commands as c; c.main()"
    done = start("-c", code, "build", "softmax", **clean)
    if done.returncode == 0:
        pytest.skip("nvcc lies where it is found without PATH")
    message = one_message(done)
    assert message.startswith("no CUDA compiler (nvcc); looked at\n")
    assert "[nvcc]'" in message


def test_a_gpu_without_nvcc_ends_before_anything_is_measured(
    project: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = NoCompiler("no CUDA compiler (nvcc); looked at ..")
    monkeypatch.setattr("kernelbench.build.find_compiler", raising(missing))
    code, out, err = command("run", project.suite("good"))
    assert (code, out, err) == (2, "", "no CUDA compiler (nvcc); looked at ..\n")
    assert project.device.fills == []
    assert project.runs == []


@pytest.mark.parametrize(
    ("arguments", "reader"),
    [
        *((arguments, "true") for arguments in ("list kernels", "plan softmax_bert", "--help", "plan --help")),
        ("list kernels", "head -n 1"),
        pytest.param("list claims", "head -n 1", marks=pytest.mark.exhaustive),
    ],
)
def test_a_reader_that_goes_away_is_told_by_the_exit_code_alone(arguments: str, reader: str) -> None:
    line = f"'{sys.executable}' -m kernelbench.cli.commands {arguments} | {reader}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 141 or (done.returncode == 0 and reader != "true"), "head may take all that there is"
    assert done.stderr == ""


def tables(text: str) -> list[str]:
    """Lines without those that name a file or a compiler's flags, which nobody folds."""
    return [line for line in text.splitlines() if "/" not in line and not re.match(r"\d+ binaries", line)]


@pytest.mark.usefixtures("judged_once")
@pytest.mark.parametrize(
    "arguments",
    [
        "list suites", "list kernels", "list devices", "list runs", "list claims", "doctor", "plan softmax",
        "plan softmax_bert --gpu t4", "plan softmax_oneflow_regimes --only oneflow --filter columns>=8192",
    ],
)  # fmt: skip
def test_tables_fit_100_columns(arguments: str, here: Path, command: Command) -> None:
    code, out, _ = command(*arguments.split())
    assert code == 0 or arguments == "doctor"
    found = tables(out)
    assert len(found) > 5
    assert max(map(len, found)) <= WIDTH, max(found, key=len)


def test_tables_of_a_run_fit_100_columns(project: Project, command: Command) -> None:
    suite = project.suite("good, other, compiled, broken")
    for words in (
        ("run", suite, "--quick", "--no-report"), ("compare",), ("check", suite, "--specimens"), ("build", suite),
        ("compare", "--baseline", "other", "--cache", "cold,warm"), ("list",),
    ):  # fmt: skip
        found = tables(command(*words)[1])
        assert len(found) > 5
        assert max(map(len, found)) <= WIDTH, max(found, key=len)


def test_compare_writes_its_tables_only_where_it_is_told(project: Project, command: Command) -> None:
    assert command("run", project.suite("good, other"), "--quick", "--no-report")[0] == 0
    (folder,) = project.runs
    assert not (folder / "report.html").exists()
    before = {path: path.read_bytes() for path in folder.rglob("*")}
    out, _ = ended(0, command("compare", "--only", "other"))
    assert f"Comparing within your newest run, {folder.name}" in out
    assert {path: path.read_bytes() for path in folder.rglob("*")} == before
    elsewhere = project.root / "elsewhere"
    out, _ = ended(0, command("compare", folder, "--out", elsewhere))
    assert f"written to {elsewhere}" in out
    assert {path.name for path in elsewhere.iterdir()} == {"comparison.csv", "claims.csv", "claims.json"}
    assert json.loads((elsewhere / "claims.json").read_text()) is not None


def test_build_shows_registers_and_what_does_not_compile(project: Project, command: Command) -> None:
    out, _ = ended(0, command("build", project.suite("good, compiled")))
    assert "compiled" in out
    assert "29" in out, "registers"
    assert "1 binary for NVIDIA H200 (sm_90): 1 compiled, 0 from the cache" in out
    out, _ = ended(1, command("build", project.suite("good, compiled, broken")))
    assert "REFUSE" in out
    assert "2 binaries for NVIDIA H200 (sm_90): 0 compiled, 1 from the cache, 1 failed" in " ".join(out.split())
    out, _ = ended(0, command("build", project.suite("good")))
    assert out == "Nothing to compile for NVIDIA H200 (sm_90).\n"


def test_plan_shows_launches_and_refusals(project: Project, command: Command) -> None:
    out, _ = ended(0, command("plan", project.suite("good, compiled"), "--gpu", "a100"))
    assert "small on NVIDIA A100-PCIE-40GB (sm_80, 108 SMs)" in out
    assert "k<<<1, 32>>>" in out
    assert "library call" in out
    assert "unsupported: columns must be" in re.sub(r"\s+", " ", out)


def test_help_comes_at_once() -> None:
    """In seconds of a CPU, which are those of a clock where nothing else runs."""

    def seconds() -> float:
        began = os.times()
        assert start("-m", "kernelbench.cli.commands", "--help").returncode == 0
        ended = os.times()
        return ended.children_user + ended.children_system - began.children_user - began.children_system

    assert any(seconds() < 0.3 for _ in range(5))


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = "import sys, kernelbench.cli.commands as c\ntry: c.main()\nfinally: print(*sys.modules, file=sys.stderr)"
    loaded = {name.split(".")[0] for name in start("-c", code, *arguments).stderr.split()}
    assert "click" in loaded
    assert loaded & (HEAVY | {"numpy", "yaml", "pynvml"}) == set()


def test_the_package_can_be_run_as_a_module() -> None:
    done = start("-m", "kernelbench", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"kernelbench, version {__version__}\n", "")
