"""A user's Python that ends the process, takes for ever, forks or changes signal handlers: an error that names its
file, or nothing at all."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernelbench.core import places
from tests.processes import ROOT, python

ENDS = ["os._exit(0)", "os.execv('/bin/true', ['true'])", "raise Odd"]
HEAD = "import atexit, os, signal, sys, threading, time\nclass Odd(BaseException): pass\n"
PLAN = """
_old = plan
def plan(case, device):
    {code}
    return _old(case, device)
IMPLEMENTATIONS = (dataclasses.replace(IMPLEMENTATIONS[0], plan=plan),)
"""
COMMAND = """
import sys
from kernelbench.planning import guarded, user_code
user_code.limit_user_code.__wrapped__.__defaults__ = (0.4,)
guarded.LIMIT_S, user_code.GRACE_S = 0.4, 0.8
sys.argv = ["kernelbench", *sys.argv[1:]]
from kernelbench.__main__ import main
main()
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "softmax").mkdir()
    source = places.KERNELS / "softmax" / "naive.cu"
    (tmp_path / "softmax" / "mine.cu").write_text(source.read_text())
    return tmp_path


def written(own: Path, at_import: str = "", in_plan: str = "pass") -> None:
    text = (places.KERNELS / "softmax" / "naive.py").read_text().replace('"naive"', '"mine"')
    text += f"import dataclasses\n{HEAD}{at_import}\n{PLAN.format(code=in_plan)}"
    (own / "softmax" / "mine.py").write_text(text)


def planned(own: Path) -> subprocess.CompletedProcess[str]:
    """`kernelbench plan` with limits of less than a second."""
    words = ["plan", "softmax", "--filter", "seq=512", "--only", "naive,mine", "--kernels", str(own)]
    return python("-c", COMMAND, *words)


def rows(done: subprocess.CompletedProcess[str]) -> str:
    return re.sub(r"\s+", " ", done.stdout)


@pytest.mark.parametrize("code", [*ENDS, "while True: pass"])
def test_an_import_that_ends_the_process_or_never_ends_is_an_error_of_its_file(own: Path, code: str) -> None:
    written(own, at_import=code)
    done = planned(own)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(rf"{own}/softmax/mine\.py:\d+: cannot be imported: ", done.stderr), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("code", [ENDS[0], "time.sleep(100)"])
def test_a_plan_that_ends_the_process_or_never_ends_costs_its_own_rows(own: Path, code: str) -> None:
    written(own, in_plan=code)
    done = planned(own)
    assert done.returncode == 0, done.stderr
    assert "softmax_naive_f32<<<4096, 256>>>" in done.stdout
    assert "its plan raised" in rows(done)


def test_code_that_never_comes_back_to_python_is_ended_and_its_place_is_told(own: Path) -> None:
    written(own, in_plan="sum(range(10**14))")
    done = planned(own)
    assert done.returncode == 1
    assert "softmax/mine.py" in done.stderr


@pytest.mark.parametrize(
    "code",
    [
        "os.fork() or time.sleep(8)",
        "threading.Thread(target=time.sleep, args=(8,)).start()",
        "atexit.register(os._exit, 0)",
    ],
)
def test_what_is_left_running_neither_goes_on_as_the_command_nor_keeps_it(own: Path, code: str) -> None:
    written(own, at_import=code)
    words = ["plan", "softmax", "--filter", "seq=512", "--only", "naive,absent", "--kernels", str(own)]
    command = [sys.executable, "-m", "kernelbench", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
        assert process.wait(7) == 2, "of the name that is not there"


@pytest.mark.parametrize(
    ("at_import", "in_plan"),
    [
        ("os.fork()", "os.fork()"),
        ("", "child = os.fork() or os._exit(7); assert os.waitpid(child, 0)[1] == 7 << 8"),
    ],
)
def test_a_forked_child_ends_as_it_likes_and_is_no_second_command(own: Path, at_import: str, in_plan: str) -> None:
    written(own, at_import, in_plan)
    done = planned(own)
    assert done.returncode == 0, done.stderr
    assert "its plan raised" not in rows(done)
    assert done.stdout.count("softmax on NVIDIA H200") == 1


def test_signal_handlers_are_put_back(own: Path) -> None:
    ignored = "; ".join(f"signal.signal(signal.{name}, signal.SIG_IGN)" for name in ("SIGINT", "SIGTERM", "SIGHUP"))
    written(own, at_import=ignored, in_plan="os.kill(os.getpid(), signal.SIGTERM); time.sleep(0.3)")
    done = planned(own)
    assert (done.returncode, done.stderr) == (143, "\nStopped.\n")
