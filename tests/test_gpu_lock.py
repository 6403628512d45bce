"""One run at a time on a GPU."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from kernelbench import places
from kernelbench.errors import InputError, ResultsError
from kernelbench.gpu_lock import gpu_to_itself

GPU = {"name": "NVIDIA H200", "pci_bus_id": "0000:3B:00.0"}


class Said:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def test_a_second_run_says_that_it_waits_and_begins_when_the_first_ends() -> None:
    said, order = Said(), []

    def second() -> None:
        with gpu_to_itself(GPU, said):  # type: ignore[arg-type]
            order.append("second")

    with gpu_to_itself(GPU, Said()):  # type: ignore[arg-type]
        thread = threading.Thread(target=second)
        thread.start()
        until = time.monotonic() + 10
        while not said.lines and time.monotonic() < until:
            time.sleep(0.01)
        order.append("first")
    thread.join(10)
    assert said.lines == ["Another kernelbench run is using NVIDIA H200; waiting for it to end"]
    assert order == ["first", "second"]


def test_with_no_wait_a_second_run_ends_with_what_to_do() -> None:
    with gpu_to_itself(GPU, Said()):  # type: ignore[arg-type]
        refused = pytest.raises(InputError, match="another kernelbench run is using NVIDIA H200")
        with refused, gpu_to_itself(GPU, Said(), wait=False):  # type: ignore[arg-type]
            pass
        with gpu_to_itself({**GPU, "pci_bus_id": "0000:5E:00.0"}, Said(), wait=False):  # type: ignore[arg-type]
            pass  # another GPU of the same kind
    with gpu_to_itself(GPU, Said(), wait=False):  # type: ignore[arg-type]
        pass


def test_a_cache_that_cannot_be_written_is_told(cache: Path) -> None:
    cache.write_text("a file")
    with pytest.raises(ResultsError, match="keep other runs off the GPU"), gpu_to_itself(GPU, Said()):  # type: ignore[arg-type]
        pass
