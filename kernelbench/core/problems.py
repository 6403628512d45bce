"""Mistakes in one file, collected while it is read, and the wording of their messages."""

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

from kernelbench.core.errors import Problem, ProblemsError

MAX_PROBLEMS = 100  # more do not help a reader, and a hostile file could have many thousands
_MAX_SHOWN = 60  # characters of a value in a message
_MAX_LISTED = 30  # names listed if no similar one exists


class Problems:
    """The mistakes found so far. Reading goes on after each, so that the user sees all at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[Problem, None] = {}  # in the order found, each once
        self.noted = 0  # calls of `add`, including repeated mistakes; tells whether a part was wrong

    def add(self, line: int, text: str) -> None:
        """Note a mistake; `line` 0 means the whole file. Raises ProblemsError at the hundredth."""
        self.noted += 1
        self._found[Problem(self._path, line, text)] = None
        if len(self._found) == MAX_PROBLEMS:
            self._found[Problem(self._path, 0, f"reading stopped after {MAX_PROBLEMS} mistakes")] = None
            self.raise_any()

    def fail(self, line: int, text: str) -> NoReturn:
        """Note a mistake after which nothing more can be read, and raise all."""
        self.add(line, text)
        raise ProblemsError(tuple(self._found))

    def raise_any(self) -> None:
        if self._found:
            raise ProblemsError(tuple(self._found))


def quoted(value: object) -> str:
    """A value as messages show it: booleans as in YAML, None as `nothing`, long texts cut."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if len(text) > _MAX_SHOWN:
        text = text[:_MAX_SHOWN] + "..."
    # repr() escapes what a terminal cannot encode or would interpret: lone surrogates, escape sequences.
    return repr(text) if isinstance(value, str) else text


def nearest(word: str, names: Collection[str]) -> str:
    """`; did you mean 'seq'?`, or '' if no name is similar."""
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower()[:_MAX_SHOWN], folded, n=1)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""


def suggest(word: str, names: Collection[str]) -> str:
    """The end of a message about an unknown word: the nearest name, else all names, else ''."""
    if near := nearest(word, names):
        return near
    listed = list(names)[:_MAX_LISTED]
    more = ", ..." if len(names) > len(listed) else ""
    return f"; expected one of {', '.join(listed)}{more}" if listed else ""
