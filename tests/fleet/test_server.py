"""The process that does a worker's jobs: reused, replaced where it may not be, and its GPU kept open between runs."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelbench.core.progress import LoggedProgress
from kernelbench.fleet import jobs
from kernelbench.fleet.jobs import Server
from kernelbench.measure import opening
from kernelbench.measure.opening import MeasureRequest, bench_kept, open_bench
from kernelbench.planning.catalog import load_catalog


@pytest.fixture(autouse=True)
def no_server_is_left() -> Iterator[None]:
    yield
    while jobs._idle:
        jobs._idle.pop().end()


def done(server: Server, name: str, *words: str) -> int:
    server.give(name, words)
    while (code := server.code(1.0)) is None:
        pass
    return code


def test_a_process_does_several_jobs_and_keeps_their_output_apart(tmp_path: Path) -> None:
    first = jobs._free_server(tmp_path / "a.log")
    assert done(first, "a", "list", "devices") == 0
    again = jobs._free_server(tmp_path / "b.log")
    assert again.process.pid == first.process.pid
    assert done(again, "b", "plan", "softmax", "--only", "ft", "--filter", "seq=16") == 0
    assert "h200" in (tmp_path / "a.log").read_text().lower()
    assert "32x64x16x16" in (tmp_path / "b.log").read_text()
    assert "32x64x16x16" not in (tmp_path / "a.log").read_text()


def test_a_run_records_its_own_command(tmp_path: Path) -> None:
    server = jobs._free_server(tmp_path / "a.log")
    words = ("run", "softmax", "--device", "simulated:t4", "--only", "ft", "--filter", "seq=16", "--no-report")
    assert done(server, "a", *words, "--out", str(tmp_path / "r")) == 0, (tmp_path / "a.log").read_text()
    environment = json.loads((tmp_path / "r" / "environment.json").read_text())
    assert environment["command"] == f"kernelbench {' '.join(words)} --out {tmp_path / 'r'}"


@pytest.mark.parametrize("words", [("run", "no_such_suite"), ("--no-such-option",)])
def test_a_command_that_fails_ends_its_process(tmp_path: Path, words: tuple[str, ...]) -> None:
    server = jobs._free_server(tmp_path / "a.log")
    assert done(server, "a", *words) == 2
    assert "no" in (tmp_path / "a.log").read_text()
    assert server.process.wait(20) == 2
    assert jobs._free_server(tmp_path / "b.log").process.pid != server.process.pid


def test_a_process_that_is_killed_answers_how_it_ended(tmp_path: Path) -> None:
    server = jobs._free_server(tmp_path / "a.log")
    assert done(server, "a", "list", "devices") == 0
    server.process.kill()
    server.process.wait()
    assert done(server, "b", "list", "devices") == -signal.SIGKILL
    fresh = jobs._free_server(tmp_path / "c.log")
    assert fresh.process.pid != server.process.pid
    assert done(fresh, "c", "list", "devices") == 0


def test_other_folders_and_late_jobs_get_a_new_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    server = jobs._free_server(tmp_path / "a.log")
    assert done(server, "a", "list", "devices") == 0
    other = jobs._free_server(tmp_path / "other" / "a.log")
    assert other.process.pid != server.process.pid
    assert server.process.poll() == 0, "it is ended first: two would share the GPU's memory"
    assert done(other, "a", "list", "devices") == 0
    monkeypatch.setattr(jobs, "_REUSED_S", 0.0)
    assert jobs._free_server(tmp_path / "other" / "b.log").process.pid != other.process.pid


def test_a_bench_is_kept_for_a_run_that_asks_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog, closed = load_catalog(), []
    real = opening._open

    def opened(request: MeasureRequest, known: object) -> object:
        bench = real(request, catalog)
        bench.close = lambda: closed.append(request.device)  # type: ignore[method-assign]
        return bench

    monkeypatch.setattr(opening, "_open", opened)
    t4, a100 = MeasureRequest(device="simulated:t4"), MeasureRequest(device="simulated:a100")
    with bench_kept():
        with open_bench(t4, catalog, LoggedProgress()) as first:
            pass
        with open_bench(t4, catalog, LoggedProgress()) as second:
            assert second is first
        assert closed == []
        with open_bench(a100, catalog, LoggedProgress()):
            assert closed == ["simulated:t4"]
        with pytest.raises(KeyboardInterrupt), open_bench(a100, catalog, LoggedProgress()):
            raise KeyboardInterrupt
        assert closed == ["simulated:t4", "simulated:a100"]
        with open_bench(a100, catalog, LoggedProgress()):
            pass
    assert closed == ["simulated:t4", "simulated:a100", "simulated:a100"]
    with open_bench(t4, catalog, LoggedProgress()) as alone:
        assert alone is not first
    assert len(closed) == 4
