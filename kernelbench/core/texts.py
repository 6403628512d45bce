"""Text from foreign sources, made harmless for a terminal or a spreadsheet."""

import re
import unicodedata

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|nan)")
# The beginning of what spreadsheets take for a formula, behind any apostrophes that `csv_cell` has added.
_COMPUTED = re.compile(r"'*[=+\-@\t\r]")
MAX_TEXT = 20_000  # characters of a text that a run keeps
_ROOM_FOR_REST = 40  # characters of these for the number of characters left out
_SAFE_ASCII = re.compile(r"[\n\x20-\x7e]*")
_ONE_OF_MANY = re.compile(r"(?<![\d.,])\b1 (?!times\b)([a-z]+[a-rt-z]s|axes)\b")
_SINGULAR = {"axes": "axis", "binaries": "binary"}
# Unicode categories: control, format (such as a change of the writing direction), surrogate, line and paragraph ends.
_UNPRINTABLE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text: str) -> str:
    """`text` with escapes in place of characters that control a terminal; line ends stay."""
    if text.isprintable() or _SAFE_ASCII.fullmatch(text):  # isprintable() is faster, but rejects line ends
        return text
    return "".join(one if one == "\n" or not is_unprintable(one) else ascii(one)[1:-1] for one in text)


def one_line(text: str) -> str:
    """`printable` without line ends."""
    return printable(" ".join(text.splitlines()) if "\n" in text else text)


def kept_text(text: str, most: int = MAX_TEXT) -> str:
    """`text` as a run keeps it: `printable`, and at most `most` characters, with the number of those left out."""
    shown, beyond = printable(text[:most]), max(0, len(text) - most)
    if not beyond and len(shown) <= most:
        return shown
    room = most - _ROOM_FOR_REST
    return f"{shown[:room]}... ({len(shown) - room + beyond} more characters)"


def singular(text: str) -> str:
    """`1 row` where a sentence that was put together says `1 rows`."""
    return _ONE_OF_MANY.sub(lambda found: "1 " + _SINGULAR.get(found[1], found[1][:-1]), text)


def is_unprintable(character: str) -> bool:
    """Whether a character controls a terminal instead of being shown."""
    return unicodedata.category(character) in _UNPRINTABLE


def csv_cell(text: str) -> str:
    """A text for CSV, with an apostrophe in front if a spreadsheet would compute it, or if it looks as if it had one
    already. Numbers stay numbers."""
    return f"'{text}" if _COMPUTED.match(text) and not _NUMBER.fullmatch(text) else text


def from_cell(text: str) -> str:
    """The inverse of `csv_cell`."""
    return text[1:] if text.startswith("'") and _COMPUTED.match(text) else text
