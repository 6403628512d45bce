"""What a message says of a library that cannot be imported, and how to add it: from the source of this package."""

import re
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelbench.core import places
from kernelbench.core.errors import MissingLibrary
from kernelbench.core.libraries import import_library, pip_install
from tests.fake_gpu import raising


def test_a_checkout_is_named() -> None:
    assert pip_install("torch") == f"pip install -e '{places.ROOT}[torch]'"


@pytest.mark.parametrize(
    ("recorded", "command"),
    [
        ('{"url": "file:///src/kernelbench", "dir_info": {}}', "'kernelbench[nvcc] @ file:///src/kernelbench'"),
        (None, "'SOURCE[nvcc]', where SOURCE is the checkout or the wheel that kernelbench comes from"),
    ],
)
def test_a_wheel_names_what_pip_installed(monkeypatch: pytest.MonkeyPatch, recorded: str | None, command: str) -> None:
    monkeypatch.setattr(places, "ROOT", places.PACKAGE / "_data")
    monkeypatch.setattr(metadata, "distribution", lambda name: SimpleNamespace(read_text=lambda file: recorded))
    assert pip_install("nvcc") == f"pip install {command}"


def test_a_package_that_pip_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "ROOT", places.PACKAGE / "_data")
    monkeypatch.setattr(metadata, "distribution", raising(metadata.PackageNotFoundError("kernelbench")))
    assert pip_install("nvcc").startswith("pip install 'SOURCE[nvcc]'")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("from torch_inductor_of_tomorrow import x", "(No module named 'torch_inductor_of_tomorrow')"),
        ("raise ImportError('\\n=====\\n  Failed to load libcublas.\\n\\nMore.\\n')", "(Failed to load libcublas.)"),
        ("raise ImportError", "(ImportError)"),
    ],
)
def test_a_library_that_is_there_but_does_not_import_is_not_called_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
) -> None:
    (tmp_path / "helion.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "helion", raising=False)
    with pytest.raises(MissingLibrary, match=f"^helion cannot be imported {re.escape(said)}; try: pip install -e "):
        import_library("helion")


def test_no_message_names_an_index() -> None:
    modules = [path for top in (places.PACKAGE, places.KERNELS) for path in top.rglob("*.py")]
    found = {path.name for path in modules if "install 'kernelbench[" in path.read_text()}
    assert found == {"libraries.py"}
