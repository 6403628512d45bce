"""An empty folder to stand in."""

from pathlib import Path

import pytest

from tests.conftest import move_places


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's own kernels and suites, seen from an empty folder without runs."""
    move_places(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path
