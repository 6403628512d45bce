"""Every test file is collected: pytest leaves out folders by name, `build` among them unless told otherwise. And every
room has tests in the quick core."""

import ast
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


ROOMS = sorted(path.name for path in (TESTS.parent / "kernelbench").iterdir() if (path / "__init__.py").is_file())


def quick_tests(path: Path) -> list[str]:
    """The tests of a file that are not exhaustive, as far as its text says."""
    tree = ast.parse(path.read_text())
    marks = [node.value for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)]
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return [
        one.name
        for one in tests
        if not any("mark.exhaustive" in ast.unparse(each) for each in marks + one.decorator_list)
    ]


def test_every_room_has_tests_in_the_quick_core() -> None:
    assert {"core", "simt", "walks"} <= set(ROOMS)
    found = {room: [one for path in (TESTS / room).glob("test_*.py") for one in quick_tests(path)] for room in ROOMS}
    assert [room for room, tests in found.items() if not tests] == []
