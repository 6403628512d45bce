"""Text that came from somebody else, made harmless for where it is shown: a terminal, a spreadsheet."""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|nan)")
# What spreadsheets take for a formula, or skip before they look for one; apostrophes before it are `cell`'s.
_COMPUTED = re.compile(r"'*[=+\-@\t\r]")
MAX_TEXT = 20_000  # characters of a text that a run keeps
_ROOM_FOR_REST = 40  # of them, for how many are left out
_SAFE_ASCII = re.compile(r"[\n\x20-\x7e]*")
# Control, format (among them those that turn the direction of writing), surrogate; and two more that end a line.
_UNPRINTABLE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text: str) -> str:
    """`text` with every character that a terminal would obey written as its escape; line ends stay."""
    if _SAFE_ASCII.fullmatch(text):
        return text
    return "".join(one if one == "\n" or not is_unprintable(one) else ascii(one)[1:-1] for one in text)


def one_line(text: str) -> str:
    """`printable` without line ends."""
    return printable(" ".join(text.splitlines()) if "\n" in text else text)


def kept(text: str, most: int = MAX_TEXT) -> str:
    """`text` as a run keeps it: `printable`, and at most `most` characters, with the number of those left out."""
    shown, beyond = printable(text[:most]), max(0, len(text) - most)
    if not beyond and len(shown) <= most:
        return shown
    room = most - _ROOM_FOR_REST
    return f"{shown[:room]}... ({len(shown) - room + beyond} more characters)"


def is_unprintable(character: str) -> bool:
    """Whether a terminal does something else with it than show it."""
    return unicodedata.category(character) in _UNPRINTABLE


def cell(text: str) -> str:
    """A text for CSV: an apostrophe before what a spreadsheet would compute, and before what looks as if it had got
    one. Numbers stay numbers."""
    return f"'{text}" if _COMPUTED.match(text) and not _NUMBER.fullmatch(text) else text


def from_cell(text: str) -> str:
    """What `cell` was given."""
    return text[1:] if text.startswith("'") and _COMPUTED.match(text) else text
