"""Options of `run` on many GPUs: what workers are told, and what is refused before anything starts."""

import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest

from kernelbench.cli import run_fleet
from kernelbench.cli.run import run
from kernelbench.cli.run_fleet import worker_options
from kernelbench.core.errors import InputError
from kernelbench.fleet.jobs import FleetJob
from tests.conftest import Command

pytest.importorskip("distributed", reason="the extra fleet is not installed")


def options(*words: str, cluster: bool = False) -> list[str]:
    with click.Context(run) as context:
        run.parse_args(context, ["softmax", "--gpus", "all", *words])
        return worker_options(context, cluster=cluster)


def test_workers_are_told_what_the_client_was_told() -> None:
    words = ["--only", "ft,naive", "--filter", "seq=16", "--filter", "dtype=float32", "--quick", "--seed", "7"]
    assert sorted(options(*words)) == sorted(words)
    assert options("--cache", "cold,warm", "--no-wait") == ["--cache", "cold,warm", "--no-wait"]
    assert options("--share", "--resume", "--no-report", "--out", "x") == [], "these are the client's"
    assert options() == []


@pytest.mark.parametrize("words", [("--kernels", "x"), ("--cu", "x.cu"), ("--nvcc", "x"), ("--in-process",)])
def test_what_is_of_this_host_stays_here(words: tuple[str, ...]) -> None:
    assert options(*words) == list(words)
    with pytest.raises(InputError, match=f"{words[0]}: is for this host only"):
        options(*words, cluster=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--share",), "--share: belongs to --gpus or --cluster"),
        (("--tls", "x"), "--tls: belongs to --gpus or --cluster"),
        (("--gpus", "all", "--cluster", "tcp://127.0.0.1:1"), "not both"),
        (("--gpus", "all", "--device", "cuda"), "--device cuda: names one device"),
        (("--gpus", "simulated,simulated", "--share", "--part", "1/2"), "--share makes the parts itself"),
        (("--gpus", "simulated:a100,simulated:h200", "--share"), "the GPUs are of different kinds"),
        (("--gpus", "simulated:a101"), "unknown GPU"),
        (("--gpus", "simulated:a100", "--filter", "seq=3"), "no case of suite 'softmax' has seq=3"),
        (("--cluster", "tcp://10.9.8.7:1"), "leads beyond this host"),
    ],
)
def test_mistakes_start_nothing(words: tuple[str, ...], said: str, command: Command, tmp_path: Path) -> None:
    code, _, messages = command("run", "softmax", *words, "--out", str(tmp_path / "f"))
    assert code == 2
    assert said in messages
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize(
    ("words", "library", "said"),
    [
        (("run", "softmax", "--gpus", "simulated:a100"), "distributed", "Dask"),
        (("run", "softmax", "--gpus", "simulated:a100"), "cryptography", "cryptography"),
        (("run", "softmax", "--cluster", "tcp://127.0.0.1:1"), "distributed", "Dask"),
        (("worker", "--make-tls", "fleet.pem"), "cryptography", "cryptography"),
    ],
)
def test_a_missing_library_says_how_to_install_it(
    words: tuple[str, ...], library: str, said: str, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, library, None)  # an import of it fails
    code, out, messages = command(*words)
    assert (code, out) == (1, "")
    assert messages.startswith(f"{said} is not installed; try: pip install ")
    assert "[fleet]'" in messages
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_one_device_is_not_written_over(command: Command, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("")
    code, _, messages = command("run", "softmax", "--gpus", "simulated:a100", "--out", str(tmp_path))
    assert (code, "holds a run of one device" in messages) == (2, True)


def job(suite: str, cases: int, cost: float) -> FleetJob:
    return FleetJob("fleet", "a100", "a100", suite, "", (), "", cases, cost)


def test_time_left_counts_what_cases_cost_not_how_many_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(run_fleet.time, "monotonic", lambda: now[0])
    shown = run_fleet._Shown()
    advance = shown.start([job("long", 10, 90.0), job("short", 30, 30.0)], None)
    advance("a100", "long", 0)
    now[0] += 60
    advance("a100", "long", 5)
    assert shown._text() == "a100: 5 of 40 cases, long, 1:40 left"
    now[0] += 60
    advance("a100", "long", 10)
    assert shown._text() == "a100: 10 of 40 cases, long, 0:40 left"
    advance("a100", "short", 30)
    assert shown._text() == "a100: 40 of 40 cases, finished"


def test_a_suite_that_is_taken_over_counts_for_the_gpu_that_has_it() -> None:
    shown = run_fleet._Shown()
    one, other = job("one", 10, 10.0), job("other", 30, 30.0)
    shown.start([one, other], None)
    shown.start([replace(other, label="a100-2")], "a100")
    assert shown._text() == "a100: 0 of 10 cases, one, starting\na100-2: 0 of 30 cases, other, starting"
