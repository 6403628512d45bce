"""The files of a user's new operation: what is computed, a first kernel, a suite. They work as written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

TEMPLATES = Path(__file__).with_name("templates")


def texts(operation: str, name: str, folder: Path, suite: Path, words: Mapping[str, str]) -> dict[Path, str]:
    """Each file of the operation with its text. `words`: `suite` and `option` as commands have them."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    files = {
        folder / operation / "operation.py": "operation.py",
        folder / operation / f"{name}.cu": "kernel.cu",
        folder / operation / f"{name}.py": "kernel.py",
        suite: "suite.yaml",
    }
    named = {"operation": operation, "name": name, **words}
    return {path: templates.get_template(f"{template}.j2").render(named) for path, template in files.items()}
