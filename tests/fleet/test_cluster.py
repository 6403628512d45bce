"""A cluster of hosts, started by the commands of docs/many-gpus.md; here the hosts are processes."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kernelbench.core import places
from kernelbench.fleet.gpus import GPU_VARIABLE, named_gpus
from kernelbench.runs.results import read_run
from tests.fleet.conftest import LOCAL, Fleets, dask, free_port, tls_options
from tests.processes import ROOT, until

pytestmark = [pytest.mark.nvcc, pytest.mark.exhaustive]
SMALL = ("--only", "naive", "--filter", "seq<=32", "--no-report")


@pytest.fixture
def cluster(fleets: Fleets) -> Iterator[tuple[str, str]]:
    """Address and key of a scheduler with two workers: one of `kernelbench worker`, one of `dask worker`."""
    key = str(fleets.folder / "fleet.pem")
    assert fleets.run("worker", "--make-tls", key)[0] == 0
    port, tls = free_port(), tls_options(key)
    address = f"tls://127.0.0.1:{port}"
    plain = named_gpus("simulated:a100")[0]
    started = [
        dask("scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", port, *tls),
        dask(
            "worker", address, "--nthreads", "1", "--resources", f"{plain.resource}=1", "--no-dashboard", *tls,
            **{GPU_VARIABLE: plain.worker_environment[GPU_VARIABLE]},
        ),
        fleets.start("worker", address, "--tls", key, "--gpus", "simulated:h200"),
    ]  # fmt: skip
    yield address, key
    for process in started:
        process.terminate()
    said = [process.communicate(timeout=60) for process in started]
    assert started[2].returncode == 143
    assert "Traceback" not in said[2][1]


def test_a_cluster_measures_and_refuses(
    fleets: Fleets, cluster: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, key = cluster
    run = ("run", "softmax", "--cluster", address, "--tls", key, *SMALL, "--out", "f")
    attempts: list[str] = []

    def both_joined() -> bool:
        shutil.rmtree(fleets.folder / "f", ignore_errors=True)
        code, _, messages = fleets.run(*run)
        attempts.append(messages)
        return code == 0 and len(json.loads((fleets.folder / "f" / "fleet.json").read_text())["gpus"]) == 2

    try:
        until(both_joined, 200)
        for label in ("a100", "h200"):
            found = read_run(fleets.folder / "f" / label / "softmax")
            assert [row.status for row in found.rows] == ["ok", "ok"]
        code, _, messages = fleets.run(*run[:-2], "--kernels", "x", "--out", "g")
        assert (code, "--kernels: is for this host only" in messages) == (2, True)

        mine = fleets.folder / "softmax.yaml"  # of the same name, with other contents
        mine.write_text((places.SUITES / "softmax.yaml").read_text() + "# changed\n")
        code, _, messages = fleets.run("run", str(mine), *run[2:-2], "--out", "g")
        assert code == 1
        assert "has another softmax.yaml than the client; bring both to one version" in messages

        other = fleets.folder / "checkout"  # whose code differs in a comment
        for name in ("kernelbench", "kernels", "suites", "results/published", "tests/specimens"):
            shutil.copytree(ROOT / name, other / name)
        changed = other / "kernels" / "softmax" / "operation.py"
        changed.write_text(changed.read_text() + "\n# changed\n")
        monkeypatch.setenv("PYTHONPATH", str(other))
        done = subprocess.run(
            [sys.executable, "-m", "kernelbench", *run[:-2], "--out", "h"],
            capture_output=True, text=True, cwd=fleets.folder, timeout=200, check=False,
        )  # fmt: skip
        assert "a100 has another code than this host: " in done.stderr
        assert any(
            "another code" in note for note in json.loads((fleets.folder / "h" / "fleet.json").read_text())["notes"]
        )
    finally:
        for name in ("f", "g", "h"):
            shutil.rmtree(places.runs() / "fleets" / name, ignore_errors=True)
            shutil.rmtree(Path(fleets.folder / name), ignore_errors=True)


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


SOONER = """\
from kernelbench.fleet import engine
from kernelbench.__main__ import main
if __name__ == "__main__":
    engine._CONNECT_S = 5.0
    main()
"""


def test_a_service_ends_with_its_scheduler_while_a_worker_starts_again(fleets: Fleets) -> None:
    """It asks every 5 s, not every 15 s, whether there still is a scheduler."""
    port = free_port()
    scheduler = dask("scheduler", "--host", "tcp://127.0.0.1", "--port", port, *LOCAL)
    until(lambda: listens(int(port)))
    (fleets.folder / "sooner.py").write_text(SOONER)
    words = ("worker", f"tcp://127.0.0.1:{port}", "--gpus", "simulated:a100")
    service = fleets.start(*words, program=(str(fleets.folder / "sooner.py"),))
    assert service.stderr is not None
    assert "Ctrl-C ends it" in service.stderr.readline()
    (worker,) = [one for one in psutil.Process(service.pid).children() if "spawn_main" in " ".join(one.cmdline())]
    worker.kill()
    scheduler.kill()
    scheduler.communicate()
    _, messages = service.communicate(timeout=100)
    assert service.returncode == 1
    assert "the scheduler has ended" in messages
    assert "Traceback" not in messages
