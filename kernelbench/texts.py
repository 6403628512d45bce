"""Text that came from somebody else, made harmless for where it is shown: a terminal, a spreadsheet."""

from __future__ import annotations

import re
import unicodedata

# What spreadsheets take for a formula, or skip before they look for one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|nan)")
_SAFE_ASCII = re.compile(r"[\n\x20-\x7e]*")
# Control, format (among them those that turn the direction of writing), surrogate; and two more that end a line.
_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text: str) -> str:
    """`text` with every character that a terminal would obey written as its escape; line ends stay."""
    if _SAFE_ASCII.fullmatch(text):
        return text
    return "".join(one if one == "\n" or not is_obeyed(one) else ascii(one)[1:-1] for one in text)


def one_line(text: str) -> str:
    """`printable` without line ends."""
    return printable(" ".join(text.splitlines()) if "\n" in text else text)


def is_obeyed(character: str) -> bool:
    """Whether a terminal does something else with it than show it."""
    return unicodedata.category(character) in _OBEYED


def cell(text: str) -> str:
    """A text for CSV: an apostrophe before what a spreadsheet would compute. Numbers stay numbers."""
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def from_cell(text: str) -> str:
    """What `cell` was given."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text
