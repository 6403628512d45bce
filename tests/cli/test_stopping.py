"""Signals: none is lost, each has its exit code, and no program that was started stays behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelbench.core import places
from tests.processes import ROOT, python, until

LOST = """
import os, signal, sys, time, weakref
from kernelbench.cli.stopping import stop_on_signals
finished = []
with stop_on_signals("") as stop:
    try:
        stop.begin()
        {code}
        end = time.monotonic() + 5
        while time.monotonic() < end:
            pass
    except KeyboardInterrupt:
        sys.exit(stop.exit_code if finished else 99)
"""
STUCK = """
import hashlib, os
from pathlib import Path
from kernelbench.core import processes
from kernelbench.cli.stopping import stop_on_signals
with stop_on_signals("At once.\\n") as stop:
    stop.begin()
    print(processes.start(["sleep", "60"], os.environ, Path(os.devnull)).pid, flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 40_000_000)
"""
KILL = "os.kill(os.getpid(), signal.SIGTERM)"
IN_CALLBACK = (
    f"one = {{1}}; watch = weakref.ref(one, lambda gone: [{KILL}, time.sleep(0)]); del one; finished.append(1)"
)
IN_IMPORT = (
    f"exec(compile('{KILL}\\nfor _ in range(9): pass\\nfinished.append(1)', '<frozen importlib._bootstrap>', 'exec'))"
)
NVCC = """\
#!/bin/sh
case "$1" in --version) echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0;; esac
sleep 60 &
echo $$ $! > "{pids}.part"; mv "{pids}.part" "{pids}"
wait
"""


@pytest.mark.parametrize("code", [IN_CALLBACK, IN_IMPORT])
def test_a_signal_at_a_moment_when_no_exception_gets_through_is_not_lost(code: str) -> None:
    began = time.monotonic()
    done = python("-c", LOST.format(code=code))
    assert (done.returncode, done.stderr) == (143, "")
    assert time.monotonic() - began < 4


WAITS = (
    "import threading; finished.append(1); lock = threading.Lock(); lock.acquire(); "
    "later = lambda: [time.sleep(0.3), signal.pthread_kill(threading.get_ident(), signal.SIGTERM)]; "
    "threading.Thread(target=later, daemon=True).start(); lock.acquire()"
)


def test_a_signal_that_does_not_end_a_wait_of_the_main_thread_is_sent_to_it_again() -> None:
    """As where it comes just before the wait: here another thread gets it."""
    began = time.monotonic()
    done = python("-c", LOST.format(code=WAITS))
    assert (done.returncode, done.stderr) == (143, "")
    assert time.monotonic() - began < 4


def test_a_signal_that_a_library_swallows_ends_the_command_at_its_next_step() -> None:
    code = (
        f"try: {KILL}; time.sleep(1)\n        except BaseException: finished.append(1)\n        stopping.raise_again()"
    )
    done = python("-c", "from kernelbench.cli import stopping\n" + LOST.format(code=code))
    assert (done.returncode, done.stderr) == (143, "")


def test_a_signal_within_an_exec_keeps_its_exit_code(tmp_path: Path) -> None:
    """Python by itself ends by SIGINT then."""
    (tmp_path / "softmax").mkdir()
    text = (places.KERNELS / "softmax" / "torch.py").read_text()
    (tmp_path / "softmax" / "mine.py").write_text(f"{text}\nimport os, signal, time\nexec('{KILL}; time.sleep(1)')\n")
    done = python("-m", "kernelbench", "list", "kernels", "--kernels", str(tmp_path))
    assert (done.returncode, done.stderr) == (143, "\nStopped.\n")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_compilers_end_with_the_command_and_so_do_their_children(number: int, tmp_path: Path) -> None:
    nvcc, pids = tmp_path / "nvcc", tmp_path / "pids"
    nvcc.write_text(NVCC.format(pids=pids))
    nvcc.chmod(0o755)
    command = [sys.executable, "-m", "kernelbench", "build", "softmax", "--filter", "seq=512", "--only", "naive"]
    environment = {**os.environ, "KERNELBENCH_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(
        [*command, "--nvcc", str(nvcc)], cwd=ROOT, env=environment, stderr=subprocess.PIPE
    ) as process:
        until(pids.exists, 30)
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    for pid in pids.read_text().split():
        until(lambda pid=pid: not running(int(pid)), 5)  # type: ignore[misc]


def test_a_command_that_is_ended_at_once_takes_its_compilers_with_it() -> None:
    with subprocess.Popen([sys.executable, "-c", STUCK], cwd=ROOT, stdout=-1, stderr=-1, text=True) as process:
        pid = int(process.stdout.readline())
        time.sleep(0.5)  # until it is stuck: a signal before that would end it in order
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=20)[1] == "At once.\n"
    assert process.returncode == 143
    until(lambda: not running(pid), 5)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_hang_up_that_is_ignored_stays_ignored() -> None:
    """As under nohup."""
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    done = python("-c", code + LOST.format(code="os.kill(os.getpid(), signal.SIGHUP); sys.exit(7)"))
    assert (done.returncode, done.stderr) == (7, "")
