"""Every test file is collected: pytest leaves out folders by name, `build` among them unless told otherwise."""

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent


def test_no_folder_of_tests_is_left_out(pytestconfig: pytest.Config) -> None:
    folders = {path.parent for path in TESTS.rglob("test_*.py")}
    assert TESTS / "build" in folders
    left_out = pytestconfig.getini("norecursedirs")
    names = {part for folder in folders for part in folder.relative_to(TESTS).parts}
    assert [name for name in names if any(fnmatch(name, pattern) for pattern in left_out)] == []
