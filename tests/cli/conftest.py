"""An empty folder to stand in."""

from pathlib import Path

import pytest

from kernelbench.core import places
from tests.conftest import move_places


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's own kernels and suites, seen from an empty folder without runs. What was compiled is shared: the
    simulator alone takes ten seconds."""
    shared = places.cache()
    move_places(tmp_path, monkeypatch)
    monkeypatch.setattr(places, "cache", lambda: shared)
    monkeypatch.chdir(tmp_path)
    return tmp_path
