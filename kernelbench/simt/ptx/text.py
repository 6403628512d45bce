"""PTX text without comments, its line numbers, and limits on its size."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NoReturn

from kernelbench.core.errors import PtxError

# Far above the output of nvcc (a few MB), and low enough to read or refuse any text in seconds.
MOST_CHARACTERS = 16 << 20
MOST_STATEMENTS = 1 << 19  # in a module; nested scopes count as statements
MOST_STATEMENT_CHARACTERS = 1 << 16  # of an instruction or a declaration without its initialiser
MOST_DEPTH = 16  # of nested scopes
MOST_REGISTERS = 1 << 20  # of one declaration: .reg .b32 %r<1000>
MOST_VARIABLE_BYTES = 1 << 40
MOST_IMAGE_BYTES = 64 << 20  # of all initialised variables together

# An unterminated comment or string matches up to the end of the text or line, so the search stays linear.
_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|"[^"\n]*"?', re.DOTALL)
PRAGMA = re.compile(r'\s*"[^"\n]*"(?:\s*,\s*"[^"\n]*")*\s*;')  # what follows .pragma
_QUOTED_IN_ERRORS = 60


class Text:
    """`text` is the PTX with comments blanked; newlines stay, so line numbers are those of the original."""

    def __init__(self, text: str) -> None:
        if len(text) > MOST_CHARACTERS:
            raise PtxError(f"line 1: PTX of {len(text)} characters; at most {MOST_CHARACTERS} are read")
        self._original = text
        self._blanked = 0
        self.text = _COMMENT_OR_STRING.sub(self._blank, text)
        self._newlines = [match.start() for match in re.finditer("\n", self.text)]
        self._statements = 0

    def _blank(self, match: re.Match[str]) -> str:
        found = match[0]
        self._blanked += 1
        if self._blanked > MOST_STATEMENTS:
            self._refuse(match, f"more than {MOST_STATEMENTS} comments and strings")
        if found.startswith('"'):
            if len(found) < 2 or not found.endswith('"'):
                self._refuse(match, f"a string that does not end: {quoted(found)}")
            return found
        if found.startswith("/*") and (len(found) < 4 or not found.endswith("*/")):
            self._refuse(match, f"a comment that does not end: {quoted(found)}")
        return " " + "\n" * found.count("\n")

    def _refuse(self, match: re.Match[str], message: str) -> NoReturn:
        raise PtxError(f"line {self._original.count(chr(10), 0, match.start()) + 1}: {message}")

    def line(self, position: int) -> int:
        return bisect_right(self._newlines, position - 1) + 1

    def fail(self, position: int, message: str) -> NoReturn:
        raise PtxError(f"line {self.line(position)}: {message}")

    def after_space(self, position: int) -> int:
        while self.text[position : position + 1].isspace():
            position += 1
        return position

    def count(self, position: int) -> None:
        """Count a statement; too many are refused."""
        self._statements += 1
        if self._statements > MOST_STATEMENTS:
            self.fail(position, f"more than {MOST_STATEMENTS} statements")

    def end_of_statement(self, start: int, most: int = MOST_STATEMENT_CHARACTERS) -> int:
        """Position of the next `;`."""
        end = self.text.find(";", start, start + most + 1)
        if end < 0:
            what = f"within {most} characters" if len(self.text) > start + most else "before the end of the text"
            self.fail(start, f"expected ';' {what} after {quoted(self.text[start : start + 200])}")
        return end


def raise_ptx_error(message: str) -> NoReturn:
    """For a place that does not know its line; the reader of the statement adds it."""
    raise PtxError(message)


def quoted(text: str) -> str:
    """`text` on one line, shortened, for a message."""
    words = " ".join(text[: 4 * _QUOTED_IN_ERRORS].split())
    return repr(words if len(words) <= _QUOTED_IN_ERRORS else words[:_QUOTED_IN_ERRORS] + "...")
